/// Of a line of output at most this many bytes are worth keeping.
pub const LINE_MAX_BYTES: usize = 16 * 1024 * 1024;

/// A line of standard output, as whoever reads the output cuts it.
///
/// Lines end with a line feed, which belongs to them; the last one may have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The bytes that were kept, at most [`LINE_MAX_BYTES`] and the line feed. Not always UTF-8.
    pub bytes: &'a [u8],
    /// How many bytes of the line were left out before its end.
    pub dropped_bytes: u64,
}

impl Line<'_> {
    /// Whether nothing was left out.
    pub fn is_whole(&self) -> bool {
        self.dropped_bytes == 0
    }
}
