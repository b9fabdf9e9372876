//! What `git push --porcelain` and a remote say, read and made fit to be shown.
//!
//! What became of a ref is in the porcelain lines. Why a connection failed is in no exit code and in no porcelain line: the
//! untranslated text of git and ssh is all there is, and what it does not tell is [`Verdict::Other`].

use std::ffi::OsString;

use bstr::ByteSlice;

use super::Verdict;

/// Words that are shown, at most.
const WORDS_MAX_BYTES: usize = 2_000;
const WORDS_MAX_LINES: usize = 20;
/// A shorter part of a URL is no secret that could be told from ordinary words.
const SECRET_MIN_BYTES: usize = 3;

/// Whoever uses a token gives it as the user, too; a shorter one is somebody's name.
const TOKEN_MIN_BYTES: usize = 12;

/// The line of the one ref that was pushed: `<flag>\t<from>:<to>\t<summary>`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Status {
    flag: u8,
    summary: String,
    /// What the ref was, abbreviated, where it moved.
    pub(super) old: Option<String>,
}

pub(super) fn status(stdout: &[u8]) -> Option<Status> {
    stdout.lines().find_map(|line| {
        let fields: Vec<&[u8]> = line.splitn_str(3, "\t").collect();
        let [[flag], _, summary] = fields[..] else {
            return None;
        };
        let summary = summary.to_str_lossy().into_owned();
        let is_hex = |text: &&str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
        let old = summary.split_once("..").map(|(old, _)| old).filter(is_hex);
        Some(Status {
            flag: *flag,
            old: old.map(str::to_owned),
            summary,
        })
    })
}

/// Why a remote did not take a ref, in its own words: none of these is a rule of it.
const REF_TROUBLE: [&str; 6] = [
    "failed to update ref",
    "failed to lock",
    "cannot lock ref",
    "already exists",
    "transaction failed",
    "incorrect old value",
];
const REMOTE_TROUBLE: [&str; 3] = ["unpacker error", "internal", "failed to report status"];

pub(super) fn of_status(status: &Status, words: Words) -> Verdict {
    let summary = status.summary.to_lowercase();
    let says = |any: &[&str]| any.iter().any(|text| summary.contains(text));
    match status.flag {
        b' ' | b'*' => Verdict::Published,
        b'=' => Verdict::UpToDate,
        b'!' if says(&["non-fast-forward", "fetch first", "needs force", "stale info"]) => {
            Verdict::NonFastForward
        }
        b'!' if says(&REF_TROUBLE) => Verdict::RefConflict {
            words: words.of_remote(),
        },
        b'!' if says(&REMOTE_TROUBLE) => Verdict::Other { words: words.all() },
        b'!' if says(&["[remote rejected]"]) => Verdict::Protected {
            words: words.of_rule(&status.summary),
        },
        _ => Verdict::Other { words: words.all() },
    }
}

const AUTH: [&str; 11] = [
    "authentication failed",
    "terminal prompts disabled",
    "could not read username",
    "could not read password",
    "permission denied",
    "host key verification failed",
    "error: 401",
    "error: 403",
    "invalid username or",
    "access denied",
    "unable to read askpass response",
];
const TIMEOUT: [&str; 3] = ["timed out", "operation too slow", "timeout"];
const UNREACHABLE: [&str; 11] = [
    "could not resolve host",
    "failed to connect",
    "couldn't connect",
    "connection refused",
    "unable to connect",
    "no route to host",
    "network is unreachable",
    "does not appear to be a git repository",
    "not found",
    "does not exist",
    "could not read from remote repository",
];

/// A push that ended before any ref was spoken of.
pub(super) fn of_failure(words: Words) -> Verdict {
    let text = words.text.to_lowercase();
    let says = |any: &[&str]| any.iter().any(|part| text.contains(part));
    if says(&AUTH) {
        Verdict::Auth { words: words.all() }
    } else if says(&TIMEOUT) {
        Verdict::Timeout { limit: None }
    } else if says(&UNREACHABLE) {
        Verdict::Unreachable { words: words.all() }
    } else {
        Verdict::Other { words: words.all() }
    }
}

/// What was written to standard error, without secrets.
#[derive(Debug)]
pub(super) struct Words {
    text: String,
}

impl Words {
    /// Cleans a text: no control characters, nothing of the remote's addresses, no user or password of any other.
    pub(super) fn new(stderr: &[u8], urls: &[OsString]) -> Self {
        let text = stderr.to_str_lossy();
        // A line that is written over itself: the last state counts.
        let lines = text
            .lines()
            .map(|line| line.rsplit('\r').find(|part| !part.is_empty()).unwrap_or(line));
        let mut text = lines.map(without_controls).collect::<Vec<_>>().join("\n");
        let mut known: Vec<String> = urls
            .iter()
            .flat_map(|url| secrets(&url.to_string_lossy()))
            .collect();
        known.sort_by_key(|part| std::cmp::Reverse(part.len()));
        for part in known {
            text = text.replace(&part, "[remote]");
        }
        Self {
            text: without_userinfo(&text),
        }
    }

    fn all(&self) -> String {
        capped(self.text.lines().map(str::trim_end))
    }

    /// What the other side said.
    fn of_remote(&self) -> String {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix("remote:"));
        capped(lines.map(str::trim))
    }

    /// The same, with the reason that stands with the ref.
    fn of_rule(&self, summary: &str) -> String {
        let reason = summary.split_once("] ").map_or(summary, |(_, reason)| reason);
        let reason = without_userinfo(&without_controls(reason));
        let said = self.of_remote();
        capped(std::iter::once(reason.trim_matches(['(', ')'])).chain(said.lines()))
    }
}

fn capped<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for line in lines.filter(|line| !line.is_empty()).take(WORDS_MAX_LINES) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(line);
        if text.len() > WORDS_MAX_BYTES {
            let end = text.floor_char_boundary(WORDS_MAX_BYTES);
            text.truncate(end);
            break;
        }
    }
    text
}

/// Drops control characters, and the sequences by which a terminal is coloured.
fn without_controls(line: &str) -> String {
    let mut clean = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // A sequence ends with a letter.
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else if c == '\t' {
            clean.push(' ');
        } else if !c.is_control() {
            clean.push(c);
        }
    }
    clean
}

/// The address itself, as git may print it, and what of it may be a secret wherever it stands.
fn secrets(url: &str) -> Vec<String> {
    let mut parts = vec![url.to_owned()];
    if let Some((scheme, rest)) = url.split_once("://")
        && let Some((user, host)) = rest.rsplit_once('@')
    {
        parts.push(format!("{scheme}://{host}"));
        parts.push(user.to_owned());
        if let Some((name, password)) = user.split_once(':') {
            parts.push(password.to_owned());
            parts.extend((name.len() >= TOKEN_MIN_BYTES).then(|| name.to_owned()));
        }
    }
    parts.retain(|part| part.len() >= SECRET_MIN_BYTES && part != "git");
    parts
}

/// Takes `user:password@` out of every URL.
fn without_userinfo(text: &str) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        clean.push_str(before);
        let is_end = |c: char| c.is_whitespace() || matches!(c, '/' | '\'' | '"' | '<' | '>');
        let authority = &after[..after.find(is_end).unwrap_or(after.len())];
        rest = &after[authority.rfind('@').map_or(0, |at| at + 1)..];
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Words {
        let url = "https://ann:s3cret/word@example.org/x.git";
        Words::new(text.as_bytes(), &[url.into()])
    }

    #[test]
    fn the_table_of_what_a_remote_says_of_a_ref() {
        let no = String::new();
        let cases = [
            (" \ta:b\t0123abc..4567def", Verdict::Published),
            ("*\ta:b\t[new branch]", Verdict::Published),
            ("=\ta:b\t[up to date]", Verdict::UpToDate),
            ("!\ta:b\t[rejected] (fetch first)", Verdict::NonFastForward),
            ("!\ta:b\t[rejected] (non-fast-forward)", Verdict::NonFastForward),
            (
                "!\ta:b\t[remote rejected] (non-fast-forward)",
                Verdict::NonFastForward,
            ),
            (
                "!\ta:b\t[remote rejected] (failed to update ref)",
                Verdict::RefConflict { words: no.clone() },
            ),
            (
                "!\ta:b\t[remote rejected] (unpacker error)",
                Verdict::Other { words: no.clone() },
            ),
            (
                "+\ta:b\t0123abc...4567def (forced update)",
                Verdict::Other { words: no },
            ),
            (
                "!\ta:b\t[remote rejected] (protected branch hook declined)",
                Verdict::Protected {
                    words: "protected branch hook declined".into(),
                },
            ),
        ];
        for (line, expected) in cases {
            let found = status(format!("To somewhere\n{line}\nDone\n").as_bytes()).unwrap();
            assert_eq!(of_status(&found, words("")), expected, "{line}");
        }
        assert_eq!(
            status(b"To x\n \ta:b\t0123abc..4567def\n")
                .unwrap()
                .old
                .as_deref(),
            Some("0123abc")
        );
        assert_eq!(status(b"Done\n"), None);
    }

    #[test]
    fn the_table_of_why_a_connection_fails() {
        let cases = [
            (
                "fatal: could not read Username for 'https://x': terminal prompts disabled",
                "auth",
            ),
            (
                "git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.",
                "auth",
            ),
            (
                "fatal: unable to access 'https://x/': The requested URL returned error: 403",
                "auth",
            ),
            (
                "fatal: unable to access 'x': Could not resolve host: x",
                "unreachable",
            ),
            (
                "ssh: connect to host x port 22: Connection timed out\nfatal: Could not read from remote",
                "timeout",
            ),
            ("fatal: 'x' does not appear to be a git repository", "unreachable"),
            ("fatal: the remote end hung up unexpectedly", "other"),
        ];
        for (text, expected) in cases {
            let verdict = serde_json::to_value(of_failure(words(text))).unwrap();
            let name = verdict.as_object().unwrap().keys().next().unwrap();
            assert_eq!(name, expected, "{text}");
        }
    }

    #[test]
    fn no_word_holds_a_password_or_a_control_character() {
        let text = "fatal: unable to access 'https://ann:s3cret/word@example.org/x.git'\nremote: see https://bob:hush@host/y \
                    and ann\nremote: \x1b[31mred\x1b[0m\x07 s3cret/word\nprogress 1\rprogress 2";
        let shown = words(text).all();
        for secret in ["s3cret", "hush", "bob", "\x1b", "\x07", "progress 1"] {
            assert!(!shown.contains(secret), "{secret}: {shown}");
        }
        assert!(
            shown.contains("https://host/y") && shown.contains("red"),
            "{shown}"
        );
        let many = words(&"remote: word word word\n".repeat(1000));
        assert!(many.of_remote().lines().count() <= WORDS_MAX_LINES);
        assert!(words(&"é".repeat(5000)).all().len() <= WORDS_MAX_BYTES);
    }
}
