/// The longest answer in bytes. Of a longer one the end is kept, with a first line that says how much is missing.
pub const ANSWER_MAX_BYTES: usize = 1024 * 1024;

/// The longest other text of one event in bytes. Of a longer one the beginning is kept, with a last line that says so.
pub const TEXT_MAX_BYTES: usize = 64 * 1024;

/// The end of a text that may be longer than we want to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tail {
    kept: String,
    cut_bytes: u64,
}

impl Tail {
    /// Adds a piece.
    pub fn push(&mut self, text: &str) {
        self.kept.push_str(text);
        if self.kept.len() > 2 * ANSWER_MAX_BYTES {
            self.trim();
        }
    }

    /// The end of all pieces, at most [`ANSWER_MAX_BYTES`], with a first line that says what is missing.
    pub fn render(&self) -> String {
        let mut whole = self.clone();
        whole.trim();
        match whole.cut_bytes {
            0 => whole.kept,
            cut => format!(
                "[the first {cut} bytes are cut; the transcript has them]\n{}",
                whole.kept
            ),
        }
    }

    fn trim(&mut self) {
        let from = self
            .kept
            .ceil_char_boundary(self.kept.len().saturating_sub(ANSWER_MAX_BYTES));
        self.kept.drain(..from);
        self.cut_bytes += from as u64;
    }
}

/// An answer of at most [`ANSWER_MAX_BYTES`], the end kept.
pub(crate) fn cap_answer(text: &str) -> String {
    let mut tail = Tail::default();
    tail.push(text);
    tail.render()
}

/// A text of at most [`TEXT_MAX_BYTES`], the beginning kept.
pub fn cap_text(text: &str) -> String {
    let end = text.floor_char_boundary(TEXT_MAX_BYTES);
    match text.len() - end {
        0 => text.to_owned(),
        cut => format!("{}\n[{cut} more bytes are cut]", &text[..end]),
    }
}

/// What an agent said of a trouble: at most 4 KiB of it, the beginning kept.
pub(crate) fn cap_said(text: &str) -> String {
    text[..text.floor_char_boundary(4096)].to_owned()
}

/// The beginning of what was written, at most 4 KiB, with what is not UTF-8 replaced.
pub(crate) fn beginning(bytes: &[u8]) -> String {
    let some = bytes.get(..4096).unwrap_or(bytes);
    cap_said(&String::from_utf8_lossy(some))
}

/// The end of a text of an error: at most 4 KiB.
pub(crate) fn tail_said(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(4096))..]
}

/// The first line of a text, at most 200 bytes of it, with a mark where something is missing.
pub fn one_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let end = line.floor_char_boundary(200);
    match (line.len() - end, text.trim().len() - line.len()) {
        (0, 0) => line.to_owned(),
        _ => format!("{} …", &line[..end]),
    }
}

/// The text in pieces of at most [`TEXT_MAX_BYTES`], nothing lost.
pub(crate) fn pieces(mut text: &str) -> Vec<String> {
    let mut all = Vec::new();
    while !text.is_empty() {
        let (piece, rest) = text.split_at(text.floor_char_boundary(TEXT_MAX_BYTES));
        all.push(piece.to_owned());
        text = rest;
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_answer_over_the_limit_keeps_its_end_and_says_what_was_cut() {
        let text = format!("{}the end", "€".repeat(ANSWER_MAX_BYTES));
        let capped = cap_answer(&text);
        let (first, rest) = capped.split_once('\n').unwrap();
        assert!(rest.ends_with("the end") && rest.len() <= ANSWER_MAX_BYTES);
        let cut = text.len() - rest.len();
        assert_eq!(
            first,
            format!("[the first {cut} bytes are cut; the transcript has them]")
        );
        assert_eq!(cap_answer("short"), "short");
    }

    #[test]
    fn a_text_pushed_in_pieces_is_the_text_pushed_at_once() {
        let piece = "0123456789".repeat(5000);
        let mut tail = Tail::default();
        for _ in 0..100 {
            tail.push(&piece);
        }
        assert_eq!(tail.render(), cap_answer(&piece.repeat(100)));
    }

    #[test]
    fn a_text_over_the_limit_keeps_its_beginning() {
        let capped = cap_text(&"a".repeat(TEXT_MAX_BYTES + 5));
        assert!(capped.ends_with("a\n[5 more bytes are cut]"));
    }

    proptest! {
        #[test]
        fn pieces_lose_nothing(text in "(?s).{0,40}", times in 0_usize..6000) {
            let text = text.repeat(times);
            let parts = pieces(&text);
            prop_assert!(parts.iter().all(|part| part.len() <= TEXT_MAX_BYTES));
            prop_assert_eq!(parts.concat(), text);
        }
    }
}
