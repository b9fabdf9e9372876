//! The few things that the ledger asks of its file.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The file under a ledger. The second implementation runs out of room on purpose.
pub(super) trait Disk: fmt::Debug + Send {
    /// Writes all bytes at an offset.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Cuts the file.
    fn cut(&self, length: u64) -> io::Result<()>;
    /// Waits until data and length are on the disk.
    fn sync(&self) -> io::Result<()>;
}

impl Disk for File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
