//! A file that gets its blocks before its bytes.
//!
//! A file system that finds room for each page as it is written takes twice as long as one that is asked for millions of bytes at once.

use std::fs::File;
use std::io::{self, Write};

/// Bytes that are reserved at once.
const STEP: u64 = 8 << 20;

/// A file that is written from its beginning to its end.
#[derive(Debug)]
pub(super) struct GrowingFile {
    file: File,
    written: u64,
    /// Up to here the file has blocks; `None`: the file system gives none ahead.
    reserved: Option<u64>,
}

impl GrowingFile {
    pub(super) fn new(file: File) -> Self {
        Self { file, written: 0, reserved: Some(0) }
    }

    /// Gives back what was reserved and is not needed.
    ///
    /// # Errors
    /// The file cannot be truncated.
    pub(super) fn finish(self) -> io::Result<()> {
        let more = self.reserved.is_some_and(|reserved| reserved > self.written);
        if more { self.file.set_len(self.written) } else { Ok(()) }
    }
}

impl Write for GrowingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A small file is written in one piece, and gets no more blocks than it needs.
        if let Some(reserved) = self.reserved
            && self.written > 0
            && self.written + bytes.len() as u64 > reserved
        {
            let from = reserved.max(self.written);
            self.reserved = reserve(&self.file, from, STEP).then_some(from + STEP);
        }
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Asks for blocks. False if the file system has too few, which it says again when the bytes come, or does not know this.
#[cfg(target_os = "linux")]
fn reserve(file: &File, from: u64, length: u64) -> bool {
    use nix::fcntl::{FallocateFlags, fallocate};
    let (Ok(from), Ok(length)) = (i64::try_from(from), i64::try_from(length)) else { return false };
    fallocate(file, FallocateFlags::FALLOC_FL_KEEP_SIZE, from, length).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64, _: u64) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// Sizes around the step: the content is what was written, and no block is left over.
    #[test]
    fn a_file_keeps_the_blocks_of_its_bytes() {
        let place = std::env::temp_dir().join(format!("ropewalk-growing-{}", std::process::id()));
        for pieces in [0, 1, 2, 16, 17, 33] {
            let mut file = GrowingFile::new(File::create(&place).expect("a file"));
            let piece: Vec<u8> = (0..1 << 19).map(|n| (n % 251) as u8).collect();
            for _ in 0..pieces {
                file.write_all(&piece).expect("room on the disk");
            }
            file.write_all(b"end").expect("room on the disk");
            file.finish().expect("a file that can be truncated");
            let mut expected = piece.repeat(pieces);
            expected.extend_from_slice(b"end");
            assert!(fs::read(&place).expect("the file") == expected, "{pieces} pieces");
            let blocks = 512 * fs::metadata(&place).expect("the file").blocks();
            assert!(
                blocks < expected.len() as u64 + (1 << 20),
                "{blocks} bytes on the disk of {pieces} pieces"
            );
        }
        fs::remove_file(&place).expect("the file");
    }
}
