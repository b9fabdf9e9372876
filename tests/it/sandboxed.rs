//! Every harness in the sandbox of a codebase: the real binary, the real bubblewrap, and agents that are scripts of an interpreter in
//! the home, as those of Node and Python are.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::desk::Desk;
use crate::sandbox::bubblewrap::furnished;

/// What the scripts that speak for an agent answer with.
const WORDS: &str = "PONG: the final answer.";

/// What an agent tries: a word for each thing that it could do.
const PROBE: &str = r#"case "$1 $2" in
    --version*) echo 2.1.332; exit ;;
    "auth status") echo '{"loggedIn": true}'; exit ;;
    "login status") exit ;;
esac
here=$(dirname "$(readlink -f "$0")")
can=
try() { what=$1; shift; if "$@" >/dev/null 2>&1; then can="$can$what; "; fi; }
try "write the tree" sh -c 'echo made >made.txt && git add made.txt && git commit -qm made'
try "read its package" cat "$here/answer"
try "make a temporary file" mktemp
try "keep its own" sh -c 'echo kept >>"$0"' "$HOME/KEPT"
try "write outside" sh -c 'echo x >"$0/repo/outside.txt"' DESK
try "read the state" cat DESK/state/record.db
try "read another tree" cat OTHER/secret-of-another-card
try "write another tree" sh -c 'echo x >"$0/written"' OTHER
try "read the home" cat "$HOME/private.txt"
{ echo changed >>"$HOME/SETTINGS"; echo made >>"$HOME/MADE"; } 2>/dev/null
"#;
const ALL: [&str; 9] = [
    "write the tree",
    "read its package",
    "make a temporary file",
    "keep its own",
    "write outside",
    "read the state",
    "read another tree",
    "write another tree",
    "read the home",
];

/// A harness, where its agent keeps what is its own, the settings that it has and some that it has not, and how its script speaks.
struct Kind {
    harness: &'static str,
    keeps: &'static str,
    settings: &'static str,
    made: &'static str,
    answer: &'static str,
    speaks: &'static str,
}

const SAYS_LINES: &str = r#"cat >/dev/null; sed "s/PONG: the final answer\./$can/" "$here/answer""#;
const KINDS: [Kind; 6] = [
    Kind {
        harness: "claude",
        keeps: ".claude/.credentials.json",
        settings: ".claude/settings.json",
        made: ".claude/CLAUDE.md",
        answer: include_str!("../../crates/cs-harness/tests/captures/claude/text.jsonl"),
        speaks: SAYS_LINES,
    },
    Kind {
        harness: "codex",
        keeps: ".codex/auth.json",
        settings: ".codex/config.toml",
        made: ".codex/hooks.json",
        answer: include_str!("../../crates/cs-harness/tests/captures/codex/text.jsonl"),
        speaks: SAYS_LINES,
    },
    Kind {
        harness: "opencode",
        keeps: ".local/share/opencode/auth.json",
        settings: ".config/opencode/opencode.json",
        made: ".config/opencode/AGENTS.md",
        answer: include_str!("../../crates/cs-harness/tests/captures/opencode/text.jsonl"),
        speaks: SAYS_LINES,
    },
    Kind {
        harness: "pi",
        keeps: ".pi/agent/auth.json",
        settings: ".pi/agent/settings.json",
        made: ".pi/agent/SYSTEM.md",
        answer: include_str!("../../crates/cs-harness/tests/captures/pi-1.6/text.jsonl"),
        speaks: SAYS_LINES,
    },
    Kind {
        harness: "acp",
        keeps: ".gemini/oauth.json",
        settings: ".gemini/settings.json",
        made: ".gemini/GEMINI.md",
        answer: WORDS,
        speaks: r#"hear() { read -r line || exit 9; }
say() { printf '%s\n' "$1"; }
hear; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"scripted","version":"1.2"}}}'
hear; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}'
hear; say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$can"'"}}}}'
say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'; hear"#,
    },
    Kind {
        harness: "plain",
        keeps: "kept.txt",
        settings: "settings.txt",
        made: "made.txt",
        answer: WORDS,
        speaks: r#"cat >/dev/null; echo "$can""#,
    },
];

/// Installs an agent as package managers do, behind a link and with an interpreter that lies in the home as well.
fn install(desk: &Desk, kind: &Kind, other: &str) {
    let home = desk.path("home");
    let package = home.join("apps/node_modules").join(kind.harness);
    let interpreter = home.join("opt/own/bin");
    for dir in [
        &package,
        &interpreter,
        &home.join("opt/own/lib"),
        &home.join("links"),
    ] {
        fs::create_dir_all(dir).expect("made");
    }
    if !interpreter.join("ownsh").exists() {
        fs::copy("/bin/sh", interpreter.join("ownsh")).expect("copied");
    }
    for file in [kind.keeps, kind.settings] {
        let file = home.join(file);
        fs::create_dir_all(file.parent().expect("a directory")).expect("made");
        if !file.exists() {
            fs::write(&file, "").expect("written");
        }
    }
    let probe = PROBE.replace("DESK", &desk.path("").display().to_string());
    let probe = probe.replace("OTHER", other).replace("KEPT", kind.keeps);
    let probe = probe
        .replace("SETTINGS", kind.settings)
        .replace("MADE", kind.made);
    let program = package.join("cli");
    fs::write(
        &program,
        format!("#!/usr/bin/env ownsh\n{probe}{}\n", kind.speaks),
    )
    .expect("written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
    fs::write(package.join("answer"), kind.answer).expect("written");
    symlink(
        format!("../apps/node_modules/{}/cli", kind.harness),
        home.join("links").join(kind.harness),
    )
    .expect("linked");
    let link = home.join("links").join(kind.harness).display().to_string();
    let mut add = vec!["agent", "add", kind.harness, "--harness", kind.harness];
    if kind.harness != "plain" {
        add.extend(["--permissions", "full"]);
    }
    desk.ok(&[&add[..], &["--", &link]].concat());
    let path = desk
        .plain("sh")
        .args(["-c", "printf %s \"$PATH\""])
        .output()
        .expect("it runs");
    let path = String::from_utf8(path.stdout).expect("UTF-8");
    let path = format!("{}:{path}", interpreter.display());
    // It is there, and in a sandbox it is not.
    let temporary = desk.path("outside").display().to_string();
    desk.configure(&format!(
        "[agents.{}.env]\nPATH = \"{path}\"\nTMPDIR = \"{temporary}\"\n",
        kind.harness
    ));
}

/// What the agent found that it can do.
fn can(desk: &Desk, kind: &Kind) -> Vec<String> {
    let sent = desk.json(&["send", "--agent", kind.harness, "Try everything"]);
    let card = sent["card"].as_str().expect("a card").to_owned();
    desk.run_once();
    let said = desk.said_by(&card, "agent");
    assert_eq!(said.len(), 1, "{}: {}", kind.harness, desk.card(&card));
    let can = said[0].split("; ").map(str::trim).filter(|what| !what.is_empty());
    can.map(|what| what.trim_end_matches(';').to_owned()).collect()
}

#[test]
fn in_a_sandbox_an_agent_of_any_harness_does_its_work_and_nothing_else() {
    let (desk, other) = furnished();
    for kind in &KINDS {
        install(&desk, kind, &other);
    }
    let outside = desk.path("repo/outside.txt");
    let written = std::path::Path::new(&other).join("written");
    let plain = &KINDS[KINDS.len() - 1];
    assert_eq!(can(&desk, plain), ALL, "the probe sees without a sandbox");
    let (settings, made) = (desk.path("home/settings.txt"), desk.path("home/made.txt"));
    for file in [&outside, &written, &settings, &made] {
        assert_ne!(fs::read(file).expect("it was written without a sandbox"), b"");
        fs::remove_file(file).expect("removed");
    }
    fs::write(&settings, "").expect("written");
    desk.ok(&["codebase", "set", "repo", "--sandbox", "bwrap"]);
    for kind in &KINDS {
        let expected = if kind.harness == "plain" {
            &ALL[..3]
        } else {
            &ALL[..4]
        };
        let mut can = can(&desk, kind);
        if kind.harness == "plain" {
            // It keeps nothing of its own: what it writes in the home is gone with its sandbox.
            can.retain(|what| what != "keep its own");
        }
        // Once each: the plain one without its sandbox, the others in it.
        let kept = fs::read_to_string(desk.path("home").join(kind.keeps)).expect("there");
        assert_eq!(kept, "kept\n", "{}", kind.harness);
        assert_eq!(can, expected, "{}", kind.harness);
        // What stands for settings that are not there says nothing.
        for (file, nothing) in [(kind.settings, ""), (kind.made, "{}")] {
            let now = fs::read_to_string(desk.path("home").join(file)).unwrap_or_default();
            assert!(
                now.is_empty() || now == nothing,
                "{}: {file} says {now:?}",
                kind.harness
            );
        }
        assert!(!outside.exists() && !written.exists(), "{}", kind.harness);
    }
    desk.no_process_is_left();
}
