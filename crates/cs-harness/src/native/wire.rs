//! What the lines of several agents have in common.

use serde::Deserialize;
use serde_json::Value;

use crate::command::text_events;
use crate::text::one_line;
use crate::{Event, read_json};

#[derive(Deserialize)]
struct Typed {
    r#type: String,
}

/// A whole line that was not understood: a message of an unknown type or shape is kept as that, anything else as text.
pub(super) fn not_understood(line: &[u8]) -> Vec<Event> {
    match read_json::<Typed>(line) {
        Ok(typed) => vec![Event::unknown(&typed.r#type, line)],
        Err(_) => text_events(line),
    }
}

/// The sum of what is told of; nothing where nothing is.
pub(super) fn sum<const N: usize>(numbers: [Option<u64>; N]) -> Option<u64> {
    numbers.into_iter().flatten().reduce(u64::saturating_add)
}

/// What a tool is about, from its arguments: a command, a file, a place.
pub(super) fn about(arguments: &Value) -> String {
    const TELLING: [&str; 7] = [
        "command",
        "filePath",
        "file_path",
        "path",
        "url",
        "pattern",
        "description",
    ];
    let told = TELLING.iter().find_map(|key| arguments.get(key)?.as_str());
    one_line(told.unwrap_or_default())
}

/// A tool and what it is about, in one phrase.
pub(super) fn tool_phrase(tool: &str, about: &str) -> String {
    if about.is_empty() {
        one_line(tool)
    } else {
        format!("{}: {about}", one_line(tool))
    }
}

/// An error as providers write it, `{"code": ..., "type": ..., "message": ...}`, on its own or under `error`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ProviderError {
    error: Option<Box<ProviderError>>,
    code: Option<Value>,
    r#type: Option<String>,
    message: Option<String>,
}

impl ProviderError {
    /// Reads the error that stands in a text from its first brace on.
    pub(super) fn within(text: &str) -> Option<Self> {
        let at = text.find('{')?;
        let mut found: Self = read_json(&text.as_bytes()[at..]).ok()?;
        while let Some(inner) = found.error.take() {
            found = *inner;
        }
        Some(found)
    }

    /// Its code, else its type.
    pub(super) fn word(&self) -> Option<&str> {
        let code = self.code.as_ref().and_then(Value::as_str);
        code.or(self.r#type.as_deref())
    }

    /// Its message.
    pub(super) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_provider_is_read_wherever_it_stands() {
        let read = |text: &str| {
            let found = ProviderError::within(text)?;
            Some((found.word()?.to_owned(), found.message()?.to_owned()))
        };
        let pair = |word: &str, message: &str| Some((word.to_owned(), message.to_owned()));
        assert_eq!(
            read(r#"{"error": {"message": "no", "type": "t", "code": null}}"#),
            pair("t", "no")
        );
        assert_eq!(
            read(r#"429: {"message":"no","type":"t","code":"c"}"#),
            pair("c", "no")
        );
        assert_eq!(read("429 {no json"), None);
        assert_eq!(read("429"), None);
    }

    #[test]
    fn what_a_tool_is_about_is_one_line() {
        let long = serde_json::json!({"command": format!("{}\nsecond", "é".repeat(300))});
        assert_eq!(about(&long), format!("{} …", "é".repeat(100)));
        assert_eq!(about(&serde_json::json!({"other": 1})), "");
        assert_eq!(about(&serde_json::json!("text")), "");
    }
}
