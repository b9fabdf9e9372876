//! How each agent is started: argv, environment and files for new and resumed conversations, permissions and settings.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use cs_harness::{AgentConfig, HarnessKind, LaunchSpec, OwnSettings, Permissions, RunFacts, adapter};

const NEW: &str = "6b1f2c9e-5d0a-4b7c-9d43-0c1e2f3a4b5c";
const OLD: &str = "01a2273b-e6b4-7d43-8ec7-6f48c0bc9693";

fn facts() -> RunFacts {
    RunFacts {
        card: "K-7".to_owned(),
        run: "run-1".to_owned(),
        prompt: "do it\n".to_owned(),
        new_session: NEW.to_owned(),
        cwd: "/trees/k7".to_owned(),
        private_dir: "/executions/1".to_owned(),
        ..RunFacts::default()
    }
}

fn spec(kind: HarnessKind, argv: &[&str], facts: &RunFacts) -> LaunchSpec {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    adapter(&AgentConfig::new("agent", argv, kind).unwrap()).launch(facts)
}

fn shown(spec: &LaunchSpec) -> String {
    assert_eq!(spec.stdin, b"do it\n");
    assert!(spec.files.is_empty(), "{:?}", spec.files);
    let env = spec.env.iter().map(|(name, value)| format!("\n{name}={value}"));
    shell_words::join(&spec.argv) + &env.collect::<String>()
}

fn resumed() -> RunFacts {
    RunFacts {
        session: Some(OLD.to_owned()),
        ..facts()
    }
}

fn in_full() -> RunFacts {
    RunFacts {
        model: Some("a-model".to_owned()),
        effort: Some("high".to_owned()),
        most_turns: Some(40),
        most_micro_usd: Some(1_250_000),
        ..resumed()
    }
}

fn careful(facts: RunFacts) -> RunFacts {
    RunFacts {
        permissions: Permissions::Edit,
        settings: OwnSettings::ShutOut,
        ..facts
    }
}

#[test]
fn claude_code_with_a_new_conversation() {
    insta::assert_snapshot!(shown(&spec(HarnessKind::Claude, &["claude"], &facts())), @r#"
    claude -p --output-format stream-json --verbose --session-id 6b1f2c9e-5d0a-4b7c-9d43-0c1e2f3a4b5c --permission-mode bypassPermissions
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
    CLAUDE_CODE_MAX_RETRIES=2
    CS_PANEL_CARD=K-7
    CS_PANEL_RUN=run-1
    DISABLE_AUTOUPDATER=1
    IS_SANDBOX=1
    "#);
}

#[test]
fn claude_code_with_a_conversation_to_go_on_with_and_everything_that_can_be_chosen() {
    insta::assert_snapshot!(shown(&spec(HarnessKind::Claude, &["/opt/claude", "--verbose"], &in_full())), @r#"
    /opt/claude --verbose -p --output-format stream-json --verbose --resume 01a2273b-e6b4-7d43-8ec7-6f48c0bc9693 --model a-model --effort high --max-turns 40 --max-budget-usd 1.250000 --permission-mode bypassPermissions
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
    CLAUDE_CODE_MAX_RETRIES=2
    CS_PANEL_CARD=K-7
    CS_PANEL_RUN=run-1
    DISABLE_AUTOUPDATER=1
    IS_SANDBOX=1
    "#);
}

#[test]
fn claude_code_that_may_only_edit_without_the_settings_of_the_person() {
    insta::assert_snapshot!(shown(&spec(HarnessKind::Claude, &["claude"], &careful(facts()))), @r#"
    claude -p --output-format stream-json --verbose --session-id 6b1f2c9e-5d0a-4b7c-9d43-0c1e2f3a4b5c --strict-mcp-config --setting-sources project --permission-mode acceptEdits --allowedTools 'Bash(git add:*)' 'Bash(git commit:*)' 'Bash(git mv:*)' 'Bash(git rm:*)'
    CLAUDE_CODE_DISABLE_AUTO_MEMORY=1
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
    CLAUDE_CODE_MAX_RETRIES=2
    CS_PANEL_CARD=K-7
    CS_PANEL_RUN=run-1
    DISABLE_AUTOUPDATER=1
    "#);
}

#[test]
fn codex_with_a_new_conversation() {
    insta::assert_snapshot!(shown(&spec(HarnessKind::Codex, &["codex"], &facts())), @r#"
    codex exec --json -c 'approval_policy="never"' -c 'analytics.enabled=false' -c 'features.unbounded_connection_retries=false' -c 'sandbox_mode="danger-full-access"' --skip-git-repo-check -C /trees/k7 -
    CS_PANEL_CARD=K-7
    CS_PANEL_RUN=run-1
    "#);
}

#[test]
fn codex_with_a_conversation_to_go_on_with_and_everything_that_can_be_chosen() {
    insta::assert_snapshot!(shown(&spec(HarnessKind::Codex, &["codex", "--search"], &in_full())), @r#"
    codex --search exec --json -c 'approval_policy="never"' -c 'analytics.enabled=false' -c 'features.unbounded_connection_retries=false' -c 'sandbox_mode="danger-full-access"' -c 'model="a-model"' -c 'model_reasoning_effort="high"' resume --skip-git-repo-check 01a2273b-e6b4-7d43-8ec7-6f48c0bc9693 -
    CS_PANEL_CARD=K-7
    CS_PANEL_RUN=run-1
    "#);
}

#[test]
fn codex_that_may_only_edit_without_the_settings_of_the_person() {
    insta::assert_snapshot!(shown(&spec(HarnessKind::Codex, &["codex"], &careful(resumed()))), @r#"
    codex exec --json --ignore-user-config --ignore-rules -c 'approval_policy="never"' -c 'analytics.enabled=false' -c 'features.unbounded_connection_retries=false' -c 'sandbox_mode="workspace-write"' resume --skip-git-repo-check 01a2273b-e6b4-7d43-8ec7-6f48c0bc9693 -
    CS_PANEL_CARD=K-7
    CS_PANEL_RUN=run-1
    "#);
}

#[test]
fn a_conversation_that_is_no_uuid_is_never_handed_to_the_agent() {
    for session in [
        "--last",
        "fix the build",
        "",
        "01a2273b-e6b4-7d43-8ec7-6f48c0bc969g",
        "ses_1",
    ] {
        let odd = RunFacts {
            session: Some(session.to_owned()),
            ..facts()
        };
        for kind in [HarnessKind::Claude, HarnessKind::Codex] {
            assert_eq!(
                spec(kind, &["agent"], &odd),
                spec(kind, &["agent"], &facts()),
                "{session}"
            );
        }
    }
}

#[test]
fn a_model_with_quotes_stays_one_setting() {
    let odd = RunFacts {
        model: Some("a\"b\\c\n".to_owned()),
        ..facts()
    };
    let spec = spec(HarnessKind::Codex, &["codex"], &odd);
    assert!(
        spec.argv.contains(&r#"model="a\"b\\c\n""#.to_owned()),
        "{:?}",
        spec.argv
    );
}
