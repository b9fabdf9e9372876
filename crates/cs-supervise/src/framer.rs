//! Cutting a stream of bytes into lines, in constant memory.

/// One line of a spool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where the line begins in the spool.
    pub offset: u64,
    /// Where the next line begins: from here a follower resumes once this one is dealt with.
    pub end_offset: u64,
    /// The line's bytes up to the cap, without its line end (`\n`, or `\r\n`). Not always UTF-8.
    pub bytes: Vec<u8>,
    /// How many bytes of the line lie beyond the cap.
    pub dropped_bytes: u64,
    /// Whether the line had an end; only the last line of a closed spool may not.
    pub terminated: bool,
}

/// Cuts bytes into [`Record`]s. However the bytes are chunked, the records are the same.
#[derive(Debug, Clone)]
pub struct Framer {
    cap_bytes: usize,
    line_offset: u64,
    line_bytes: u64,
    kept: Vec<u8>,
    ends_in_cr: bool,
}

impl Framer {
    /// A framer for bytes that begin at `offset`, which must be the beginning of a line. It keeps at most `cap_bytes` of
    /// each line.
    #[must_use]
    pub fn new(offset: u64, cap_bytes: usize) -> Self {
        Self {
            cap_bytes,
            line_offset: offset,
            line_bytes: 0,
            kept: Vec::new(),
            ends_in_cr: false,
        }
    }

    /// Takes bytes up to the end of a line. Returns how many it took, and the line when it is whole.
    pub fn feed(&mut self, input: &[u8]) -> (usize, Option<Record>) {
        let Some(end) = memchr::memchr(b'\n', input) else {
            self.keep(input);
            return (input.len(), None);
        };
        self.keep(&input[..end]);
        (end + 1, Some(self.cut(1)))
    }

    /// Ends the stream: returns the last line when it had no end.
    pub fn finish(&mut self) -> Option<Record> {
        (self.line_bytes > 0).then(|| self.cut(0))
    }

    /// The offset of the line that has not ended yet.
    #[must_use]
    pub fn line_offset(&self) -> u64 {
        self.line_offset
    }

    /// The offset up to which bytes of that line are kept; what follows of it is only counted.
    pub(crate) fn kept_to(&self) -> u64 {
        self.line_offset + self.kept.len() as u64
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.cap_bytes - self.kept.len();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.line_bytes += bytes.len() as u64;
        if let Some(last) = bytes.last() {
            self.ends_in_cr = *last == b'\r';
        }
    }

    fn cut(&mut self, newline_bytes: u64) -> Record {
        let terminated = newline_bytes > 0;
        let content = self.line_bytes - u64::from(terminated && self.ends_in_cr);
        let mut bytes = std::mem::take(&mut self.kept);
        // The carriage return is either the last byte that was kept or was not kept at all.
        if bytes.len() as u64 > content {
            bytes.pop();
        }
        let offset = self.line_offset;
        self.line_offset += self.line_bytes + newline_bytes;
        self.line_bytes = 0;
        self.ends_in_cr = false;
        let dropped_bytes = content - bytes.len() as u64;
        Record {
            offset,
            end_offset: self.line_offset,
            bytes,
            dropped_bytes,
            terminated,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame<'a>(cap_bytes: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Record> {
        let mut framer = Framer::new(100, cap_bytes);
        let mut records = Vec::new();
        for mut chunk in chunks {
            while !chunk.is_empty() {
                let (taken, record) = framer.feed(chunk);
                chunk = &chunk[taken..];
                records.extend(record);
            }
        }
        records.extend(framer.finish());
        records
    }

    fn one(cap_bytes: usize, text: &[u8]) -> (Vec<u8>, u64, bool) {
        let records = frame(cap_bytes, [text]);
        assert_eq!(records.len(), 1, "{records:?}");
        (
            records[0].bytes.clone(),
            records[0].dropped_bytes,
            records[0].terminated,
        )
    }

    #[test]
    fn one_carriage_return_belongs_to_the_line_end() {
        assert_eq!(one(9, b"ab\r\n"), (b"ab".to_vec(), 0, true));
        assert_eq!(one(9, b"ab\r\r\n"), (b"ab\r".to_vec(), 0, true));
        assert_eq!(one(9, b"a\rb\n"), (b"a\rb".to_vec(), 0, true));
        assert_eq!(one(9, b"\r\n"), (b"".to_vec(), 0, true));
        assert_eq!(one(9, b"ab\r"), (b"ab\r".to_vec(), 0, false));
    }

    #[test]
    fn the_cap_counts_the_content_only() {
        assert_eq!(one(2, b"ab\r\n"), (b"ab".to_vec(), 0, true));
        assert_eq!(one(2, b"abc\r\n"), (b"ab".to_vec(), 1, true));
        assert_eq!(one(0, b"abc\n"), (b"".to_vec(), 3, true));
        assert_eq!(one(2, b"abc"), (b"ab".to_vec(), 1, false));
    }

    /// What the records must be, told without any state.
    fn model(cap_bytes: usize, text: &[u8]) -> Vec<Record> {
        let mut offset = 100;
        let line = |line: &[u8]| {
            let terminated = line.ends_with(b"\n");
            let content = line
                .strip_suffix(b"\n")
                .map_or(line, |it| it.strip_suffix(b"\r").unwrap_or(it));
            let kept = content.len().min(cap_bytes);
            let begin = offset;
            offset += line.len() as u64;
            Record {
                offset: begin,
                end_offset: offset,
                bytes: content[..kept].to_vec(),
                dropped_bytes: (content.len() - kept) as u64,
                terminated,
            }
        };
        text.split_inclusive(|byte| *byte == b'\n').map(line).collect()
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_records(
            text in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'x'), Just(0xff_u8)], 0..200),
            chunk in 1_usize..20,
            cap_bytes in 0_usize..12,
        ) {
            prop_assert_eq!(frame(cap_bytes, text.chunks(chunk)), model(cap_bytes, &text));
        }
    }
}
