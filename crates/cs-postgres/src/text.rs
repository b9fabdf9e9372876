//! Free texts as Postgres keeps them: it has no NUL, so that one is stored as U+0010 `0`, and U+0010 itself as U+0010 `1`.

use std::borrow::Cow;

const ESCAPE: char = '\u{10}';

/// Returns a text as it is stored.
pub(crate) fn stored(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut stored = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' => stored.extend([ESCAPE, '0']),
            ESCAPE => stored.extend([ESCAPE, '1']),
            c => stored.push(c),
        }
    }
    Cow::Owned(stored)
}

/// Returns a text that may be missing as it is stored.
pub(crate) fn stored_opt(text: Option<&str>) -> Option<String> {
    text.map(|text| stored(text).into_owned())
}

/// Returns the text that was stored; nothing when no text is stored so.
pub(crate) fn read(stored: String) -> Option<String> {
    if !stored.contains(ESCAPE) {
        return Some(stored);
    }
    let mut text = String::with_capacity(stored.len());
    let mut chars = stored.chars();
    while let Some(c) = chars.next() {
        match (c, if c == ESCAPE { chars.next() } else { None }) {
            (ESCAPE, Some('0')) => text.push('\0'),
            (ESCAPE, Some('1')) => text.push(ESCAPE),
            (ESCAPE, _) => return None,
            (c, _) => text.push(c),
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(stored(text), expected);
        assert_eq!(read(expected.to_owned()).as_deref(), Some(text));
    }

    #[test]
    fn a_text_is_stored_as_it_is_but_for_what_postgres_lacks() {
        check("", "");
        check("plain ë 𝄞\n", "plain ë 𝄞\n");
        check("a\0b", "a\u{10}0b");
        check("\u{10}0\0", "\u{10}10\u{10}0");
    }

    #[test]
    fn what_nobody_stored_is_no_text() {
        assert_eq!(read("a\u{10}".to_owned()), None);
        assert_eq!(read("a\u{10}2".to_owned()), None);
    }
}
