//! Where in a configuration file an error is.

use std::path::Path;

use crate::failure::Failure;

/// Writes an error of the parser as `file:line:column: what was wrong and what was expected`.
pub(super) fn explain(path: &Path, text: &str, error: &toml_edit::de::Error) -> Failure {
    let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
    let message = error
        .message()
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let message = message.collect::<Vec<_>>().join(", ");
    Failure::Usage(format!("{}:{line}:{column}: {message}", path.display()))
}

/// Counts lines and characters from 1.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        assert_eq!(line_and_column("", 0), (1, 1));
        assert_eq!(line_and_column("ä\nöb", 4), (2, 1 + 1 - 1));
        assert_eq!(line_and_column("ä\nöb", 5), (2, 2));
        assert_eq!(line_and_column("a\n", 99), (2, 1));
    }
}
