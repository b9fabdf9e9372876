//! Providers that refuse, are busy, hang up or say nothing.

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::stage::Stage;

/// What has to come of an attempt whose provider fails it again and again.
struct Failure {
    class: &'static str,
    park: Park,
    /// How often the provider may be asked: an agent that is sent away is not left to try on. Nothing where it tries on without a word
    /// until its silence ends it: how often it comes to that depends on the machine.
    most_asked: Option<usize>,
}

/// Whether the agent takes no work from then on.
#[derive(PartialEq, Eq)]
enum Park {
    No,
    /// For a while, since nobody told for how long.
    ForAWhile,
    /// Until somebody says that the cause is mended.
    UntilMended,
}

fn check(stage: &Stage<'_>, step: Value, expected: &Failure) -> String {
    stage.script(&json!([step]));
    let card = stage.send("Do it");
    stage.run();
    let detail = stage.desk.card(&card);
    let run = &detail["runs"][0];
    assert_eq!(run["failure"], expected.class, "{detail}");
    assert_eq!(
        stage.desk.said_by(&card, "agent"),
        Vec::<String>::new(),
        "{detail}"
    );
    let parked = &stage.desk.json(&["agent", "list"])[0]["parked"];
    match expected.park {
        Park::No => assert_eq!(*parked, Value::Null, "{detail}"),
        Park::UntilMended => {
            assert_eq!(
                (&parked["class"], &parked["until"]),
                (&json!(expected.class), &Value::Null)
            );
        }
        Park::ForAWhile => {
            assert_eq!(parked["class"], expected.class, "{parked}");
            assert_ne!(parked["until"], Value::Null, "{parked}");
        }
    }
    // A request is noted when it is over.
    let asked = stage.desk.until("it has asked", || {
        Some(stage.asked()).filter(|asked| !asked.is_empty())
    });
    if let Some(most) = expected.most_asked {
        assert!(asked.len() <= most, "asked {} times: {asked:?}", asked.len());
    }
    stage.no_process_is_left();
    card
}

pub(super) fn unauthorized(stage: &Stage<'_>) {
    let expected = Failure {
        class: "authentication",
        park: Park::UntilMended,
        most_asked: Some(3),
    };
    let card = check(stage, json!({"fail": "auth"}), &expected);
    // The key is put right, and a person says so.
    stage.script(&json!([{"text": "Now it works."}]));
    stage
        .desk
        .ok(&["agent", "unpark", stage.installed.agent.as_str()]);
    stage.run();
    stage.has_answered(&card, &["Now it works."]);
}

pub(super) fn rate_limit_short(stage: &Stage<'_>) {
    stage.script(&json!([{"fail": "rate_limit", "retry_after": 2}, {"text": "After a while."}]));
    let card = stage.send("Do it");
    stage.run();
    stage.has_answered(&card, &["After a while."]);
    assert_eq!(stage.asked().len(), 2, "{:?}", stage.asked());
}

/// Only gemini tells how long it was asked to wait. Of the others some give up, one waits and says only that it does, some say nothing.
pub(super) fn rate_limit_long(stage: &Stage<'_>) {
    let (class, park) = match stage.installed.agent {
        Agent::Claude | Agent::Codex | Agent::Pi | Agent::Gemini => ("rate_limit", Park::ForAWhile),
        Agent::Opencode => ("infrastructure", Park::No),
        Agent::Qwen => ("agent", Park::No),
    };
    let expected = Failure {
        class,
        park,
        most_asked: Some(4),
    };
    if matches!(stage.installed.agent, Agent::Opencode | Agent::Qwen) {
        stage.bound_silence();
    }
    check(
        stage,
        json!({"fail": "rate_limit", "retry_after": 3600}),
        &expected,
    );
}

/// For gemini a quota is one of a day. opencode tries eight times more and says nothing of it, qwen until it is ended.
pub(super) fn quota(stage: &Stage<'_>) {
    let (class, park) = match stage.installed.agent {
        Agent::Claude | Agent::Codex | Agent::Opencode | Agent::Pi => ("credit", Park::UntilMended),
        Agent::Gemini => ("rate_limit", Park::ForAWhile),
        Agent::Qwen => {
            stage.bound_silence();
            ("agent", Park::No)
        }
    };
    let expected = Failure {
        class,
        park,
        most_asked: match stage.installed.agent {
            Agent::Claude | Agent::Codex | Agent::Pi | Agent::Gemini => Some(3),
            Agent::Opencode => Some(9),
            Agent::Qwen => None,
        },
    };
    check(stage, json!({"fail": "quota"}), &expected);
}

/// gemini and qwen try on and say nothing of it.
pub(super) fn overloaded(stage: &Stage<'_>) {
    let (class, most_asked) = match stage.installed.agent {
        Agent::Claude | Agent::Codex | Agent::Opencode | Agent::Pi => ("overloaded", Some(9)),
        Agent::Gemini | Agent::Qwen => {
            stage.bound_silence();
            ("agent", None)
        }
    };
    let expected = Failure {
        class,
        park: Park::No,
        most_asked,
    };
    check(stage, json!({"fail": "overloaded"}), &expected);
}

pub(super) fn bad_model(stage: &Stage<'_>) {
    let expected = Failure {
        class: "invalid_request",
        park: Park::No,
        most_asked: Some(2),
    };
    check(stage, json!({"fail": "bad_model"}), &expected);
}

pub(super) fn context_overflow(stage: &Stage<'_>) {
    let expected = Failure {
        class: "context_overflow",
        park: Park::No,
        most_asked: Some(8),
    };
    check(stage, json!({"fail": "context"}), &expected);
}

pub(super) fn cut_once(stage: &Stage<'_>) {
    stage.script(&json!([
        {"text": "This text is cut in the middle of its stream.", "cut_after": 2}, {"text": "Whole after a cut."}]));
    let card = stage.send("Do it");
    stage.run();
    // What came before the cut cannot be told from what came after it.
    let answer = match stage.installed.agent {
        Agent::Claude | Agent::Codex | Agent::Opencode | Agent::Pi | Agent::Gemini => "Whole after a cut.",
        Agent::Qwen => "This text is cut in the middleWhole after a cut.",
    };
    stage.has_answered(&card, &[answer]);
}

pub(super) fn cut_always(stage: &Stage<'_>) {
    let expected = Failure {
        class: "infrastructure",
        park: Park::No,
        most_asked: Some(9),
    };
    let step = json!({"text": "This text is cut in the middle of its stream.", "cut_after": 2});
    check(stage, step, &expected);
}

pub(super) fn silent(stage: &Stage<'_>) {
    let class = match stage.installed.agent {
        // It says nothing at all before its model does.
        Agent::Opencode => "infrastructure",
        Agent::Claude | Agent::Codex | Agent::Pi | Agent::Gemini | Agent::Qwen => "agent",
    };
    let expected = Failure {
        class,
        park: Park::No,
        most_asked: Some(1),
    };
    stage.bound_silence();
    check(stage, json!({"text": "Never said.", "delay": 3600}), &expected);
}
