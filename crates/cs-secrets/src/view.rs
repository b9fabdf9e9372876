//! A text as a program would read it: escapes undone, line breaks taken out. Every byte knows which bytes of the text it stands for.

/// Which way a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// Those of a JSON string.
    Json,
    /// `%XX`.
    Percent,
    /// `%XX`, and `+` for a space.
    Form,
}

/// A text, read.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) bytes: Vec<u8>,
    /// Where each byte stands in the text: from, and up to.
    spans: Vec<(usize, usize)>,
    /// What was taken out between two bytes.
    gaps: Vec<(usize, usize)>,
    /// From here on, more text could change what is read.
    open: usize,
}

/// Whether more of a text may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// It is whole.
    Here,
    /// There may be more.
    Open,
}

impl View {
    /// The text itself.
    pub(crate) fn plain(text: &str) -> Self {
        Self {
            bytes: text.as_bytes().to_vec(),
            spans: (0..text.len()).map(|at| (at, at + 1)).collect(),
            gaps: Vec::new(),
            open: text.len(),
        }
    }

    /// Says whether undoing these escapes could change anything.
    pub(crate) fn has(&self, escapes: Escapes) -> bool {
        let marks: &[u8] = match escapes {
            Escapes::Json => b"\\",
            Escapes::Percent => b"%",
            Escapes::Form => b"%+",
        };
        self.bytes.iter().any(|byte| marks.contains(byte))
    }

    /// The same with these escapes undone.
    pub(crate) fn undo(&self, escapes: Escapes, ends: Ends) -> Self {
        let mut read = Self {
            bytes: Vec::with_capacity(self.bytes.len()),
            spans: Vec::with_capacity(self.bytes.len()),
            gaps: self.gaps.clone(),
            open: self.open,
        };
        let mut at = 0;
        while at < self.bytes.len() {
            let rest = &self.bytes[at..];
            let unit = match escapes {
                Escapes::Json => json_unit(rest),
                Escapes::Percent => percent_unit(rest),
                Escapes::Form if rest[0] == b'+' => Unit::Read(vec![b' '], 1),
                Escapes::Form => percent_unit(rest),
            };
            let taken = match unit {
                Unit::Read(bytes, taken) => {
                    let span = (self.spans[at].0, self.spans[at + taken - 1].1);
                    read.spans.extend(bytes.iter().map(|_| span));
                    read.bytes.extend(bytes);
                    taken
                }
                Unit::Cut if ends == Ends::Open => {
                    read.open = read.open.min(self.spans[at].0);
                    break;
                }
                Unit::Cut => {
                    read.bytes.push(rest[0]);
                    read.spans.push(self.spans[at]);
                    1
                }
            };
            at += taken;
        }
        read
    }

    /// The same without line breaks, and without the blanks that follow one: a text that was wrapped and indented is as it was before.
    pub(crate) fn unwrapped(&self) -> Self {
        let mut read = Self {
            bytes: Vec::with_capacity(self.bytes.len()),
            spans: Vec::with_capacity(self.bytes.len()),
            gaps: self.gaps.clone(),
            open: self.open,
        };
        let mut gap: Option<(usize, usize)> = None;
        for (byte, span) in self.bytes.iter().zip(&self.spans) {
            let is_gap = match byte {
                b'\r' | b'\n' => true,
                b' ' | b'\t' => gap.is_some(),
                _ => false,
            };
            if is_gap {
                gap = Some((gap.map_or(span.0, |(from, _)| from), span.1));
                continue;
            }
            read.gaps.extend(gap.take());
            read.bytes.push(*byte);
            read.spans.push(*span);
        }
        if let Some((from, _)) = gap {
            read.open = read.open.min(from);
        }
        read
    }

    /// Which bytes of the text these bytes stand for.
    pub(crate) fn source(&self, from: usize, to: usize) -> (usize, usize) {
        (self.spans[from].0, self.spans[to - 1].1)
    }

    /// Where in the text the byte at this place begins.
    pub(crate) fn begins(&self, at: usize) -> usize {
        self.spans.get(at).map_or(self.open, |span| span.0)
    }

    /// From where on more text could change what is read.
    pub(crate) const fn open_from(&self) -> usize {
        self.open
    }

    /// The last place not after this one at which the text can be cut, so that both parts are read as they are read together.
    pub(crate) fn border(&self, at: usize) -> usize {
        let around = |spans: &[(usize, usize)]| {
            let after = spans.partition_point(|(from, _)| *from < at);
            let last = after.checked_sub(1).map(|last| spans[last]);
            last.filter(|(_, to)| at < *to).map(|(from, _)| from)
        };
        let found = around(&self.spans).into_iter().chain(around(&self.gaps));
        found.min().unwrap_or(at)
    }
}

/// A text without its line breaks and the blanks that follow them.
pub(crate) fn without_breaks(text: &str) -> Vec<u8> {
    View::plain(text).unwrapped().bytes
}

/// What stands at the beginning of a text.
enum Unit {
    /// These bytes, written with so many.
    Read(Vec<u8>, usize),
    /// The beginning of an escape whose end is not there.
    Cut,
}

fn percent_unit(rest: &[u8]) -> Unit {
    let as_it_is = Unit::Read(vec![rest[0]], 1);
    if rest[0] != b'%' {
        return as_it_is;
    }
    let digits = rest[1..].iter().take(2).map_while(|byte| hex(*byte));
    let digits: Vec<u8> = digits.collect();
    match digits.as_slice() {
        [high, low] => Unit::Read(vec![high * 16 + low], 3),
        _ if rest.len() == 1 + digits.len() => Unit::Cut,
        _ => as_it_is,
    }
}

fn json_unit(rest: &[u8]) -> Unit {
    let as_it_is = || Unit::Read(vec![rest[0]], 1);
    if rest[0] != b'\\' {
        return as_it_is();
    }
    let one = |byte| Unit::Read(vec![byte], 2);
    match rest.get(1) {
        None => Unit::Cut,
        Some(byte @ (b'"' | b'\\' | b'/')) => one(*byte),
        Some(b'b') => one(8),
        Some(b'f') => one(12),
        Some(b'n') => one(b'\n'),
        Some(b'r') => one(b'\r'),
        Some(b't') => one(b'\t'),
        Some(b'u') => match code_unit(rest) {
            Code::Cut => Unit::Cut,
            Code::None => as_it_is(),
            Code::Unit(unit) => character(unit, &rest[6..]).unwrap_or_else(as_it_is),
        },
        Some(_) => as_it_is(),
    }
}

/// The character of a code unit; with the one that follows where it is half of one. Nothing: it is no character.
fn character(unit: u16, after: &[u8]) -> Option<Unit> {
    let utf8 = |c: char, taken| Unit::Read(c.to_string().into_bytes(), taken);
    if let Some(c) = char::from_u32(u32::from(unit)) {
        return Some(utf8(c, 6));
    }
    if !(0xd800..0xdc00).contains(&unit) {
        return None;
    }
    match code_unit(after) {
        Code::Cut => Some(Unit::Cut),
        Code::None => None,
        Code::Unit(low) => char::decode_utf16([unit, low])
            .next()
            .and_then(Result::ok)
            .map(|c| utf8(c, 12)),
    }
}

/// What `\uXXXX` says.
enum Code {
    Unit(u16),
    Cut,
    None,
}

fn code_unit(rest: &[u8]) -> Code {
    let begins = rest.iter().zip(b"\\u").all(|(byte, wanted)| byte == wanted);
    if !begins {
        return Code::None;
    }
    let digits = rest.get(2..).unwrap_or_default().iter().take(4);
    let digits: Vec<u16> = digits.map_while(|byte| hex(*byte).map(u16::from)).collect();
    match digits.len() {
        4 => Code::Unit(digits.iter().fold(0, |unit, digit| unit << 4 | digit)),
        short if rest.len() <= 2 + short => Code::Cut,
        _ => Code::None,
    }
}

fn hex(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, escapes: Escapes) -> String {
        String::from_utf8(View::plain(text).undo(escapes, Ends::Here).bytes).unwrap()
    }

    #[test]
    fn escapes_are_read_as_programs_write_them() {
        let json = |text| read(text, Escapes::Json);
        assert_eq!(json(r#"a\"b\\c\/d\n\u00e9\uD83D\uDE00"#), "a\"b\\c/d\né😀");
        assert_eq!(
            json(r"\x \u12 \ud83d \udc00 \ud83d\n"),
            "\\x \\u12 \\ud83d \\udc00 \\ud83d\n"
        );
        assert_eq!(json(r"end\"), "end\\");
        assert_eq!(read("a%2Fb%2fc+%zz%4", Escapes::Percent), "a/b/c+%zz%4");
        assert_eq!(read("a+b%20c", Escapes::Form), "a b c");
    }

    #[test]
    fn what_may_go_on_is_open() {
        for (text, escapes, open) in [
            (r"ab\", Escapes::Json, 2),
            (r"ab\u0", Escapes::Json, 2),
            (r"ab\ud83d", Escapes::Json, 2),
            (r"ab\ud83d\ude0", Escapes::Json, 2),
            (r"ab\\", Escapes::Json, 4),
            ("ab%4", Escapes::Percent, 2),
            ("ab%", Escapes::Form, 2),
        ] {
            let view = View::plain(text).undo(escapes, Ends::Open);
            assert_eq!(view.open_from(), open, "{text}");
        }
        assert_eq!(View::plain("ab\n  ").unwrapped().open_from(), 2);
    }

    #[test]
    fn a_text_that_was_wrapped_is_one_again_and_knows_where_it_stands() {
        let view = View::plain("ab\r\n\t cd e\nf").unwrapped();
        assert_eq!(view.bytes, b"abcd ef");
        assert_eq!(view.source(1, 3), (1, 7));
        assert_eq!(view.border(4), 2);
        assert_eq!(
            View::plain(r"a\u0041").undo(Escapes::Json, Ends::Here).border(3),
            1
        );
    }
}
