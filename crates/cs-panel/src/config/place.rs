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
    let message = in_words(key_of(text, line), message.collect::<Vec<_>>().join(", "));
    Failure::Usage(format!("{}:{line}:{column}: {message}", path.display()))
}

/// What the values of the keys may be. The parser names types of this program where a value is of another kind.
fn possible(key: &str) -> Option<&'static str> {
    Some(match key {
        "slots" => "a whole number from 1 to 256",
        "command" => "a list such as [\"program\", \"argument\"]",
        "pass_env" => "a list of names of variables, such as [\"API_KEY\"]",
        "person" | "default_agent" => "a name in quotes",
        "harness" => "a harness in quotes, such as \"claude\"",
        "serve" => "\"own\" or \"everyone\"",
        "model" | "effort" => "a word in quotes",
        "permissions" => "\"edit\" or \"full\"",
        "settings" => "\"use\" or \"shut-out\"",
        "tools" => "\"stdio\", \"http\" or \"none\"",
        "env" => "a table such as { NAME = \"value\" }",
        "containment" => "\"best\" or \"namespace\"",
        "wall" => "a time in quotes such as \"24h\", or \"none\"",
        "output" => "an amount of disk in quotes such as \"8GiB\", or \"none\"",
        "start" | "idle" => "a time in quotes such as \"10min\", or \"none\"",
        "turns" | "tokens" => "a whole number from 1 on",
        "usd" | "card_usd" => "an amount of US dollars such as 2.50",
        "lease" => "a time in quotes such as \"10min\"",
        "at_lease_end" => "\"continue\", \"pause\" or \"stop\"",
        _ => return None,
    })
}

/// Names the key whose value is of a wrong kind, and what it may be.
fn in_words(key: &str, message: String) -> String {
    let is_of_another_kind = message.starts_with("invalid type: ") || message.starts_with("invalid value: ");
    match (message.split_once(", expected "), possible(key)) {
        (Some((what, _)), Some(possible)) if is_of_another_kind => {
            format!("`{key}`: {what}, expected {possible}")
        }
        _ => message,
    }
}

/// The key of a line, without what it is below.
fn key_of(text: &str, line: usize) -> &str {
    let line = text.lines().nth(line - 1).unwrap_or_default();
    let key = line.split_once('=').map_or("", |(key, _)| key.trim());
    key.rsplit('.')
        .next()
        .unwrap_or_default()
        .trim_matches(['"', '\''])
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
