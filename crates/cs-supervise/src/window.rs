//! Giving back the disk that a spool's middle occupies, once what it says is kept elsewhere.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

/// Holes begin and end at multiples of this, so that whole blocks are given back.
const BLOCK_BYTES: u64 = 4096;

/// Which parts of a spool are kept in any case, for people who look for what went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpoolWindow {
    /// So many bytes at its beginning.
    pub head_bytes: u64,
    /// So many bytes at its end, and up to an eighth more, since small holes are not worth their making.
    pub tail_bytes: u64,
}

impl Default for SpoolWindow {
    /// The first MiB and the last 64 MiB.
    fn default() -> Self {
        Self {
            head_bytes: 1 << 20,
            tail_bytes: 64 << 20,
        }
    }
}

/// Punches what lies between out of a spool that is appended to. The spool keeps its length and its offsets; what was punched out
/// reads as zeros and counts no more for [`Limits::spool_bytes`](crate::Limits::spool_bytes).
#[derive(Debug)]
pub struct Puncher {
    spool: File,
    window: SpoolWindow,
    punched_to: u64,
    /// Where the holes in the line that has not ended yet come to.
    line_punched_to: u64,
}

impl Puncher {
    /// Opens a spool, which must be there.
    ///
    /// # Errors
    /// The system's.
    pub fn open(spool: &Path, window: SpoolWindow) -> io::Result<Self> {
        Ok(Self {
            spool: OpenOptions::new().write(true).open(spool)?,
            window,
            punched_to: 0,
            line_punched_to: 0,
        })
    }

    /// Punches out what may go, given that everything before the offset `kept` is durable elsewhere. Returns how many bytes went.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where the file system makes no holes; the spool is as it was.
    pub fn kept(&mut self, kept: u64) -> io::Result<u64> {
        if kept < self.punched_to {
            // The agent has cut its output and begun anew.
            self.punched_to = 0;
        }
        let length = self.spool.metadata()?.len();
        let Some((begin, end)) = hole(self.window, self.punched_to, kept, length) else {
            return Ok(0);
        };
        punch(&self.spool, begin, end)?;
        self.punched_to = end;
        Ok(end - begin)
    }

    /// Punches out what may go of a line that has not ended yet, given that of it nothing between `kept_to`, where its capped part ends,
    /// and `read_to` will ever be used. Who reads it anew gets the same record. Returns how many bytes went.
    ///
    /// # Errors
    /// As [`kept`](Self::kept).
    pub(crate) fn unused(&mut self, kept_to: u64, read_to: u64) -> io::Result<u64> {
        if read_to < self.line_punched_to {
            // The agent has cut its output and begun anew.
            self.line_punched_to = 0;
        }
        // The last byte that was read may be the carriage return of the line's end.
        let unused_to = read_to.saturating_sub(1);
        let begin = kept_to.max(self.line_punched_to);
        // So it is with every line that is no longer than its cap.
        if begin >= unused_to {
            return Ok(0);
        }
        let length = self.spool.metadata()?.len();
        let Some((begin, end)) = hole(self.window, begin, unused_to, length) else {
            return Ok(0);
        };
        punch(&self.spool, begin, end)?;
        self.line_punched_to = end;
        Ok(end - begin)
    }
}

fn punch(spool: &File, begin: u64, end: u64) -> io::Result<()> {
    let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    Ok(fallocate(spool.as_fd(), how, begin, end - begin)?)
}

/// The next hole, if one is worth making.
fn hole(window: SpoolWindow, punched_to: u64, kept: u64, length: u64) -> Option<(u64, u64)> {
    let begin = window
        .head_bytes
        .max(punched_to)
        .checked_next_multiple_of(BLOCK_BYTES)?;
    let end = kept.min(length.saturating_sub(window.tail_bytes));
    let end = end - end % BLOCK_BYTES;
    let worth = (window.tail_bytes / 8).max(BLOCK_BYTES);
    (end >= begin.checked_add(worth)?).then_some((begin, end))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    const WINDOW: SpoolWindow = SpoolWindow {
        head_bytes: 10_000,
        tail_bytes: 80_000,
    };

    #[test]
    fn a_hole_leaves_the_head_the_tail_and_what_is_not_kept_elsewhere() {
        let check = |punched_to, kept, length, expected| {
            assert_eq!(
                hole(WINDOW, punched_to, kept, length),
                expected,
                "{kept} of {length}"
            );
        };
        check(0, 0, 0, None);
        check(0, 200_000, 200_000, Some((12_288, 118_784)));
        check(0, 50_000, 200_000, Some((12_288, 49_152)));
        check(0, 200_000, 80_000, None);
        // Too little to be worth it, and then enough.
        check(118_784, 205_000, 205_000, None);
        check(118_784, 215_000, 215_000, Some((118_784, 131_072)));
        check(
            0,
            u64::MAX,
            u64::MAX,
            Some((12_288, u64::MAX - 80_000 - (u64::MAX - 80_000) % 4096)),
        );
    }

    #[test]
    fn a_punched_spool_keeps_its_length_its_ends_and_its_offsets() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("spool");
        fs::write(&path, vec![b'x'; 1_000_000]).expect("written");
        let mut puncher = Puncher::open(&path, WINDOW).expect("opened");
        assert_eq!(puncher.kept(5_000).expect("punched"), 0);
        let gone = puncher.kept(1_000_000).expect("this file system makes holes");
        assert_eq!(gone, 917_504 - 12_288);
        assert_eq!(puncher.kept(1_000_000).expect("nothing more"), 0);
        let now = fs::read(&path).expect("read");
        assert_eq!(now.len(), 1_000_000);
        assert!(now[..12_288].iter().all(|byte| *byte == b'x'));
        assert!(now[12_288..917_504].iter().all(|byte| *byte == 0));
        assert!(now[917_504..].iter().all(|byte| *byte == b'x'));
        assert!(fs::metadata(&path).expect("there").blocks() * 512 < 200_000);
        // The agent cuts its output and writes anew.
        fs::write(&path, vec![b'y'; 300_000]).expect("written");
        assert_eq!(puncher.kept(0).expect("nothing is kept yet"), 0);
        assert!(puncher.kept(300_000).expect("punched") > 0);
    }
}
