//! What a call of a tool looks like to people: without what looks like a secret, and no longer than can be read.
//!
//! An agent that was kept from a call asks a person about it, and what it asks leaves the machine. This is a guard rail: a secret
//! that looks like nothing is not found.

/// The longest call that is shown, in bytes.
const SHOWN_MAX_BYTES: usize = 500;
/// What stands in the place of a secret.
const MASK: &str = "[hidden]";
/// How keys of well-known providers begin; none is shorter than this by ten letters.
const PREFIXES: [&str; 14] = [
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "AIza",
    "eyJ",
];
/// The last part of a name whose value is a secret: of `API_KEY`, `--auth-token`, `dbPassword`.
const SECRET_NAMES: [&str; 10] = [
    "key",
    "apikey",
    "token",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "credential",
    "credentials",
];

/// A call of a tool, as it is shown to people.
pub(crate) fn shown_call(what: &str) -> String {
    let masked = masked(what);
    let end = masked.floor_char_boundary(SHOWN_MAX_BYTES);
    match masked.len() - end {
        0 => masked,
        cut => format!("{} … [{cut} more bytes; the transcript has them]", &masked[..end]),
    }
}

/// The text with a mask in the place of everything that looks like a secret.
fn masked(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if let Some((kept, hidden)) = secret_at(rest) {
            shown.push_str(&rest[..kept]);
            shown.push_str(MASK);
            rest = &rest[kept + hidden..];
            continue;
        }
        // A whole word at once: a secret begins with a word, never within one.
        let taken = word(rest).len().max(next.len_utf8());
        shown.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    shown
}

/// Looks for a secret in what begins here: how many bytes before it are shown, and how many it has.
fn secret_at(text: &str) -> Option<(usize, usize)> {
    if let Some(address) = text.strip_prefix("://") {
        return password_of(address).map(|(kept, hidden)| (kept + 3, hidden));
    }
    let word = word(text);
    if let Some(prefix) = PREFIXES.iter().find(|prefix| word.starts_with(**prefix)) {
        let key = run(text, |c| c.is_ascii_alphanumeric() || "_-./+=".contains(c));
        return (key >= prefix.len() + 10).then_some((prefix.len(), key - prefix.len()));
    }
    let after = &text[word.len()..];
    if ["bearer", "basic"]
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
    {
        let space = run(after, |c| c == ' ');
        let hidden = run(&after[space..], is_bare);
        return (space > 0 && hidden >= 6).then_some((word.len() + space, hidden));
    }
    let to_the_end = word.eq_ignore_ascii_case("authorization");
    if !to_the_end && !names_a_secret(word) {
        return None;
    }
    let gap = gap_to_value(word, after)?;
    let value = &after[gap..];
    let quote = run(value, |c| "\\\"'".contains(c));
    let (quoted, value) = (&value[..quote], &value[quote..]);
    let hidden = match quoted.chars().last() {
        Some(quote) => run(value, |c| c != quote && c != '\\' && c != '\n'),
        None if to_the_end => run(value, |c| !"\"'\n\\".contains(c)),
        None => run(value, is_bare),
    };
    // The name of a variable is no secret.
    (hidden > 0 && !value.starts_with('$')).then_some((word.len() + gap + quote, hidden))
}

/// What lies between a name and its value; nothing where no value follows.
fn gap_to_value(word: &str, after: &str) -> Option<usize> {
    let quote = run(after, |c| "\\\"'".contains(c));
    let space = quote + run(&after[quote..], |c| c == ' ');
    if after[space..].starts_with(['=', ':']) {
        let sign = space + 1;
        return Some(sign + run(&after[sign..], |c| c == ' '));
    }
    let is_flag = word.starts_with("--") && space > 0 && quote == 0;
    (is_flag && !after[space..].starts_with('-')).then_some(space)
}

/// The password in an address that begins here, `user:password@host`.
fn password_of(address: &str) -> Option<(usize, usize)> {
    let authority = &address[..run(address, |c| !c.is_whitespace() && !"/?#\"'".contains(c))];
    let (user, _) = authority.rsplit_once('@')?;
    let (name, password) = user.split_once(':')?;
    (!password.is_empty() && !password.starts_with('$')).then_some((name.len() + 1, password.len()))
}

/// Says whether a name, such as one of a variable, looks like one of a secret.
pub fn names_a_secret(name: &str) -> bool {
    let mut part = String::new();
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() || (was_lower && letter.is_ascii_uppercase()) {
            part.clear();
        }
        if letter.is_ascii_alphanumeric() {
            part.push(letter.to_ascii_lowercase());
        }
        was_lower = letter.is_ascii_lowercase();
    }
    SECRET_NAMES.contains(&part.as_str())
}

/// The word that begins here: letters, digits, `_` and `-`.
fn word(text: &str) -> &str {
    &text[..run(text, |c| c.is_alphanumeric() || c == '_' || c == '-')]
}

/// A letter of a value without quotes.
fn is_bare(letter: char) -> bool {
    !letter.is_whitespace() && !"\"'`;&|,)}\\".contains(letter)
}

fn run(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_hidden_and_nothing_else_is() {
        let table = [
            ("Bash: make -j4", "Bash: make -j4"),
            (
                "curl -H 'Authorization: Bearer abc.def' https://x",
                "curl -H 'Authorization: [hidden]' https://x",
            ),
            (
                "curl -H \"authorization:Token xyz\" u",
                "curl -H \"authorization:[hidden]\" u",
            ),
            ("echo Bearer abcdef123", "echo Bearer [hidden]"),
            ("x sk-ant-api03-0123456789 y", "x sk-[hidden] y"),
            (
                "git clone https://ghp_0123456789abcdef@github.com/a",
                "git clone https://ghp_[hidden]@github.com/a",
            ),
            (
                "git clone https://ada:hunter2@h/a",
                "git clone https://ada:[hidden]@h/a",
            ),
            ("API_KEY=abc make", "API_KEY=[hidden] make"),
            (
                "export DB_PASSWORD='a b;c' && run",
                "export DB_PASSWORD='[hidden]' && run",
            ),
            (
                "{\"dbPassword\": \"x y\", \"n\": 1}",
                "{\"dbPassword\": \"[hidden]\", \"n\": 1}",
            ),
            ("{\\\"token\\\":\\\"x y\\\"}", "{\\\"token\\\":\\\"[hidden]\\\"}"),
            (
                "tool --auth-token abc --jobs 4",
                "tool --auth-token [hidden] --jobs 4",
            ),
            ("tool --token=abc", "tool --token=[hidden]"),
            ("API_KEY=$API_KEY make", "API_KEY=$API_KEY make"),
            ("MONKEY=1 TOKENS=5 --keys a", "MONKEY=1 TOKENS=5 --keys a"),
            ("the key is lost", "the key is lost"),
            ("desk-top sk-1", "desk-top sk-1"),
            ("Größe=3 ключ", "Größe=3 ключ"),
        ];
        for (what, shown) in table {
            assert_eq!(shown_call(what), shown, "{what}");
        }
    }

    #[test]
    fn a_long_call_is_cut_and_says_so() {
        let shown = shown_call(&"€".repeat(1_000));
        assert!(shown.starts_with("€€") && shown.ends_with("more bytes; the transcript has them]"));
        assert!(shown.len() < 600, "{}", shown.len());
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "(?s)([a-z]{0,5}(key|token|Bearer|://|sk-)[=: \"'\\\\$@€]{0,4}){0,8}") {
            shown_call(&text);
        }

        #[test]
        fn a_value_is_hidden_wherever_it_stands(before in "[a-z '\"]{0,20}", value in "[a-zA-Z0-9]{8,40}") {
            let shown = shown_call(&format!("{before} SECRET_TOKEN={value} done"));
            prop_assert!(!shown.contains(&value), "{}", shown);
        }
    }
}
