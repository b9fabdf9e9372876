use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use zeroize::Zeroizing;

use super::*;

fn redactor(secrets: &[(&str, &str)]) -> Redactor {
    let secrets: Vec<(SecretName, SecretValue)> = secrets
        .iter()
        .map(|(name, value)| {
            let value = SecretValue::new(Zeroizing::new((*value).to_owned())).unwrap();
            (name.parse().unwrap(), value)
        })
        .collect();
    Redactor::new(secrets.iter().map(|(name, value)| (name, value))).unwrap()
}

#[track_caller]
fn check(value: &str, text: &str, freed: &str) {
    assert_eq!(redactor(&[("KEY", value)]).redact(text), freed, "in {text}");
}

#[test]
fn a_value_is_found_literally_and_with_escapes() {
    check("hunter22", "it is hunter22.", "it is [secret KEY].");
    check("a\"b\\c/d", r#"{"x":"a\"b\\c/d"}"#, r#"{"x":"[secret KEY]"}"#);
    check("a\"b\\c/d", r#"{"x":"a\"b\\c\/d"}"#, r#"{"x":"[secret KEY]"}"#);
    // JSON in JSON, and other ways to escape.
    check(
        "a\"b\\cde",
        r#"{\"x\":\"a\\\"b\\\\cde\"}"#,
        r#"{\"x\":\"[secret KEY]\"}"#,
    );
    check("pä<ss&wort", r"p\u00e4\u003Css\u0026wort", "[secret KEY]");
    check("a b/c+d", "?k=a%20b%2Fc%2bd&", "?k=[secret KEY]&");
    check("a b/c+d", "?k=a+b%2fc%2Bd&", "?k=[secret KEY]&");
    check("a b/c+d", "a b/c+d", "[secret KEY]");
}

#[test]
fn a_value_is_found_in_base64() {
    let value = "s3cret??>>";
    check(value, &STANDARD.encode(value), "[secret KEY]");
    check(value, &URL_SAFE.encode(value), "[secret KEY]");
    check(value, &URL_SAFE_NO_PAD.encode(value), "[secret KEY]");
    check(value, &STANDARD.encode(value).replace('/', "\\/"), "[secret KEY]");
    let in_url = STANDARD.encode(value).replace('/', "%2F").replace('=', "%3D");
    check(value, &in_url, "[secret KEY]");
    // `user:` are five bytes before it: the letter that they share with it stays.
    let header = STANDARD.encode(format!("user:{value}"));
    check(value, &header, &format!("{}[secret KEY]", &header[..7]));
}

#[test]
fn a_value_that_was_wrapped_is_found() {
    check("hunter22", "hun\nter22", "[secret KEY]");
    check("hunter22", "> hun\r\n    ter22 <", "> [secret KEY] <");
    check(
        "-- a --\n  b c\n-- d --\n",
        "x -- a --\n  b c\n-- d --\ny",
        "x [secret KEY]\ny",
    );
    check(
        "-- a --\n  b c\n-- d --\n",
        r"x -- a --\n  b c\n-- d --\ny",
        r"x [secret KEY]\ny",
    );
    let encoded = STANDARD.encode("a long value ".repeat(20));
    let lines: Vec<&str> = (0..encoded.len())
        .step_by(76)
        .map(|at| &encoded[at..encoded.len().min(at + 76)])
        .collect();
    let wrapped = format!("{}\nafter", lines.join("\n"));
    let freed = redactor(&[("KEY", &"a long value ".repeat(20))]).redact(&wrapped);
    assert!(
        freed.starts_with("[secret KEY]") && freed.ends_with("\nafter"),
        "{freed}"
    );
    assert!(freed.len() < 30, "{freed}");
}

#[test]
fn of_two_that_overlap_the_first_gives_its_name() {
    let both = redactor(&[("LONG", "token-123456"), ("SHORT", "123456")]);
    assert_eq!(both.redact("token-123456 123456"), "[secret LONG] [secret SHORT]");
    assert_eq!(
        redactor(&[("KEY", "ababab")]).redact("xababababx"),
        "x[secret KEY]x"
    );
}

#[test]
fn of_a_text_that_was_cut_the_halves_go_too() {
    let redactor = redactor(&[("KEY", "0123456789abcdef")]);
    let text = "[the first 9 bytes are cut]\n6789abcdef rest\nand 012345678";
    assert_eq!(
        redactor.redact_cut(text),
        "[the first 9 bytes are cut]\n[secret KEY] rest\nand [secret KEY]"
    );
    assert_eq!(
        redactor.redact_cut("cdef and 01234"),
        "cdef and 01234",
        "too short to tell"
    );
}

#[test]
fn without_secrets_a_text_stays() {
    let none = redactor(&[]);
    assert_eq!(none.redact("x\n"), "x\n");
    let mut pieces = none.pieces();
    assert_eq!(pieces.push("x\\"), "x\\");
    assert_eq!(pieces.finish(), "");
}

/// Letters that no value of these tests has, and what begins escapes.
fn other_text() -> impl Strategy<Value = String> {
    "[xyzé😀 .,:\\n\\r\\t\"]{0,12}"
}

fn value() -> impl Strategy<Value = String> {
    "[A-F0-5\"\\\\/+%&üß€]{1}[A-F0-5 \n\"\\\\/+%&=üß€]{6,20}[A-F0-5\"\\\\/%&€]{1}"
        .prop_filter("is long enough", |value| {
            SecretValue::new(Zeroizing::new(value.clone())).is_ok()
        })
}

fn percent(value: &str, space: &str) -> String {
    value
        .bytes()
        .map(|byte| match byte {
            b' ' => space.to_owned(),
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte => format!("%{byte:02x}"),
        })
        .collect()
}

fn form(value: &str, which: u8) -> String {
    let json = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_owned()
    };
    match which {
        0 => value.to_owned(),
        1 => json(value),
        2 => json(&json(value)),
        3 => percent(value, "+"),
        4 => percent(value, "%20"),
        5 => STANDARD.encode(value),
        6 => URL_SAFE_NO_PAD.encode(value),
        _ => percent(&STANDARD.encode(value), "+"),
    }
}

/// Pieces of a text, cut at any characters.
fn cut(text: &str, cuts: &[prop::sample::Index]) -> Vec<String> {
    let mut places: Vec<usize> = cuts
        .iter()
        .map(|cut| text.floor_char_boundary(cut.index(text.len() + 1)))
        .collect();
    places.extend([0, text.len()]);
    places.sort_unstable();
    places
        .windows(2)
        .map(|pair| text[pair[0]..pair[1]].to_owned())
        .collect()
}

proptest! {
    #[test]
    fn every_form_goes_and_other_text_stays(
        value in value(),
        parts in prop::collection::vec((other_text(), 0_u8..8), 1..6),
    ) {
        let redactor = redactor(&[("KEY", &value)]);
        // A line break before or after a value could be part of it.
        let parts: Vec<(String, String)> = parts
            .into_iter()
            .map(|(other, which)| (format!("{other}|"), form(&value, which)))
            .collect();
        let text: String = parts.iter().map(|(other, form)| format!("{other}{form}|")).collect();
        let freed: String = parts.iter().map(|(other, _)| format!("{other}[secret KEY]|")).collect();
        prop_assert_eq!(redactor.redact(&text), freed, "{}", text);
    }

    #[test]
    fn pieces_come_to_the_same_as_the_whole(
        values in prop::collection::vec(value(), 1..4),
        parts in prop::collection::vec((other_text(), 0_u8..8, any::<prop::sample::Index>(), 0_usize..40), 1..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let named: Vec<(String, &str)> =
            values.iter().enumerate().map(|(at, value)| (format!("KEY_{at}"), value.as_str())).collect();
        let named: Vec<(&str, &str)> = named.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let redactor = redactor(&named);
        // Whole forms, and beginnings of forms.
        let text: String = parts
            .iter()
            .map(|(other, which, whose, length)| {
                let value: &String = whose.get(&values);
                let form = form(value, *which);
                let length = form.floor_char_boundary(*length);
                format!("{other}{}", &form[..length.min(form.len())])
            })
            .collect();
        let mut pieces = redactor.pieces();
        let mut freed: String = cut(&text, &cuts).iter().map(|piece| pieces.push(piece)).collect();
        freed.push_str(&pieces.finish());
        prop_assert_eq!(freed, redactor.redact(&text), "{:?}", text);
    }

    #[test]
    fn pieces_of_anything_come_to_the_same_as_the_whole(
        value in "[ab\\\\u0%+]{6}[ab\\\\u0%+\n]{0,3}",
        text in "[ab\\\\u016%+\n\t nd8\"]{0,80}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
    ) {
        let redactor = redactor(&[("KEY", &value)]);
        let mut pieces = redactor.pieces();
        let mut freed: String = cut(&text, &cuts).iter().map(|piece| pieces.push(piece)).collect();
        freed.push_str(&pieces.finish());
        prop_assert_eq!(freed, redactor.redact(&text), "{:?}", text);
    }

    #[test]
    fn pieces_of_what_has_no_secret_are_given_back_whole(text in "(?s).{0,200}", cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let redactor = redactor(&[("KEY", "a value that is not there")]);
        let mut pieces = redactor.pieces();
        let mut freed: String = cut(&text, &cuts).iter().map(|piece| pieces.push(piece)).collect();
        freed.push_str(&pieces.finish());
        prop_assert_eq!(freed, text);
    }
}
