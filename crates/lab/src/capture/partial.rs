//! A file that appears whole or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A file under another name until it is whole. It is removed if it never is.
#[derive(Debug)]
pub(crate) struct Partial {
    place: PathBuf,
    hidden: PathBuf,
}

impl Partial {
    /// Begins the file that will be at `place`. A file that is there stays until then.
    ///
    /// # Errors
    /// It cannot be made.
    pub(crate) fn create(place: PathBuf) -> io::Result<(Self, File)> {
        let folder = place.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder)?;
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        // One name for each place: the next run writes over what a killed process has left.
        let hidden = folder.join(format!(".partial-{name}"));
        let file = File::create(&hidden)?;
        Ok((Self { place, hidden }, file))
    }

    /// The file is whole.
    ///
    /// # Errors
    /// It cannot be moved into its place.
    pub(crate) fn keep(self) -> io::Result<()> {
        fs::rename(&self.hidden, &self.place)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After `keep` there is none.
        let _ = fs::remove_file(&self.hidden);
    }
}
