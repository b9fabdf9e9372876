//! The forms in which a value is looked for.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

use crate::view::without_breaks;

/// All forms of a value as they stand in a text whose escapes are undone and whose lines are joined.
pub(crate) fn forms(value: &str) -> Vec<Zeroizing<Vec<u8>>> {
    let value = value.trim();
    let mut forms = vec![without_breaks(value)];
    // What holds it may have been written so before it was encoded.
    for written in [value.to_owned(), json(value), percent(value)] {
        for before in 0..3 {
            forms.extend(base64(written.as_bytes(), before));
        }
    }
    forms.sort_unstable();
    forms.dedup();
    forms.into_iter().map(Zeroizing::new).collect()
}

/// The value as a JSON string without its quotes.
fn json(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The value as a part of a URL.
fn percent(value: &str) -> String {
    let mut written = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            written.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(written, "%{byte:02X}");
        }
    }
    written
}

/// What base64 makes of these bytes after so many others, as far as it follows from them alone: in the middle of something, and at its end.
fn base64(bytes: &[u8], before: usize) -> Vec<Vec<u8>> {
    let padded = [&[0; 2][..before], bytes].concat();
    let first = (8 * before).div_ceil(6);
    let whole = 8 * padded.len() / 6;
    let mut forms = Vec::new();
    for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        let encoded = engine.encode(&padded).into_bytes();
        forms.push(encoded[first..whole].to_vec());
        let at_end = &encoded[first..];
        let padding = b"=".repeat((4 - encoded.len() % 4) % 4);
        forms.push(at_end.to_vec());
        forms.push([at_end, &padding].concat());
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_found_at_every_place() {
        for before in 0..7 {
            for after in 0..4 {
                let text = [&b"???????"[..before], b"s3cret/+", &b"!!!!"[..after]].concat();
                let encoded = STANDARD_NO_PAD.encode(text);
                let is_found = forms("s3cret/+")
                    .iter()
                    .any(|form| encoded.contains(std::str::from_utf8(form).unwrap()));
                assert!(is_found, "{before} bytes before it: {encoded}");
            }
        }
    }

    #[test]
    fn a_value_is_looked_for_in_few_forms() {
        let forms = forms("hunter22");
        let text = |form: &Zeroizing<Vec<u8>>| String::from_utf8(form.to_vec()).unwrap();
        let forms: Vec<String> = forms.iter().map(text).collect();
        assert_eq!(
            forms,
            [
                "aHVudGVyMj",
                "aHVudGVyMjI",
                "aHVudGVyMjI=",
                "h1bnRlcjIy",
                "hunter22",
                "odW50ZXIyM",
                "odW50ZXIyMg",
                "odW50ZXIyMg=="
            ]
        );
    }
}
