//! Providers that refuse, are busy, hang up or say nothing.

use serde_json::{Value, json};

use crate::stage::Stage;

/// What has to come of an attempt whose provider fails it again and again.
struct Failure {
    class: &'static str,
    park: Park,
    /// How often the provider may be asked: an agent that is sent away is not left to try on.
    most_asked: usize,
}

/// Whether the agent takes no work from then on.
#[derive(PartialEq, Eq)]
enum Park {
    No,
    /// For about so many seconds.
    For(i64),
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
        Park::For(seconds) => {
            assert_eq!(parked["class"], expected.class, "{parked}");
            let left = stage.seconds_between(&parked["since"], &parked["until"]);
            assert!((left - seconds).abs() <= 60, "parked for {left} s: {parked}");
        }
    }
    let asked = stage.asked();
    assert!(
        (1..=expected.most_asked).contains(&asked.len()),
        "asked {} times: {asked:?}",
        asked.len()
    );
    stage.no_process_is_left();
    card
}

pub(super) fn unauthorized(stage: &Stage<'_>) {
    let expected = Failure {
        class: "authentication",
        park: Park::UntilMended,
        most_asked: 3,
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

pub(super) fn rate_limit_long(stage: &Stage<'_>) {
    let expected = Failure {
        class: "rate_limit",
        park: Park::For(3600),
        most_asked: 3,
    };
    check(
        stage,
        json!({"fail": "rate_limit", "retry_after": 3600}),
        &expected,
    );
}

pub(super) fn quota(stage: &Stage<'_>) {
    let expected = Failure {
        class: "credit",
        park: Park::UntilMended,
        most_asked: 3,
    };
    check(stage, json!({"fail": "quota"}), &expected);
}

pub(super) fn overloaded(stage: &Stage<'_>) {
    let expected = Failure {
        class: "overloaded",
        park: Park::No,
        most_asked: 9,
    };
    check(stage, json!({"fail": "overloaded"}), &expected);
}

pub(super) fn bad_model(stage: &Stage<'_>) {
    let expected = Failure {
        class: "invalid_request",
        park: Park::No,
        most_asked: 2,
    };
    check(stage, json!({"fail": "bad_model"}), &expected);
}

pub(super) fn context_overflow(stage: &Stage<'_>) {
    let expected = Failure {
        class: "context_overflow",
        park: Park::No,
        most_asked: 8,
    };
    check(stage, json!({"fail": "context"}), &expected);
}

pub(super) fn cut_once(stage: &Stage<'_>) {
    stage.script(&json!([
        {"text": "This text is cut in the middle of its stream.", "cut_after": 2}, {"text": "Whole after a cut."}]));
    let card = stage.send("Do it");
    stage.run();
    stage.has_answered(&card, &["Whole after a cut."]);
}

pub(super) fn cut_always(stage: &Stage<'_>) {
    let expected = Failure {
        class: "infrastructure",
        park: Park::No,
        most_asked: 9,
    };
    let step = json!({"text": "This text is cut in the middle of its stream.", "cut_after": 2});
    check(stage, step, &expected);
}

pub(super) fn silent(stage: &Stage<'_>) {
    let expected = Failure {
        class: "infrastructure",
        park: Park::No,
        most_asked: 1,
    };
    check(stage, json!({"text": "Never said.", "delay": 3600}), &expected);
}
