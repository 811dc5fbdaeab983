//! Programs of back ends: compiled once, from sources that come with this crate, against a Debian package.
//!
//! May: ask for the version of a package, start a compiler. May not: install anything.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use super::NotReady;

/// A program that is built where its package is installed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compiled {
    /// The package, in words.
    pub(super) what: &'static str,
    /// Debian's package, which has the headers.
    pub(super) package: &'static str,
    /// The cure where something is missing.
    pub(super) cure: &'static str,
    /// Begins the name of the program.
    pub(super) name: &'static str,
    /// Names and texts.
    pub(super) sources: &'static [(&'static str, &'static str)],
    /// The compiler and its options.
    pub(super) compiler: &'static [&'static str],
    /// Sources that are given to the compiler; it reads the others as headers.
    pub(super) compiled: &'static [&'static str],
    /// Options after the sources.
    pub(super) libraries: &'static [&'static str],
}

/// Characters from the end of a failed command's output that are shown.
const SHOWN: usize = 2_000;

impl Compiled {
    /// Version of the package, if it is installed.
    pub(super) fn installed(&self) -> Option<String> {
        let query = ["--show", "--showformat", "${db:Status-Status} ${Version}", self.package];
        let output = Command::new("dpkg-query").args(query).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        text.strip_prefix("installed ").map(|version| version.trim().to_owned())
    }

    /// The program, built in `folder` unless it is there: one for each version of the package and of its sources.
    ///
    /// # Errors
    /// The package or a compiler is missing, or the program cannot be built.
    pub(super) fn built(&self, folder: &Path) -> Result<PathBuf, NotReady> {
        let missing = |message: &str| NotReady { message: message.into(), help: self.cure.into() };
        let version = self.installed().ok_or_else(|| missing(&format!("{} is not installed", self.what)))?;
        let key = self.key(&version);
        let program = folder.join(format!("{}-{key}", self.name));
        let made = if program.exists() { Ok(()) } else { self.build(folder, (&version, &key), &program) };
        // Another process may have built it, and removed what this one was building.
        let there = program.exists();
        self.sweep(folder, &key, there);
        if there { Ok(program) } else { made.map(|()| program) }
    }

    /// Builds the program, and moves it to its place.
    fn build(&self, folder: &Path, (version, key): (&str, &str), program: &Path) -> Result<(), NotReady> {
        let missing = |message: &str| NotReady { message: message.into(), help: self.cure.into() };
        let failed = |error: io::Error| NotReady {
            message: format!(
                "{}: cannot build the program for {} there: {error}",
                folder.display(),
                self.what
            ),
            help: "make room there, or name another place with XDG_CACHE_HOME".into(),
        };
        // A folder of this process alone: two that build at once each move a whole program to its place.
        let sources = folder.join(format!("{}-{key}-{}", self.name, std::process::id()));
        fs::create_dir_all(&sources).map_err(failed)?;
        for (name, text) in self.sources {
            fs::write(sources.join(name), text).map_err(failed)?;
        }
        let part = sources.join(self.name);
        let (compiler, options) = self.compiler.split_first().expect("a compiler is named");
        let mut command = Command::new(compiler);
        command.args(options).arg("-o").arg(&part);
        command.args(self.compiled.iter().map(|name| sources.join(name))).args(self.libraries);
        let output =
            command.output().map_err(|error| missing(&format!("{compiler} cannot be started: {error}")))?;
        if !output.status.success() {
            let said = end_of(&output.stderr);
            return Err(missing(&format!(
                "the program for {} {version} does not compile:\n{said}",
                self.what
            )));
        }
        fs::rename(part, program).map_err(failed)
    }

    /// Removes folders in which a program was built and that nothing needs: that of this process, those of this program if
    /// it is there, and those of processes that were killed.
    fn sweep(&self, folder: &Path, key: &str, there: bool) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let made = name.strip_prefix(self.name).and_then(|rest| rest.strip_prefix('-'));
            let Some((of, process)) = made.and_then(|rest| rest.split_once('-')) else { continue };
            if !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit()) && path.is_dir() {
                let processes = Path::new("/proc");
                let ended = processes.join("self").exists() && !processes.join(process).exists();
                if of == key && (there || process == std::process::id().to_string()) || ended {
                    // It is in the way of nothing; the next one tries again.
                    let _ = fs::remove_dir_all(path);
                }
            }
        }
    }

    /// Hash of a version of the package and the sources.
    fn key(&self, version: &str) -> String {
        let mut hash = Sha256::new_with_prefix(version);
        self.sources.iter().for_each(|(_, text)| hash.update(text));
        let mut key = String::new();
        // Writing to a string cannot fail.
        hash.finalize().iter().take(8).for_each(|byte| {
            let _ = write!(key, "{byte:02x}");
        });
        key
    }
}

/// The last characters of the output of a command.
pub(super) fn end_of(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let skipped = text.chars().count().saturating_sub(SHOWN);
    text.chars().skip(skipped).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ECHO: Compiled = Compiled {
        what: "nothing",
        package: "libc6",
        cure: "none",
        name: "echo",
        sources: &[("text", "of the program")],
        compiler: &["sh", "-c", "cat \"$3\" >\"$2\"", "sh"],
        compiled: &["text"],
        libraries: &[],
    };

    fn names(folder: &Path) -> Vec<String> {
        let mut found: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        found.sort();
        found
    }

    /// Folders of this program by any process, and of another version by one that has ended.
    #[test]
    fn folders_of_killed_builds_are_removed_by_the_next() {
        let folder = std::env::temp_dir().join(format!("ropewalk-compiled-{}", std::process::id()));
        let Some(version) = ECHO.installed() else { return };
        let key = ECHO.key(&version);
        // No process has this number: it is above the largest.
        let ended = 1 << 30;
        let own = std::process::id();
        let kept = [
            format!("echo-{key}"),
            format!("echo-old-{own}"),
            "echo-old-words".into(),
            format!("other-{key}-{ended}"),
        ];
        for before in [false, true] {
            for name in [format!("echo-{key}-{ended}"), format!("echo-old-{ended}"), format!("echo-{key}-1")]
            {
                fs::create_dir_all(folder.join(&name)).unwrap();
                fs::write(folder.join(name).join("text"), "cut").unwrap();
            }
            kept[1..].iter().for_each(|name| fs::create_dir_all(folder.join(name)).unwrap());
            assert_eq!(folder.join(&kept[0]).exists(), before);
            let program = ECHO.built(&folder).unwrap();
            assert_eq!(fs::read_to_string(program).unwrap(), "of the program");
            let mut kept = kept.to_vec();
            kept.sort();
            assert_eq!(names(&folder), kept);
        }
        let broken = Compiled { compiler: &["sh", "-c", "exit 3"], ..ECHO };
        fs::remove_file(folder.join(&kept[0])).unwrap();
        broken.built(&folder).unwrap_err();
        assert_eq!(names(&folder).len(), kept.len() - 1, "nothing is left of a build that failed");
        fs::remove_dir_all(folder).unwrap();
    }
}
