/// The longest record in bytes. A longer line comes in several records of about this size.
pub const RECORD_MAX_BYTES: usize = 4 * 1024 * 1024;

/// A piece of standard output: a line with its terminator, or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The bytes, with the terminator. Together the records are the output, byte for byte.
    pub bytes: &'a [u8],
    /// Where the record begins.
    pub start: RecordStart,
    /// Where the record ends.
    pub end: RecordEnd,
}

/// Where a record begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordStart {
    /// At the beginning of a line.
    LineStart,
    /// Inside a line that is longer than [`RECORD_MAX_BYTES`].
    InsideLine,
}

/// Where a record ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordEnd {
    /// With a line feed.
    LineEnd,
    /// Inside a line that is longer than [`RECORD_MAX_BYTES`].
    InsideLine,
    /// With the output itself: the last line has no terminator.
    OutputEnd,
}

/// Cuts output into records. It holds no bytes: the caller advances by the length of each record, and may start anew at
/// any border of two records.
///
/// ```
/// use cs_harness::RecordSplitter;
///
/// let mut splitter = RecordSplitter::at_line_start();
/// let output = b"one\ntw";
/// let first = splitter.next(output).map(|record| record.bytes.len());
/// assert_eq!(first, Some(4));
/// assert_eq!(splitter.next(&output[4..]), None); // more may come
/// assert_eq!(splitter.next_at_end(&output[4..]).map(|record| record.bytes), Some(&b"tw"[..]));
/// ```
#[derive(Debug, Clone)]
pub struct RecordSplitter {
    start: RecordStart,
}

impl RecordSplitter {
    /// Begins at the start of the output or after a line feed.
    pub fn at_line_start() -> Self {
        Self {
            start: RecordStart::LineStart,
        }
    }

    /// Begins where a record was cut inside a line: the byte before is not a line feed.
    pub fn inside_line() -> Self {
        Self {
            start: RecordStart::InsideLine,
        }
    }

    /// Returns the next whole record of `rest`, the output after the last record. `None`: not enough bytes yet.
    pub fn next<'a>(&mut self, rest: &'a [u8]) -> Option<Record<'a>> {
        let window = &rest[..rest.len().min(RECORD_MAX_BYTES)];
        if let Some(position) = window.iter().position(|byte| *byte == b'\n') {
            return Some(self.record(&rest[..=position], RecordEnd::LineEnd));
        }
        if rest.len() < RECORD_MAX_BYTES {
            return None;
        }
        Some(self.record(&window[..whole_characters(window)], RecordEnd::InsideLine))
    }

    /// As [`Self::next`], when `rest` is all that will ever come: gives the unterminated rest too. `None`: nothing is left.
    pub fn next_at_end<'a>(&mut self, rest: &'a [u8]) -> Option<Record<'a>> {
        if rest.is_empty() {
            return None;
        }
        self.next(rest)
            .or_else(|| Some(self.record(rest, RecordEnd::OutputEnd)))
    }

    fn record<'a>(&mut self, bytes: &'a [u8], end: RecordEnd) -> Record<'a> {
        let record = Record {
            bytes,
            start: self.start,
            end,
        };
        self.start = match end {
            RecordEnd::LineEnd | RecordEnd::OutputEnd => RecordStart::LineStart,
            RecordEnd::InsideLine => RecordStart::InsideLine,
        };
        record
    }
}

/// The length without a UTF-8 character that is cut at the end; the whole length when the end is no such thing.
fn whole_characters(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    let broken = tail.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let is_cut = std::str::from_utf8(broken).is_err_and(|error| error.error_len().is_none());
    if is_cut {
        bytes.len() - broken.len()
    } else {
        bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_longer_than_the_limit_is_cut_between_characters() {
        let mut output = vec![b'x'; RECORD_MAX_BYTES - 1];
        output.extend("€ and on\nnext\n".as_bytes());
        let mut splitter = RecordSplitter::at_line_start();
        let first = splitter.next(&output).unwrap();
        assert_eq!(
            (first.bytes.len(), first.end),
            (RECORD_MAX_BYTES - 1, RecordEnd::InsideLine)
        );
        let second = splitter.next(&output[first.bytes.len()..]).unwrap();
        assert_eq!(
            (second.start, second.end),
            (RecordStart::InsideLine, RecordEnd::LineEnd)
        );
        assert_eq!(second.bytes, "€ and on\n".as_bytes());
        let third = splitter
            .next(&output[first.bytes.len() + second.bytes.len()..])
            .unwrap();
        assert_eq!(
            (third.start, third.bytes),
            (RecordStart::LineStart, &b"next\n"[..])
        );
    }

    #[test]
    fn a_line_of_bytes_that_are_no_text_is_cut_at_the_limit() {
        let output = vec![0xff; RECORD_MAX_BYTES + 7];
        let first = RecordSplitter::at_line_start().next(&output).unwrap();
        assert_eq!(first.bytes.len(), RECORD_MAX_BYTES);
    }

    proptest! {
        #[test]
        fn records_are_the_output_byte_for_byte(output: Vec<u8>) {
            let mut splitter = RecordSplitter::at_line_start();
            let mut joined = Vec::new();
            while let Some(record) = splitter.next_at_end(&output[joined.len()..]) {
                prop_assert!(!record.bytes.is_empty());
                joined.extend_from_slice(record.bytes);
            }
            prop_assert_eq!(joined, output);
        }
    }
}
