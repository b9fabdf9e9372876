//! Whether a command is one of those that a commit needs, and does nothing besides.

use cs_harness::{COMMIT_COMMANDS, TEXT_MAX_BYTES};
use serde_json::Value;

/// A command as an agent tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// A line for a shell.
    Line(String),
    /// A program and its arguments, which no shell looks at.
    Words(Vec<String>),
    /// One that nobody can be expected to look through.
    TooLong,
}

/// A word as a shell reads it.
#[derive(Debug, PartialEq, Eq)]
struct Word {
    text: String,
    /// Where a pattern begins in it: from there on a shell may put something else.
    pattern_at: Option<usize>,
}

impl Command {
    /// Reads the command from the arguments of a tool.
    pub(crate) fn of(input: &Value) -> Option<Self> {
        let command = match input.get("command")? {
            Value::String(line) => Self::Line(line.clone()),
            Value::Array(words) => {
                let words: Option<Vec<String>> = words
                    .iter()
                    .map(|word| word.as_str().map(str::to_owned))
                    .collect();
                Self::Words(words?)
            }
            _ => return None,
        };
        Some(if command.bytes() > TEXT_MAX_BYTES {
            Self::TooLong
        } else {
            command
        })
    }

    /// How long it is.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Line(line) => line.len(),
            Self::Words(words) => words.iter().map(|word| word.len() + 1).sum(),
            Self::TooLong => 0,
        }
    }

    /// Whether it is one command of those that a commit needs. Its options may neither write to a file nor start a program.
    pub(crate) fn is_for_a_commit(&self) -> bool {
        let words = match self {
            Self::Line(line) => words(line).unwrap_or_default(),
            Self::Words(words) => words.iter().map(|word| Word::plain(word)).collect(),
            Self::TooLong => Vec::new(),
        };
        // What stands between the program and its command (another directory, a setting, an alias) makes it another one.
        let [program, name, rest @ ..] = words.as_slice() else {
            return false;
        };
        let is_plain = [program, name].iter().all(|word| word.pattern_at.is_none());
        let command = format!("{} {}", program.text, name.text);
        is_plain
            && COMMIT_COMMANDS.contains(&command.as_str())
            && !(shows_changes(&name.text) && rest.iter().any(Word::may_do_more))
    }
}

/// Whether the command can be told to write what it shows to a file, or to have a program show it.
fn shows_changes(name: &str) -> bool {
    matches!(name, "diff" | "log" | "show")
}

impl Word {
    fn plain(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            pattern_at: None,
        }
    }

    /// Whether it may be an option that writes a file or starts a program. Options can be shortened.
    fn may_do_more(&self) -> bool {
        let may_become_an_option = match self.pattern_at {
            Some(at) => at == 0 || self.text.starts_with('-'),
            None => false,
        };
        may_become_an_option
            || ["--ou", "--ext", "-o"]
                .iter()
                .any(|option| self.text.starts_with(option))
    }
}

/// The words of a line as a shell splits it; nothing where it is more than one command, or where what a word is depends on anything but
/// the line.
fn words(line: &str) -> Option<Vec<Word>> {
    let mut all = Vec::new();
    let mut word: Option<Word> = None;
    let mut rest = line.trim().chars();
    while let Some(letter) = rest.next() {
        if letter == ' ' || letter == '\t' {
            all.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_with(|| Word::plain(""));
        match letter {
            ';' | '|' | '&' | '`' | '$' | '(' | ')' | '<' | '>' | '\n' | '\r' => return None,
            '\'' => single_quoted(&mut rest, &mut word.text)?,
            '"' => double_quoted(&mut rest, &mut word.text)?,
            '\\' => word.text.push(rest.next().filter(|letter| *letter != '\n')?),
            '*' | '?' | '[' | '{' => {
                word.pattern_at.get_or_insert(word.text.len());
                word.text.push(letter);
            }
            letter => word.text.push(letter),
        }
    }
    all.extend(word);
    Some(all)
}

fn single_quoted(rest: &mut std::str::Chars<'_>, text: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            '\'' => return Some(()),
            letter => text.push(letter),
        }
    }
}

fn double_quoted(rest: &mut std::str::Chars<'_>, text: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            '"' => return Some(()),
            '$' | '`' => return None,
            '\\' => match rest.next()? {
                letter @ ('"' | '\\' | '$' | '`') => text.push(letter),
                '\n' => {}
                letter => text.extend(['\\', letter]),
            },
            letter => text.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn is_allowed(line: &str) -> bool {
        Command::Line(line.to_owned()).is_for_a_commit()
    }

    #[test]
    fn what_a_commit_needs_is_allowed_however_it_is_quoted() {
        for line in [
            "git status",
            "  git   status --short ",
            "git add -A src/*.rs *",
            "git commit -m 'Add --output; mend $x (and `y`)\n\nWhy.' --no-edit",
            "git commit -m \"It's \\\"done\\\"\" -o file",
            "git log --oneline -n 5 -- '*.rs' src/*.rs",
            "git diff HEAD~1 HEAD@{1} -C",
            "git show --no-ext-diff HEAD",
            "git ls-files -o --exclude-standard",
            "git rev-parse --git-dir",
        ] {
            assert!(is_allowed(line), "{line}");
        }
        let words = json!({"command": ["git", "commit", "-m", "a; b && c"]});
        assert!(Command::of(&words).unwrap().is_for_a_commit());
    }

    #[test]
    fn an_option_that_writes_a_file_or_starts_a_program_is_not_allowed() {
        for line in [
            "git diff --output=/etc/x",
            "git log --output /etc/x",
            "git show '--output=/etc/x'",
            "git show --out\\put=/etc/x",
            "git diff -\"-output\"=/etc/x",
            "git diff --outpu=x",
            "git diff -o x",
            "git log -p --ext-diff",
            "git diff {--output=x,HEAD}",
            "git diff *",
            "git diff --o*",
        ] {
            assert!(!is_allowed(line), "{line}");
        }
        let words = json!({"command": ["git", "diff", "--output=x"]});
        assert!(!Command::of(&words).unwrap().is_for_a_commit());
    }

    #[test]
    fn another_place_another_setting_and_another_command_are_not_allowed() {
        for line in [
            "git -c core.pager=sh log",
            "git -C /elsewhere status",
            "git --exec-path=/tmp status",
            "git --git-dir=/elsewhere/.git log",
            "git --work-tree /elsewhere add -A",
            "git grep -Osh x",
            "git st",
            "git config alias.status '!sh'",
            "GIT_EXTERNAL_DIFF=sh git diff",
            "git\tpush",
            "git commit-tree x",
            "g* status",
            "git {status,push}",
            "git",
            "",
            "git commit -m 'open",
            "git commit -m \"$(sh)\"",
            "git status # \n sh",
            "git status \\\n push",
        ] {
            assert!(!is_allowed(line), "{line}");
        }
        let long = json!({"command": format!("git commit -m {}", "x".repeat(TEXT_MAX_BYTES))});
        assert_eq!(Command::of(&long), Some(Command::TooLong));
        assert!(!Command::TooLong.is_for_a_commit());
    }

    proptest! {
        #[test]
        fn any_line_is_judged(line in "[git diff\\-\\-output=x'\"\\\\ *;$\n]{0,40}") {
            is_allowed(&line);
        }
    }
}
