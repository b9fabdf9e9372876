use crate::command::launch_spec;
use crate::{HarnessKind, LaunchSpec, OwnSettings, Permissions, RunFacts};

/// How pi is started.
pub(super) fn launch(argv: &[String], facts: &RunFacts) -> LaunchSpec {
    let mut argv = argv.to_vec();
    let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["-p", "--mode", "json"]);
    if let Some(model) = &facts.model {
        add(&["--model", model]);
    }
    if let Some(effort) = &facts.effort {
        add(&["--thinking", effort]);
    }
    if let Some(session) = facts.session_of(HarnessKind::Pi) {
        // `--session-id` would begin a new conversation under the name of one that is gone; this one says so.
        add(&["--session", session]);
    }
    if facts.permissions == Permissions::Edit {
        // It asks nobody and knows no rules. Where it is started with less than everything nevertheless, it has no shell.
        add(&["--tools", "read,grep,find,ls,edit,write"]);
    }
    if facts.settings == OwnSettings::ShutOut {
        add(&["--no-extensions", "--no-skills", "--no-prompt-templates"]);
    }
    let mut spec = launch_spec(&argv, facts, facts.prompt.clone().into_bytes());
    for (name, value) in [
        ("PI_OFFLINE", "1"),
        ("PI_TELEMETRY", "0"),
        ("PI_SKIP_VERSION_CHECK", "1"),
    ] {
        spec.env.insert(name.to_owned(), value.to_owned());
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(facts: &RunFacts) -> String {
        launch(&["pi".to_owned()], facts).argv.join(" ")
    }

    #[test]
    fn a_first_start_gives_the_prompt_on_standard_input() {
        let facts = RunFacts {
            prompt: "@do it".to_owned(),
            ..RunFacts::default()
        };
        let spec = launch(&["node".to_owned(), "pi.js".to_owned()], &facts);
        assert_eq!(spec.argv.join(" "), "node pi.js -p --mode json");
        assert_eq!(spec.stdin, b"@do it");
        assert_eq!(spec.env["PI_OFFLINE"], "1");
        assert_eq!(spec.env["PI_TELEMETRY"], "0");
    }

    #[test]
    fn model_effort_and_conversation_are_named() {
        let facts = RunFacts {
            model: Some("p/m".to_owned()),
            effort: Some("high".to_owned()),
            session: Some("01a2".to_owned()),
            settings: OwnSettings::ShutOut,
            ..RunFacts::default()
        };
        assert_eq!(
            words(&facts),
            "pi -p --mode json --model p/m --thinking high --session 01a2 --no-extensions --no-skills --no-prompt-templates"
        );
    }

    #[test]
    fn with_less_than_everything_it_has_no_shell() {
        let facts = RunFacts {
            permissions: Permissions::Edit,
            ..RunFacts::default()
        };
        assert_eq!(
            words(&facts),
            "pi -p --mode json --tools read,grep,find,ls,edit,write"
        );
    }
}
