//! The rules about words: who may print, read the environment, start git, send signals, and what nobody may write.

use super::finding::Finding;
use super::graph;
use super::source::{Kind, Source, Token};

/// A rule of words: where it does not hold, what it looks for.
struct Rule {
    /// Packages and files (by the beginning of their path) that may do it.
    homes: &'static [&'static str],
    in_tests: InTests,
    matches: fn(&[Token]) -> bool,
    what: &'static str,
    cure: &'static str,
}

#[derive(PartialEq, Eq)]
enum InTests {
    Allowed,
    Forbidden,
}

/// The scripted agent is the agent, not what drives agents: it prints, reads its arguments and commits like one.
const AGENT: &str = "crates/cs-agent-script/";
const PANEL: &str = "crates/cs-panel/";
const SHIM: &str = "crates/cs-supervise/src/shim";
const XTASK: &str = "xtask/";
/// The program that `cargo xtask sim` starts.
const SIM: &str = "crates/cs-sim/src/main.rs";
/// What stands behind the ports that a simulation replaces.
const NOT_SIMULATED: [&str; 4] = [
    PANEL,
    "crates/cs-postgres/",
    "crates/cs-sqlite/",
    "crates/cs-supervise/",
];

const RULES: [Rule; 8] = [
    Rule {
        homes: &[PANEL, SHIM, AGENT, SIM, XTASK],
        in_tests: InTests::Allowed,
        matches: |tokens| {
            let printed = ["println", "print", "eprintln", "eprint", "dbg"];
            is_macro(tokens, &printed) || is_path(tokens, "io", &["stdout", "stderr"])
        },
        what: "prints outside cs-panel",
        cure: "return it to the caller, or use `tracing`",
    },
    Rule {
        homes: &[PANEL, SHIM, AGENT, SIM, XTASK],
        in_tests: InTests::Allowed,
        matches: |tokens| {
            is_path(
                tokens,
                "env",
                &[
                    "args",
                    "args_os",
                    "var",
                    "var_os",
                    "vars",
                    "vars_os",
                    "current_dir",
                ],
            )
        },
        what: "reads the arguments or the environment outside cs-panel",
        cure: "take it as a parameter; cs-panel reads it",
    },
    Rule {
        homes: &["crates/cs-worktree/", AGENT],
        in_tests: InTests::Allowed,
        matches: |tokens| is_literal(tokens, |text| text == "\"git\""),
        what: "names the program git outside cs-worktree",
        cure: "cs-worktree has the one hardened runner: give it a typed method",
    },
    Rule {
        // A sandbox has a /proc of its own.
        homes: &["crates/cs-supervise/", "crates/cs-daemon/src/attempt/sandbox.rs"],
        in_tests: InTests::Allowed,
        matches: |tokens| {
            let calls = [
                "kill_process",
                "kill_process_group",
                "test_kill_process",
                "pidfd_send_signal",
            ];
            is_word(tokens, &calls)
                || is_method(tokens, &["kill", "start_kill"])
                || is_literal(tokens, |text| {
                    text.trim_start_matches(['b', 'c', 'r', '#'])
                        .starts_with("\"/proc")
                })
        },
        what: "signals processes or reads /proc outside cs-supervise",
        cure: "cs-supervise owns processes: identity first, then the signal",
    },
    Rule {
        homes: &[],
        in_tests: InTests::Forbidden,
        matches: |tokens| is_attribute(tokens, "ignore", None),
        what: "ignores a test",
        cure: "make the test pass everywhere, or remove it",
    },
    Rule {
        homes: &[],
        in_tests: InTests::Forbidden,
        matches: |tokens| is_macro(tokens, &["todo", "unimplemented"]),
        what: "leaves something to be done",
        cure: "do it, or return an error that says what is not there yet",
    },
    Rule {
        homes: &NOT_SIMULATED,
        in_tests: InTests::Allowed,
        matches: |tokens| {
            is_macro(tokens, &["select"]) && !tokens.get(3).is_some_and(|token| token.is_word("biased"))
        },
        what: "lets chance choose in a `select!`",
        cure: "begin it with `biased;`, with what must not wait first: a simulation goes the same way twice",
    },
    Rule {
        homes: &[],
        in_tests: InTests::Forbidden,
        matches: |tokens| is_attribute(tokens, "allow", Some('(')),
        what: "allows what a lint forbids",
        cure: "use `#[expect(lint, reason = \"...\")]`: it complains when it is no longer needed",
    },
];

/// All findings about the words of one file.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    if source.path.ends_with("/mod.rs") {
        let cure = "name the file after the module: `foo.rs` beside `foo/`";
        findings.push(source.finding(1, "a file named mod.rs".to_owned(), cure));
    }
    let uses_testkit = |tokens: &[Token]| is_word(tokens, &["cs_testkit"]);
    for from in 0..source.tokens.len() {
        let tokens = &source.tokens[from..];
        let line = tokens[0].line();
        for rule in &RULES {
            let at_home = rule.homes.iter().any(|home| source.path.starts_with(home));
            let excused = rule.in_tests == InTests::Allowed && source.is_test(line);
            if !at_home && !excused && (rule.matches)(tokens) {
                findings.push(source.finding(line, rule.what.to_owned(), rule.cure));
            }
        }
        if uses_testkit(tokens) && graph::testkit_rests_on(source.package()) && !source.is_test_file() {
            let what = format!(
                "{} uses cs-testkit inside, and cs-testkit rests on it",
                source.package()
            );
            findings.push(source.finding(line, what, "move the test to the package's `tests` directory"));
        }
    }
    findings
}

fn is_word(tokens: &[Token], words: &[&str]) -> bool {
    matches!(&tokens[0].kind, Kind::Word(text) if words.contains(&text.as_str()))
}

fn is_macro(tokens: &[Token], names: &[&str]) -> bool {
    let [_, mark, open, ..] = tokens else { return false };
    is_word(tokens, names) && mark.is_mark('!') && ['(', '[', '{'].iter().any(|mark| open.is_mark(*mark))
}

/// `module::name`, also with the name anywhere in a list of imports.
fn is_path(tokens: &[Token], module: &str, names: &[&str]) -> bool {
    let [first, colon, second, rest @ ..] = tokens else {
        return false;
    };
    if !(first.is_word(module) && colon.is_mark(':') && second.is_mark(':')) {
        return false;
    }
    let listed = match rest {
        [open, list @ ..] if open.is_mark('{') => {
            list.split(|token| token.is_mark('}')).next().unwrap_or(list)
        }
        [name, ..] => std::slice::from_ref(name),
        [] => &[],
    };
    listed
        .iter()
        .any(|token| names.iter().any(|name| token.is_word(name)))
}

fn is_method(tokens: &[Token], names: &[&str]) -> bool {
    let [dot, name, open, ..] = tokens else {
        return false;
    };
    dot.is_mark('.') && is_word(std::slice::from_ref(name), names) && open.is_mark('(')
}

fn is_literal(tokens: &[Token], fits: impl Fn(&str) -> bool) -> bool {
    matches!(&tokens[0].kind, Kind::Literal(text) if fits(text))
}

/// An attribute, also one inside `cfg_attr`, that holds this word, followed by `next` where that is given.
fn is_attribute(tokens: &[Token], word: &str, next: Option<char>) -> bool {
    let inside = match tokens {
        [hash, bang, open, rest @ ..] if hash.is_mark('#') && bang.is_mark('!') && open.is_mark('[') => rest,
        [hash, open, rest @ ..] if hash.is_mark('#') && open.is_mark('[') => rest,
        _ => return false,
    };
    let inside = inside.split(|token| token.is_mark(']')).next().unwrap_or(inside);
    let at_head = |position: usize| {
        position == 0 || (inside[0].is_word("cfg_attr") && inside[position - 1].is_mark(','))
    };
    inside.iter().enumerate().any(|(position, token)| {
        let follows =
            next.is_none_or(|next| inside.get(position + 1).is_some_and(|token| token.is_mark(next)));
        token.is_word(word) && follows && at_head(position)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let source = Source::parse(path, text).unwrap();
        check(&source).into_iter().map(|finding| finding.line).collect()
    }

    /// Found in a crate of the house, not in its tests, not in the rule's home.
    #[track_caller]
    fn check_rule(statement: &str, homes: &[&str]) {
        let text = format!("fn f() {{\n    {statement}\n}}");
        assert_eq!(lines("crates/cs-record/src/x.rs", &text), [2], "{statement}");
        let tests = format!("#[cfg(test)]\nmod tests {{\n{text}\n}}");
        assert_eq!(lines("crates/cs-record/src/x.rs", &tests), NONE, "{statement}");
        assert_eq!(lines("crates/cs-record/tests/x.rs", &text), NONE, "{statement}");
        assert_eq!(
            lines("crates/cs-record/examples/x.rs", &text),
            NONE,
            "{statement}"
        );
        for home in homes {
            assert_eq!(lines(home, &text), NONE, "{statement} in {home}");
        }
    }

    const PRINTERS: [&str; 4] = [
        "crates/cs-panel/src/x.rs",
        "crates/cs-supervise/src/shim/x.rs",
        "crates/cs-agent-script/src/x.rs",
        "xtask/src/x.rs",
    ];

    #[test]
    fn printing_belongs_to_cs_panel() {
        for statement in [
            "println!();",
            "eprint!(\"x\");",
            "dbg![1];",
            "std::io::stdout().lock();",
        ] {
            check_rule(statement, &PRINTERS);
        }
        check_rule("use std::io::{Write, stderr};", &PRINTERS);
        assert_eq!(
            lines("crates/cs-supervise/src/stop.rs", "fn f() { println!() }"),
            [1]
        );
    }

    #[test]
    fn arguments_and_environment_belong_to_cs_panel() {
        for statement in [
            "std::env::args();",
            "env::var_os(\"X\");",
            "use std::env::{self, vars};",
        ] {
            check_rule(statement, &PRINTERS);
        }
        assert_eq!(
            lines("crates/cs-record/src/x.rs", "fn f() { env!(\"X\"); env.args(); }"),
            NONE
        );
    }

    #[test]
    fn a_select_is_biased() {
        check_rule("tokio::select! { () = a => {} }", &[]);
        let fine = "fn f() { tokio::select! { biased; () = a => {} } }";
        assert_eq!(lines("crates/cs-record/src/x.rs", fine), NONE);
    }

    #[test]
    fn git_belongs_to_cs_worktree() {
        let homes = ["crates/cs-worktree/src/x.rs", "crates/cs-agent-script/src/x.rs"];
        check_rule("Command::new(\"git\");", &homes);
        assert_eq!(
            lines(
                "crates/cs-record/src/x.rs",
                "/// Runs \"git\".\nconst X: &str = \".git\";"
            ),
            NONE
        );
    }

    #[test]
    fn signals_and_proc_belong_to_cs_supervise() {
        let homes = ["crates/cs-supervise/src/x.rs"];
        for statement in [
            "rustix::process::kill_process(p, s);",
            "child.kill();",
            "read(\"/proc/self/stat\");",
        ] {
            check_rule(statement, &homes);
        }
    }

    #[test]
    fn nobody_ignores_allows_or_leaves_to_be_done_not_even_tests() {
        let cases = [
            "#[ignore]\nfn f() {}",
            "#[ignore = \"slow\"]\nfn f() {}",
            "#[cfg_attr(miri, ignore)]\nfn f() {}",
            "#![allow(dead_code)]",
            "#[cfg_attr(test, allow(dead_code))]\nfn f() {}",
            "fn f() { todo!() }",
            "fn f() { unimplemented!(\"x\") }",
        ];
        for text in cases {
            for path in [
                "crates/cs-panel/src/x.rs",
                "crates/cs-panel/tests/x.rs",
                "tests/it/x.rs",
                "xtask/src/x.rs",
            ] {
                assert_eq!(lines(path, text), [1], "{text} in {path}");
            }
        }
        let fine = "#[expect(dead_code, reason = \"x\")]\nfn ignore(allow: u8) { f(\"todo!()\") }";
        assert_eq!(lines("crates/cs-panel/src/x.rs", fine), NONE);
    }

    #[test]
    fn a_module_is_named_by_its_file() {
        assert_eq!(lines("crates/cs-panel/src/x/mod.rs", ""), [1]);
    }

    #[test]
    fn what_cs_testkit_rests_on_uses_it_from_its_tests_directory_only() {
        let text = "#[cfg(test)]\nmod tests {\n    use cs_testkit::memory;\n}";
        assert_eq!(lines("crates/cs-record/src/x.rs", text), [3]);
        assert_eq!(lines("crates/cs-record/tests/x.rs", text), NONE);
        assert_eq!(lines("crates/cs-sqlite/src/x.rs", text), NONE);
    }
}
