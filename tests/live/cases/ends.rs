//! Ends from outside, in the middle of a tool call.

use serde_json::json;

use crate::stage::{COMMIT, Stage};

pub(super) fn stop(stage: &Stage<'_>) {
    let here = stage.desk.path("outside/here");
    let shell = format!("touch '{}'; sleep 600", here.display());
    stage.script(&json!([{"text": "I will wait.", "shell": shell}, {"text": "Going on."}]));
    let card = stage.send("Wait");
    let daemon = stage.daemon();
    stage.desk.until_there(&here);
    assert_eq!(stage.desk.json(&["ps"])[0]["state"], "alive");
    stage.desk.ok(&["stop", &card]);
    assert_eq!(stage.left(), Vec::<String>::new(), "stop returned before the end");
    assert_eq!(stage.desk.json(&["ps"]), json!([]));
    let over = stage.desk.json(&["ps", "--all"]);
    assert_eq!(over[0]["state"], "closed", "{over}");
    let detail = stage.desk.card(&card);
    assert_eq!(detail["card"]["state"], "stopped", "{detail}");
    daemon.kill();
    stage.let_the_conversation_settle();
    // What it had said is not lost: the same conversation goes on.
    stage.send_more(&card, "Go on");
    stage.run();
    stage.has_answered(&card, &["Going on."]);
    stage.has_resumed();
}

/// It would go on for ever, and tells of what it uses on the way or only at its end.
pub(super) fn budget(stage: &Stage<'_>) {
    stage.bound_tokens(5_000);
    let step = json!({"text": "On and on.", "shell": "sleep 1", "usage": {"input": 1000, "output": 50}});
    stage.script(&json!(vec![step; 100]));
    let card = stage.send("Count to infinity");
    stage.run();
    stage.no_process_is_left();
    let detail = stage.desk.card(&card);
    assert_eq!(detail["runs"][0]["state"], "capped_spend", "{detail}");
    let reason = detail["card"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("`tokens`"), "{reason}");
    let used = detail["card"]["usage"]["input_tokens"]
        .as_u64()
        .expect("a number");
    assert!(used >= 4_000, "{detail}");
    // It may have been asking once more when it was ended.
    let asked = stage.asked().len() as u64;
    assert!(
        (asked - 1..=asked).contains(&(used / 1_000)),
        "asked {asked} times: {detail}"
    );
}

pub(super) fn daemon_killed(stage: &Stage<'_>) {
    let shell = format!(
        "{} && echo done > done.txt && {COMMIT} 'Be done'",
        stage.gate("gate")
    );
    stage.script(&json!([{"text": "I will wait.", "shell": shell}, {"text": "After the restart."}]));
    let card = stage.send("Wait");
    let daemon = stage.daemon();
    stage.desk.until_there(&stage.desk.path("outside/gate"));
    daemon.kill();
    assert_eq!(
        stage.desk.json(&["ps"])[0]["state"],
        "alive",
        "it outlives its daemon"
    );
    stage.desk.open_gate("gate");
    stage.run();
    stage.has_answered(&card, &["After the restart."]);
    assert_eq!(stage.asked().len(), 2, "{:?}", stage.asked());
    let run = &stage.desk.card(&card)["runs"][0];
    assert_eq!(
        (&run["epoch"], &run["starts"]),
        (&json!(1), &json!(0)),
        "it was started once: {run}"
    );
    let diff = stage.desk.json(&["diff", &card]);
    assert_eq!(diff["commits"][0]["subject"], "Be done", "{diff}");
}
