//! Agents that answer.

use serde_json::json;

use crate::agent::Agent;
use crate::stage::{COMMIT, Stage};

/// In the sandbox of its codebase it works and goes on as ever, and changes nothing of how it is started elsewhere.
pub(super) fn sandbox(stage: &Stage<'_>) {
    let works = stage
        .desk
        .plain("bwrap")
        .args(["--unshare-pid", "--ro-bind", "/", "/", "true"])
        .status();
    if !works.is_ok_and(|status| status.success()) {
        println!("NOT PLAYED: bubblewrap is not installed here, or may make no namespaces");
        return;
    }
    let (before, path) = stage.settings();
    stage.desk.ok(&["codebase", "add", "."]);
    stage.desk.ok(&["codebase", "set", "repo", "--sandbox", "bwrap"]);
    let shell = format!(
        "echo evil >>'{}'; printf 'Hello.\\n' > hello.txt && {COMMIT} 'Add a greeting'",
        path.display()
    );
    stage.script(&json!([
        {"text": "I will add it.", "shell": shell}, {"text": "The greeting is there."}, {"text": "It is there still."}]));
    let card = stage.send("Add a greeting");
    stage.run();
    stage.send_more(&card, "And now?");
    stage.run();
    stage.has_answered(&card, &["The greeting is there.", "It is there still."]);
    stage.has_resumed();
    let diff = stage.desk.json(&["diff", &card]);
    assert_eq!(diff["files"][0]["path"], "hello.txt", "{diff}");
    let (after, _) = stage.settings();
    let says_nothing = before.is_empty() && after == "{}";
    assert!(after == before || says_nothing, "{before:?} became {after:?}");
    stage.no_process_is_left();
}

pub(super) fn plain(stage: &Stage<'_>) {
    stage.script(&json!([{
        "text": "PONG: the final answer.", "reasoning": "I will answer.",
        "usage": {"input": 1200, "cached": 300, "output": 42, "reasoning": 7}}]));
    let card = stage.send("Ping");
    stage.run();
    stage.has_answered(&card, &["PONG: the final answer."]);
    assert_eq!(stage.asked().len(), 1, "{:?}", stage.asked());
    // gemini does not tell what was thought.
    let output = if stage.installed.agent == Agent::Gemini {
        35
    } else {
        42
    };
    stage.has_used(&card, 1500, output);
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
    let session = stage.session(&card);
    stage.let_the_conversation_settle();
    stage.send_more(&card, "Second");
    stage.run();
    assert_eq!(stage.session(&card), session, "the same conversation");
    stage.has_answered(&card, &["The first answer.", "The second answer."]);
    stage.has_resumed();
    stage.has_used(&card, 2000, 100);
}
