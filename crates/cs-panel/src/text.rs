//! Text for people: what an agent wrote made harmless for a terminal, times and sizes in words.

use std::borrow::Cow;
use std::fmt::Write as _;

use cs_model::Time;

/// Makes text harmless for a terminal: nothing in it can move the cursor, change a title or turn the writing direction.
///
/// Line feeds and tabs stay; a carriage return before a line feed goes; every other control character and the
/// invisible characters that turn the direction are written as `\u{..}`.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_harmful(c) && c != '\n' && c != '\t') {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => clean.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            c if is_harmful(c) => write_escaped(&mut clean, c),
            c => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

/// The same on one line, cut to a number of characters with an ellipsis.
pub(crate) fn one_line(text: &str, max_chars: usize) -> String {
    let mut words = text.split_whitespace();
    let mut line = words.next().unwrap_or_default().to_owned();
    for word in words {
        line.push(' ');
        line.push_str(word);
        if line.len() > max_chars * 4 {
            break;
        }
    }
    let line = harmless(&line);
    if line.chars().count() <= max_chars {
        return line.into_owned();
    }
    let mut cut: String = line.chars().take(max_chars.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

fn is_harmful(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

fn write_escaped(text: &mut String, c: char) {
    write!(text, "\\u{{{:x}}}", u32::from(c)).expect("a String takes everything");
}

/// Says how long ago a moment was, as seen from `now`.
pub(crate) fn ago(now: Time, then: Time) -> String {
    if now.since(then).as_secs() < 5 {
        return "just now".to_owned();
    }
    format!("{} ago", span(now, then))
}

/// Says how much time lies between two moments, in one unit.
pub(crate) fn span(now: Time, then: Time) -> String {
    let seconds = now.since(then).as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        172_800.. => format!("{} d", seconds / 86_400),
    }
}

/// Says how far in the future a moment is, as seen from `now`.
pub(crate) fn in_future(now: Time, then: Time) -> String {
    let seconds = then.since(now).as_secs();
    match seconds {
        0 => "now".to_owned(),
        1..120 => format!("in {seconds} s"),
        120..7_200 => format!("in {} min", seconds / 60),
        7_200.. => format!("in {} h", seconds / 3_600),
    }
}

/// Says when something is due, as seen from `now`: how far off it is, and the moment.
pub(crate) fn due(now: Time, then: Time) -> String {
    format!("{} ({})", in_future(now, then), then.to_the_second())
}

/// The name of a file as everybody can show it: what turns a terminal, or a path, becomes an underscore.
pub(crate) fn plain_name(name: &str) -> String {
    let plain = |c: char| {
        if is_harmful(c) || matches!(c, '\\' | '/' | '\n' | '\t') {
            '_'
        } else {
            c
        }
    };
    let name: String = name.chars().map(plain).collect();
    name.trim().to_owned()
}

/// Counts things: `1 file`, `2 files`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

/// Quotes a word so that a shell reads it as one.
pub(crate) fn shell_word(word: &str) -> String {
    shell_words::quote(word).into_owned()
}

/// Puts a margin before every line.
pub(crate) fn indented(text: &str, margin: &str) -> String {
    let mut block = String::new();
    for line in harmless(text).trim_end().lines() {
        if !line.is_empty() {
            block.push_str(margin);
            block.push_str(line);
        }
        block.push('\n');
    }
    block
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_escape_sequence_passes() {
        let evil = "a\u{1b}[2Jb\u{9b}31mc\u{7}d\r\ne\rf\u{202e}g\u{7f}\th";
        let clean = harmless(evil);
        assert_eq!(
            clean,
            "a\\u{1b}[2Jb\\u{9b}31mc\\u{7}d\ne\\u{d}f\\u{202e}g\\u{7f}\th"
        );
        assert!(clean.chars().all(|c| !is_harmful(c) || c == '\n' || c == '\t'));
    }

    #[test]
    fn plain_text_is_left_alone() {
        assert!(matches!(harmless("grüße,\n\tworld 🙂"), Cow::Borrowed(_)));
    }

    #[test]
    fn one_line_is_one_line_and_short() {
        assert_eq!(one_line("  two\nlines \u{1b} ", 80), "two lines \\u{1b}");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line(&"word ".repeat(100_000), 9), "word wor…");
        assert_eq!(one_line("", 4), "");
    }

    #[test]
    fn spans_are_said_in_one_unit() {
        let then = Time::from_unix_micros(0);
        let cases = [
            (0, "just now"),
            (42, "42 s ago"),
            (600, "10 min ago"),
            (7_200, "2 h ago"),
            (200_000, "2 d ago"),
        ];
        for (seconds, words) in cases {
            assert_eq!(ago(then.plus(Duration::from_secs(seconds)), then), words);
        }
        assert_eq!(
            ago(then, then.plus(Duration::from_secs(9))),
            "just now",
            "a clock that went back"
        );
        assert_eq!(in_future(then, then.plus(Duration::from_secs(30))), "in 30 s");
        assert_eq!(
            due(then, then.plus(Duration::from_millis(30_500))),
            "in 30 s (1970-01-01 00:00:30 UTC)"
        );
    }
}
