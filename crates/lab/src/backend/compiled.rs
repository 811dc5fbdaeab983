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
        let program = folder.join(format!("{}-{}", self.name, self.key(&version)));
        if program.exists() {
            return Ok(program);
        }
        let failed = |error: io::Error| NotReady {
            message: format!(
                "{}: cannot build the program for {} there: {error}",
                folder.display(),
                self.what
            ),
            help: "make room there, or name another place with XDG_CACHE_HOME".into(),
        };
        // A folder of this process alone: two that build at once each move a whole program to its place.
        let sources = folder.join(format!("{}-{}-{}", self.name, self.key(&version), std::process::id()));
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
        fs::rename(part, &program).map_err(failed)?;
        // Leftover files are harmless.
        let _ = fs::remove_dir_all(sources);
        Ok(program)
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
