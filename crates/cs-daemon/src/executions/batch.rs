//! What is made durable at once of what an agent says: bounded in lines, since each becomes events, and in bytes, since a line may be
//! long.

use cs_supervise::Followed;

/// A batch takes no more after so many lines.
pub(super) const BATCH_MAX_LINES: usize = 256;
/// Nor after so many bytes. The last line of a batch may go beyond by its own length.
pub(super) const BATCH_MAX_BYTES: usize = 8 << 20;

/// Lines that were read and are not durable yet.
#[derive(Debug, Default)]
pub(super) struct Batch {
    parts: Vec<Followed>,
    bytes: usize,
}

impl Batch {
    pub(super) fn push(&mut self, part: Followed) {
        if let Followed::Record(record) = &part {
            self.bytes += record.bytes.capacity();
        }
        self.parts.push(part);
    }

    /// Whether it is to be made durable before more is read.
    pub(super) fn is_full(&self) -> bool {
        self.parts.len() >= BATCH_MAX_LINES || self.bytes() >= BATCH_MAX_BYTES
    }

    /// How much memory its lines take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(super) fn into_parts(self) -> Vec<Followed> {
        self.parts
    }
}
