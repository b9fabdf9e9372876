use serde::de::DeserializeOwned;

/// Reads JSON that a program we do not make has written. Half of a pair of surrogates, which an agent writes where it has cut a text
/// in the middle of a character, is read as U+FFFD: the rest of what it stands in is not lost over it.
///
/// # Errors
///
/// As of `serde_json`, where it is no JSON or not of this shape.
pub fn read_json<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(json).or_else(|error| match with_whole_pairs(json) {
        Some(whole) => serde_json::from_slice(&whole),
        None => Err(error),
    })
}

/// The length of `\uXXXX`.
const ESCAPE: usize = 6;

/// The same JSON with U+FFFD in the place of every surrogate that is escaped alone; nothing where there is none.
fn with_whole_pairs(json: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(next) = json[at..].iter().position(|byte| *byte == b'\\') {
        at += next;
        let rest = &json[at..];
        let second = rest.get(ESCAPE..).and_then(escaped);
        match (escaped(rest), second) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 2 * ESCAPE,
            (Some(0xd800..=0xdfff), _) => {
                whole.extend_from_slice(&json[copied..at]);
                whole.extend_from_slice(br"\ufffd");
                at += ESCAPE;
                copied = at;
            }
            // Of any other escape the second byte may be a backslash, which begins none.
            (Some(_) | None, _) => at = json.len().min(at + 2),
        }
    }
    (copied > 0).then(|| {
        whole.extend_from_slice(&json[copied..]);
        whole
    })
}

/// The number in `\uXXXX`, where it begins so.
fn escaped(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(br"\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn half_a_pair_of_surrogates_costs_one_character() {
        let table = [
            (r#""a \ud83d b""#, "a \u{fffd} b"),
            (r#""a \uDE00 b""#, "a \u{fffd} b"),
            (r#""\ud83d\ud83d\ude00\ude00""#, "\u{fffd}\u{1f600}\u{fffd}"),
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\ud83d\n\\ud83d""#, "\u{fffd}\n\\ud83d"),
            (r#""\\\ud83d\u00e9""#, "\\\u{fffd}é"),
            (r#""\\ud83d \ud83d\ude00""#, "\\ud83d \u{1f600}"),
        ];
        for (json, text) in table {
            assert_eq!(read_json::<String>(json.as_bytes()).unwrap(), text, "{json}");
        }
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for text in [
            r#""\ud83"#,
            r"\ud83d",
            r#""\ud83d"#,
            r#""\ud83d\"#,
            r#""\uzzzz""#,
            "\\",
            "",
        ] {
            assert!(read_json::<String>(text.as_bytes()).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_escapes_can_be_read(units in vec(prop_oneof![0xd7f0_u16..=0xe00f, any::<u16>()], 0..40)) {
            let escapes: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let read: String = read_json(format!("\"{escapes}\"").as_bytes()).unwrap();
            prop_assert_eq!(read, String::from_utf16_lossy(&units));
        }

        #[test]
        fn what_has_no_half_pair_is_left_alone(text in any::<String>()) {
            let units = text.encode_utf16();
            let escapes: String = units.map(|unit| format!("\\u{unit:04X}")).collect();
            for json in [serde_json::to_string(&text).unwrap(), format!("\"{escapes}\"")] {
                prop_assert_eq!(with_whole_pairs(json.as_bytes()), None);
                prop_assert_eq!(read_json::<String>(json.as_bytes()).unwrap(), text.clone());
            }
        }

        #[test]
        fn any_bytes_are_gone_through(bytes in vec(prop_oneof![Just(b'\\'), Just(b'u'), Just(b'd'), Just(b'8'), any::<u8>()], 0..60)) {
            let whole = with_whole_pairs(&bytes);
            prop_assert!(whole.is_none_or(|whole| whole.len() == bytes.len() && with_whole_pairs(&whole).is_none()));
        }
    }
}
