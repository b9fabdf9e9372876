//! Agents that answer.

use serde_json::json;

use crate::stage::{COMMIT, Stage};

pub(super) fn plain(stage: &Stage<'_>) {
    stage.script(&json!([{
        "text": "PONG: the final answer.", "reasoning": "I will answer.",
        "usage": {"input": 1200, "cached": 300, "output": 42, "reasoning": 7}}]));
    let card = stage.send("Ping");
    stage.run();
    stage.has_answered(&card, &["PONG: the final answer."]);
    assert_eq!(stage.asked().len(), 1, "{:?}", stage.asked());
    stage.has_used(&card, 1500, 42);
}

pub(super) fn commit(stage: &Stage<'_>) {
    stage.script(&json!([
        {"text": "I will add it.", "shell": format!("printf 'Hello.\\n' > hello.txt && {COMMIT} 'Add a greeting'")},
        {"text": "The greeting is there.", "usage": {"input": 200, "cached": 1000, "output": 20}}]));
    let card = stage.send("Add a greeting");
    stage.run();
    stage.has_answered(&card, &["The greeting is there."]);
    let diff = stage.desk.json(&["diff", &card]);
    assert_eq!(diff["commits"][0]["subject"], "Add a greeting", "{diff}");
    assert_eq!(diff["files"][0]["path"], "hello.txt", "{diff}");
    assert_eq!(
        stage.desk.git(&["status", "--porcelain"]),
        "",
        "the person's own tree is as it was"
    );
    stage.has_used(&card, 2200, 70);
}

pub(super) fn second_turn(stage: &Stage<'_>) {
    stage.script(&json!([{"text": "The first answer."}, {"text": "The second answer."}]));
    let card = stage.send("First");
    stage.run();
    stage.send_more(&card, "Second");
    stage.run();
    stage.has_answered(&card, &["The first answer.", "The second answer."]);
    stage.has_resumed();
    stage.has_used(&card, 2000, 100);
}
