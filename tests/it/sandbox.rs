//! What an agent can see and change of its machine where its codebase has a sandbox: the real binary, the real bubblewrap.

use crate::desk::Desk;

#[test]
fn a_wrapper_stands_before_everything_that_runs_in_a_tree() {
    let desk = Desk::new();
    desk.ok(&["codebase", "add", "."]);
    desk.ok(&["codebase", "set", "repo", "--wrapper", "env 'WRAPPED=around it'"]);
    desk.ok(&[
        "codebase",
        "set",
        "repo",
        "--setup",
        "echo \"setup is $WRAPPED\" >setup.txt",
    ]);
    let script = "cat setup.txt; echo \"agent is $WRAPPED\"";
    desk.ok(&["agent", "add", "looks", "--", "sh", "-c", script]);
    let card = desk.send("Look");
    desk.run_once();
    assert_eq!(
        desk.said_by(&card, "agent"),
        ["setup is around it\nagent is around it"]
    );
}

#[test]
fn without_the_program_of_its_sandbox_no_agent_runs_and_the_card_says_what_to_do() {
    let desk = Desk::new();
    desk.ok(&["codebase", "add", "."]);
    desk.ok(&[
        "codebase",
        "set",
        "repo",
        "--wrapper",
        "/nowhere/no-such-sandbox --quiet",
    ]);
    desk.ok(&["agent", "add", "writes", "--", "sh", "-c", "touch ran; echo ran"]);
    let card = desk.send("Write");
    desk.run_once();
    let detail = desk.card(&card);
    assert_eq!(detail["card"]["state"], "failed");
    let reason = detail["card"]["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("needs the program `no-such-sandbox`") && reason.contains("cs-panel codebase set"),
        "{reason}"
    );
    assert_eq!(desk.said_by(&card, "agent"), [""; 0]);
}

#[cfg(feature = "bwrap-tests")]
pub(crate) mod bubblewrap {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use crate::desk::Desk;

    /// What an agent tries: one line for each thing that it could do.
    const PROBE: &str = r#"
try() { what=$1; shift; if "$@" >/dev/null 2>&1; then echo "$what"; fi; }
try "write the tree" sh -c 'echo made >made.txt && git add made.txt && git commit -qm made'
try "write the checkout" sh -c 'echo x >"$0/outside.txt"' "$REPOSITORY"
echo x 2>/dev/null >"$DESK/outside.txt"
try "read the state" sh -c 'cat "$0"/state/record.db' "$DESK"
try "read another tree" sh -c 'find "$0" -name secret-of-another-card | grep .' "$DESK"
try "read the home" cat "$HOME/private.txt"
try "read a tool of the home" cat "$HOME/.gitconfig"
try "see the daemon" sh -c 'cat /proc/[0-9]*/comm | grep -x cs-panel'
try "use a socket of the system" sh -c 'ls /run/* | grep .'
"#;

    /// A desk with things in its home, and where another card has a tree with a secret; returns that tree.
    pub(crate) fn furnished() -> (Desk, String) {
        let desk = Desk::new();
        let home = desk.path("home");
        fs::write(home.join("private.txt"), "mine\n").expect("written");
        fs::write(
            home.join(".gitconfig"),
            "[user]\n\tname = A\n\temail = a@example.org\n",
        )
        .expect("written");
        let secret = "echo hidden >secret-of-another-card; echo done";
        desk.ok(&["agent", "add", "other", "--", "sh", "-c", secret]);
        let sent = desk.json(&["send", "--agent", "other", "Keep a secret"]);
        desk.run_once();
        let tree = desk.ok(&["open", sent["card"].as_str().expect("a card")]);
        (desk, tree.trim().to_owned())
    }

    /// A desk whose agent tries everything.
    fn probing() -> Desk {
        let (desk, _) = furnished();
        let repository = desk.path("repo").display().to_string();
        let root = desk.path("").display().to_string();
        let probe = format!("REPOSITORY='{repository}' DESK='{root}'; export REPOSITORY DESK\n{PROBE}");
        desk.ok(&["agent", "add", "probe", "--", "sh", "-c", &probe]);
        desk
    }

    /// What the agent found that it can do.
    fn can(desk: &Desk) -> Vec<String> {
        let sent = desk.json(&["send", "--agent", "probe", "Try everything"]);
        let card = sent["card"].as_str().expect("a card").to_owned();
        desk.run_once();
        let said = desk.said_by(&card, "agent");
        let mut can: Vec<String> = said
            .iter()
            .flat_map(|text| text.lines())
            .map(str::to_owned)
            .collect();
        can.sort();
        can
    }

    #[test]
    fn under_bubblewrap_an_agent_writes_its_tree_and_sees_nothing_of_ours_nor_of_other_cards() {
        let desk = probing();
        let without = can(&desk);
        for what in [
            "read another tree",
            "read the home",
            "read the state",
            "see the daemon",
            "write the checkout",
        ] {
            assert!(
                without.contains(&what.to_owned()),
                "the probe sees without a sandbox: {without:?}"
            );
        }
        let outside = ["repo/outside.txt", "outside.txt"].map(|name| desk.path(name));
        for file in &outside {
            fs::remove_file(file).expect("it was written without a sandbox");
        }
        desk.ok(&[
            "codebase",
            "set",
            "repo",
            "--sandbox",
            "bwrap",
            "--setup",
            "touch made-by-setup",
        ]);
        assert_eq!(can(&desk), ["read a tool of the home", "write the tree"]);
        assert!(outside.iter().all(|file| !file.exists()));
        desk.no_process_is_left();
    }

    /// It starts the server of its tools, makes a call, and says what was answered and what it sees of its execution: the log of the server
    /// goes with the sandbox.
    const CALLS: &str = r#"cat >/dev/null
set -- $(printf %s "$CS_PANEL_TOOLS" | tr -d '[]"' | tr , ' ')
mkfifo /tmp/over
{ cat <<'END'
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"report_progress","arguments":{"text":"Half of it."}}}
END
head -c 1 /tmp/over >/dev/null; true; } | "$@" | while read -r line; do
    case $line in *'"id":2'*'"isError":false'*) echo called ;; *'"id":2'*) echo "refused: $line" ;; *) continue ;; esac
    echo >/tmp/over
done
echo $(ls "$4")
echo $(ls "$4/.." | wc -l)
cat "$4/tools.token" >/dev/null && echo may prove itself
touch "$4/tools/x" 2>/dev/null || echo writes nothing there
"#;

    #[test]
    fn under_bubblewrap_an_agent_has_its_tools_and_sees_nothing_else_of_its_execution() {
        let desk = Desk::new();
        desk.ok(&["codebase", "add", "."]);
        desk.ok(&["codebase", "set", "repo", "--sandbox", "bwrap"]);
        desk.ok(&["agent", "add", "calls", "--", "sh", "-c", CALLS]);
        let card = desk.send("Call");
        desk.run_once();
        assert_eq!(
            desk.said_by(&card, "agent"),
            ["called\ntools tools.log tools.token\n1\nmay prove itself\nwrites nothing there"]
        );
        desk.no_process_is_left();
    }

    /// As Codex makes one for what it runs.
    #[test]
    fn under_bubblewrap_an_agent_reads_what_is_attached_and_changes_none_of_it() {
        let desk = Desk::new();
        desk.ok(&["codebase", "add", "."]);
        desk.ok(&["codebase", "set", "repo", "--sandbox", "bwrap"]);
        let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let file = desk.path("outside/all bytes.bin");
        fs::write(&file, &bytes).expect("written");
        let tries = format!(
            "for dir in '{}'/attachments/*/; do cp \"$dir\"* copy.bin; {{ echo x >>\"$dir/all bytes.bin\"; }} 2>/dev/null && echo changed >copy.bin; \
             {{ echo x >\"$dir/made\"; }} 2>/dev/null && echo made >copy.bin; done; echo done",
            desk.state().display()
        );
        desk.ok(&["agent", "add", "copies", "--", "sh", "-c", &tries]);
        let file = file.display().to_string();
        let sent = desk.json(&["send", "--attach", &file, "Copy it"]);
        let card = sent["card"].as_str().expect("an id").to_owned();
        desk.run_once();
        assert_eq!(desk.said_by(&card, "agent"), ["done"]);
        let tree = desk.ok(&["open", &card]);
        let copy = fs::read(std::path::Path::new(tree.trim()).join("copy.bin"));
        assert!(
            copy.expect("it was copied") == bytes,
            "byte for byte, and not changed"
        );
        desk.no_process_is_left();
    }

    #[test]
    fn an_agent_can_make_a_sandbox_of_its_own_where_it_could_without_one() {
        let desk = Desk::new();
        let make = "bwrap --unshare-user --ro-bind / / echo I run";
        let without = desk.plain("sh").args(["-c", make]).output().expect("it runs");
        desk.ok(&["codebase", "add", "."]);
        desk.ok(&["codebase", "set", "repo", "--sandbox", "bwrap"]);
        desk.ok(&["agent", "add", "inner", "--", "sh", "-c", &format!("{make} 2>&1")]);
        let card = desk.send("Make one");
        desk.run_once();
        let said = desk.said_by(&card, "agent").join("\n");
        assert_eq!(said == "I run", without.stdout == b"I run\n", "{said}");
    }

    #[test]
    fn a_program_that_lies_in_the_home_opens_nothing_else_of_it() {
        let desk = Desk::new();
        let program = desk.path("home/agent");
        fs::write(desk.path("home/private.txt"), "mine\n").expect("written");
        fs::write(
            &program,
            "#!/bin/sh\necho I run; cat \"$HOME/private.txt\"; true\n",
        )
        .expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
        desk.ok(&["codebase", "add", "."]);
        desk.ok(&["codebase", "set", "repo", "--sandbox", "bwrap"]);
        let program = program.display().to_string();
        desk.ok(&["agent", "add", "homely", "--", &program]);
        let card = desk.send("Look");
        desk.run_once();
        assert_eq!(desk.said_by(&card, "agent"), ["I run"]);
    }

    #[test]
    fn a_stop_ends_everything_in_a_sandbox() {
        let desk = Desk::new();
        desk.ok(&["codebase", "add", "."]);
        desk.ok(&["codebase", "set", "repo", "--sandbox", "bwrap"]);
        let script = "setsid sleep 1000 & echo up >there; sleep 1000";
        desk.ok(&["agent", "add", "sleeper", "--", "sh", "-c", script]);
        let card = desk.send("Sleep");
        let daemon = desk.daemon();
        let tree = desk.until("the tree", || {
            let path = desk.panel(&["open", &card]).output().ok()?;
            let path = String::from_utf8(path.stdout).ok()?;
            fs::exists(format!("{}/there", path.trim())).ok()?.then_some(path)
        });
        assert!(!tree.is_empty());
        desk.ok(&["stop", &card]);
        daemon.interrupt(&desk);
        desk.no_process_is_left();
    }
}
