use std::io;

use cs_harness::LINE_MAX_BYTES;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// The lines of an agent, read in bounded space.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    from: R,
    line: Vec<u8>,
    dropped: bool,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// A line without its end; also the last one, that may have none.
    Line(Vec<u8>),
    /// A line that was longer than anybody wants to hold.
    TooLong,
    /// Nothing comes any more.
    End,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(crate) fn new(from: R) -> Self {
        Self {
            from,
            line: Vec::new(),
            dropped: false,
        }
    }

    /// The next line. Whoever drops the future before it is ready loses nothing.
    pub(crate) async fn next(&mut self) -> io::Result<Read> {
        loop {
            let bytes = self.from.fill_buf().await?;
            if bytes.is_empty() {
                return Ok(match self.take() {
                    Read::Line(line) if line.is_empty() => Read::End,
                    last => last,
                });
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + part.len() > LINE_MAX_BYTES {
                self.dropped = true;
                self.line.clear();
            }
            if !self.dropped {
                self.line.extend_from_slice(part);
            }
            let read = part.len() + usize::from(end.is_some());
            self.from.consume(read);
            if end.is_some() {
                return Ok(self.take());
            }
        }
    }

    fn take(&mut self) -> Read {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.dropped) {
            Read::TooLong
        } else {
            Read::Line(line)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_one_by_one_and_one_that_is_too_long_is_left_out() {
        let long = vec![b'x'; LINE_MAX_BYTES + 1];
        let all = [b"a\n\n", &long[..], b"\nb"].concat();
        let mut lines = Lines::new(&all[..]);
        let line = |text: &str| Read::Line(text.as_bytes().to_vec());
        let expected = [
            line("a"),
            line(""),
            Read::TooLong,
            line("b"),
            Read::End,
            Read::End,
        ];
        for expected in expected {
            assert_eq!(lines.next().await.unwrap(), expected);
        }
    }
}
