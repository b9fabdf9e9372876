//! Scenarios that were asked for by number and that need an agent from its first message to its end.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::desk::Desk;

/// Scenario 23: a harness that fails after its question was taken has not failed. The question stands, no try is counted, and the
/// answer goes on in the same conversation.
#[test]
fn scenario_23_a_harness_that_fails_after_it_asked_stays_asked() {
    let ends = [
        "exit 3",
        "kill -9 $$",
        "echo '{\"type\":\"prog'; exit 0",
        "sleep 600",
    ];
    for end in ends {
        let desk = Desk::new();
        let out = desk.path("outside").display().to_string();
        let script = format!(
            r#"read -r start; printf '%s\n' "$start" >>'{out}/starts'
case $start in
    *'"wake":"answer"'*) echo '{{"type":"final","text":"Thank you."}}'; exit ;;
esac
echo '{{"type":"session","id":"the-one"}}'
echo '{{"type":"ask","question":"Which one?","choices":["a","b"]}}'
{end}"#
        );
        desk.ok(&["agent", "add", "asks", "--json-lines", "--", "sh", "-c", &script]);
        let card = desk.send("Do it");
        desk.run_once();
        desk.run_once();
        let detail = desk.card(&card);
        let run = &detail["runs"][0];
        assert_eq!(run["state"], "asked", "{end}: {detail}");
        assert_eq!(run["tries"], 0, "{end}: {detail}");
        assert_eq!(detail["card"]["state"], "open", "{end}: {detail}");
        assert_eq!(desk.lines("starts"), 1, "{end}: it waits for its answer");
        let asks = desk.json(&["asks"]);
        assert_eq!(asks.as_array().map(Vec::len), Some(1), "{end}: {asks}");
        assert_eq!(asks[0]["question"], "Which one?", "{end}: {asks}");

        desk.ok(&["answer", &card, "b"]);
        desk.run_once();
        assert_eq!(desk.said_by(&card, "agent"), ["Thank you."], "{end}");
        let starts = fs::read_to_string(desk.path("outside/starts")).expect("it started");
        let last = starts.lines().last().expect("it started again");
        assert!(last.contains("\"session\":\"the-one\""), "{end}: {last}");
        desk.no_process_is_left();
    }
}

/// Scenario 28: what nothing says may be tried again is not tried again. What Codex complained of was recorded.
#[test]
fn scenario_28_what_is_not_said_to_be_retryable_is_not_retried() {
    let recorded = [
        include_str!("../../crates/cs-harness/tests/captures/codex/ro-home.stderr"),
        include_str!("../../crates/cs-harness/tests/captures/codex/strict-config-bad.stderr"),
    ];
    for complaint in recorded {
        let desk = Desk::new();
        let out = desk.path("outside");
        fs::write(out.join("complaint"), complaint).expect("written");
        let program = out.join("agent");
        let script = format!(
            "#!/bin/sh\ncase \"$1 $2\" in\n--version*) echo 0.171.0; exit ;;\n'login status') exit ;;\nesac\n\
             cat >/dev/null; echo . >>'{0}/starts'; cat '{0}/complaint' >&2; exit 1\n",
            out.display()
        );
        fs::write(&program, script).expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("made executable");
        let program = program.display().to_string();
        desk.ok(&[
            "agent",
            "add",
            "real",
            "--harness",
            "codex",
            "--permissions",
            "full",
            "--",
            &program,
        ]);
        let card = desk.send("Do it");
        desk.run_once();
        desk.run_once();
        let detail = desk.card(&card);
        assert_eq!(desk.lines("starts"), 1, "{complaint}: {detail}");
        assert_eq!(detail["card"]["state"], "failed", "{complaint}: {detail}");
        let run = &detail["runs"][0];
        assert_eq!(run["failure"], "invalid_request", "{complaint}: {detail}");
        assert_eq!(run["tries"], 0, "{complaint}: {detail}");
        let reason = detail["card"]["reason"].as_str().expect("a reason");
        assert!(
            reason.contains("refuses how it was started") && !reason.contains("tries"),
            "{complaint}: it names no number of tries: {reason}"
        );
        desk.no_process_is_left();
    }
}
