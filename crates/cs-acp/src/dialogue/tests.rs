use cs_harness::Permissions;
use proptest::prelude::*;

use super::*;

fn start() -> Start {
    Start {
        prompt: "do it".to_owned(),
        history: None,
        session: None,
        cwd: "/tree".to_owned(),
        permissions: Permissions::Edit,
        model: None,
        effort: None,
        tools: None,
    }
}

/// A dialogue that was led up to the prompt.
fn prompting(start: Start) -> Dialogue {
    let mut dialogue = Dialogue::new(start);
    dialogue.greet();
    say(&mut dialogue, &json!({"id": 1, "result": {"protocolVersion": 1}}));
    say(&mut dialogue, &json!({"id": 2, "result": {"sessionId": "s"}}));
    assert!(matches!(dialogue.stage, Stage::Prompting));
    dialogue
}

fn say(dialogue: &mut Dialogue, message: &Value) -> Vec<Step> {
    dialogue.line(message.to_string().as_bytes())
}

fn sent(steps: &[Step]) -> Vec<(&str, &Value)> {
    let sent = steps.iter().filter_map(|step| match step {
        Step::Send(message) => Some(message),
        Step::Tell(_) | Step::Over(_) => None,
    });
    sent.map(|message| (message["method"].as_str().unwrap_or("answer"), &message["params"]))
        .collect()
}

fn failure(steps: &[Step]) -> Option<&Trouble> {
    steps.iter().find_map(|step| match step {
        Step::Tell(Event::Failed(trouble)) => Some(trouble),
        _ => None,
    })
}

/// With `edit` they would be denied like everything that changes no file of the tree.
#[test]
fn no_call_of_the_tools_that_the_agent_was_given_is_denied() {
    let tools = json!({"command": {"argv": ["/bin/p", "mcp"], "keep": []}});
    let with_tools = Start {
        tools: Some(serde_json::from_value(tools).unwrap()),
        ..start()
    };
    for (start, expected) in [(with_tools, "once"), (start(), "no")] {
        let mut dialogue = prompting(start);
        let steps = say(
            &mut dialogue,
            &json!({"id": "q", "method": "session/request_permission", "params": {"sessionId": "s",
                "toolCall": {"toolCallId": "1", "title": "panel_ask", "kind": "other"}, "options": [
                {"optionId": "all", "kind": "allow_always"}, {"optionId": "once", "kind": "allow_once"},
                {"optionId": "no", "kind": "reject_once"}]}}),
        );
        let Some(Step::Send(answer)) = steps.last() else {
            panic!("no answer: {steps:?}");
        };
        assert_eq!(answer["result"]["outcome"]["optionId"], expected);
    }
}

#[test]
fn an_agent_is_told_of_the_server_of_tools_in_each_way_to_begin() {
    let tools = json!({"command": {"argv": ["/bin/p", "mcp"], "keep": []}});
    let entry = json!([{"name": "panel", "command": "/bin/p", "args": ["mcp"], "env": []}]);
    for (session, capabilities, method) in [
        (None, json!({}), "session/new"),
        (Some("old"), json!({"loadSession": true}), "session/load"),
        (
            Some("old"),
            json!({"sessionCapabilities": {"resume": {}}}),
            "session/resume",
        ),
    ] {
        let mut dialogue = Dialogue::new(Start {
            session: session.map(str::to_owned),
            tools: Some(serde_json::from_value(tools.clone()).unwrap()),
            ..start()
        });
        dialogue.greet();
        let greeted = json!({"protocolVersion": 1, "agentCapabilities": capabilities});
        let steps = say(&mut dialogue, &json!({"id": 1, "result": greeted}));
        let [(sent, params)] = sent(&steps)[..] else {
            panic!("{steps:?}");
        };
        assert_eq!((sent, &params["mcpServers"]), (method, &entry));
    }
}

#[test]
fn an_agent_that_reaches_no_tools_over_http_works_without_and_that_is_said() {
    let tools = json!({"http": {"url": "http://127.0.0.1:1/mcp", "bearer": "b"}});
    let mut dialogue = Dialogue::new(Start {
        tools: Some(serde_json::from_value(tools).unwrap()),
        ..start()
    });
    dialogue.greet();
    let steps = say(&mut dialogue, &json!({"id": 1, "result": {"protocolVersion": 1}}));
    let said = steps
        .iter()
        .any(|step| matches!(step, Step::Tell(Event::Progress { text }) if text.contains("HTTP")));
    assert!(said, "{steps:?}");
    assert_eq!(sent(&steps)[0].1["mcpServers"], json!([]));
}

fn ask_permission(dialogue: &mut Dialogue, kind: &str, path: &str) -> (Value, bool) {
    let steps = say(
        dialogue,
        &json!({"id": "q", "method": "session/request_permission", "params": {"sessionId": "s",
            "toolCall": {"toolCallId": "1", "title": "change it", "kind": kind, "locations": [{"path": path}]},
            "options": [{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]}}),
    );
    let denied = steps
        .iter()
        .any(|step| matches!(step, Step::Tell(Event::Denied { .. })));
    let Some(Step::Send(answer)) = steps.last() else {
        panic!("no answer: {steps:?}");
    };
    assert_eq!(answer["id"], "q");
    (answer["result"]["outcome"].clone(), denied)
}

#[test]
fn a_dialogue_from_the_greeting_to_the_answer() {
    let mut dialogue = Dialogue::new(start());
    assert_eq!(sent(&dialogue.greet())[0].0, "initialize");
    let steps = say(
        &mut dialogue,
        &json!({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1, "agentInfo": {"name": "a", "version": "2"}}}),
    );
    assert!(matches!(&steps[0], Step::Tell(Event::Started { version: Some(v), .. }) if v == "2"));
    assert_eq!(
        sent(&steps),
        [("session/new", &json!({"cwd": "/tree", "mcpServers": []}))]
    );
    assert_eq!(dialogue.awaits(), Some(2));
    let steps = say(&mut dialogue, &json!({"id": 2, "result": {"sessionId": "s"}}));
    let prompt = json!({"sessionId": "s", "prompt": [{"type": "text", "text": "do it"}]});
    assert_eq!(sent(&steps), [("session/prompt", &prompt)]);
    assert_eq!(dialogue.awaits(), None);
    say(
        &mut dialogue,
        &json!({"method": "session/update", "params": {"sessionId": "s",
            "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "PONG"}}}}),
    );
    let steps = say(
        &mut dialogue,
        &json!({"id": 3, "result": {"stopReason": "end_turn"}}),
    );
    let said = Event::Said {
        text: "PONG".to_owned(),
    };
    assert_eq!(
        steps,
        [
            Step::Tell(said),
            Step::Tell(Event::End { ok: true }),
            Step::Over(ANSWERED)
        ]
    );
}

#[test]
fn a_conversation_is_loaded_and_what_is_said_again_is_left_out() {
    let mut dialogue = Dialogue::new(Start {
        session: Some("old".to_owned()),
        ..start()
    });
    dialogue.greet();
    let steps = say(
        &mut dialogue,
        &json!({"id": 1, "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}}),
    );
    let params = json!({"cwd": "/tree", "mcpServers": [], "sessionId": "old"});
    assert_eq!(sent(&steps), [("session/load", &params)]);
    let again = json!({"method": "session/update", "params": {"sessionId": "old",
        "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "again"}}}});
    assert_eq!(say(&mut dialogue, &again), []);
    let steps = say(&mut dialogue, &json!({"id": 2, "result": null}));
    assert_eq!(steps[0], Step::Tell(Event::Session { id: "old".to_owned() }));
    assert_eq!(sent(&steps)[0].0, "_cs-panel/settled");
    // Some go on to say it again after their answer.
    assert_eq!(say(&mut dialogue, &again), []);
    let unknown = |id: u64| json!({"id": id, "error": {"code": -32601, "message": "Method not found"}});
    let steps = say(&mut dialogue, &unknown(3));
    assert_eq!(sent(&steps)[0].0, "_cs-panel/settled");
    assert_eq!(dialogue.awaits(), Some(4));
    let steps = say(&mut dialogue, &unknown(4));
    assert_eq!(sent(&steps)[0].0, "session/prompt");
    let steps = say(
        &mut dialogue,
        &json!({"id": 5, "result": {"stopReason": "end_turn"}}),
    );
    assert_eq!(steps, [Step::Tell(Event::End { ok: true }), Step::Over(ANSWERED)]);
}

#[test]
fn an_agent_that_does_not_answer_whether_it_has_said_all_is_led_on() {
    let mut dialogue = Dialogue::new(Start {
        session: Some("old".to_owned()),
        ..start()
    });
    dialogue.greet();
    say(
        &mut dialogue,
        &json!({"id": 1, "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}}),
    );
    say(&mut dialogue, &json!({"id": 2, "result": null}));
    assert_eq!(sent(&dialogue.late())[0].0, "session/prompt");
}

#[test]
fn a_call_that_is_allowed_is_told_of_and_only_once() {
    let mut dialogue = prompting(Start {
        permissions: Permissions::Full,
        ..start()
    });
    let asked = json!({"toolCallId": "1", "title": "make", "kind": "execute", "status": "pending"});
    let steps = say(
        &mut dialogue,
        &json!({"id": 9, "method": "session/request_permission", "params": {"sessionId": "s", "toolCall": asked,
            "options": [{"optionId": "y", "kind": "allow_once"}]}}),
    );
    assert!(
        matches!(&steps[..], [Step::Tell(Event::ToolStart { about, .. }), Step::Send(_)] if about == "make"),
        "{steps:?}"
    );
    let steps = say(
        &mut dialogue,
        &json!({"method": "session/update", "params": {"sessionId": "s",
            "update": {"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"}}}),
    );
    assert!(
        matches!(&steps[..], [Step::Tell(Event::ToolEnd { ok: true, .. })]),
        "{steps:?}"
    );
}

#[test]
fn gemini_is_allowed_the_command_that_it_shows() {
    for (name, expected) in [("gemini-cli", "y"), ("another", "n")] {
        let mut dialogue = Dialogue::new(start());
        dialogue.greet();
        let greeted = json!({"protocolVersion": 1, "agentInfo": {"name": name}});
        say(&mut dialogue, &json!({"id": 1, "result": greeted}));
        say(&mut dialogue, &json!({"id": 2, "result": {"sessionId": "s"}}));
        let steps = say(
            &mut dialogue,
            &json!({"id": 9, "method": "session/request_permission", "params": {"sessionId": "s",
                "toolCall": {"toolCallId": "run_shell_command__1", "title": "git add -A", "kind": "execute"},
                "options": [{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]}}),
        );
        let Some(Step::Send(answer)) = steps.last() else {
            panic!("{steps:?}")
        };
        assert_eq!(answer["result"]["outcome"]["optionId"], expected, "{name}");
    }
}

#[test]
fn an_agent_that_cannot_go_on_is_told_what_was_said_before() {
    for (session, prompt) in [(Some("old"), "It was said.\n\ndo it"), (None, "do it")] {
        let mut dialogue = Dialogue::new(Start {
            session: session.map(str::to_owned),
            history: Some("It was said.".to_owned()),
            ..start()
        });
        dialogue.greet();
        let steps = say(&mut dialogue, &json!({"id": 1, "result": {"protocolVersion": 1}}));
        let is_told = steps.iter().any(
            |step| matches!(step, Step::Tell(Event::Progress { text }) if text.contains("begins a new one")),
        );
        assert_eq!(is_told, session.is_some());
        let steps = say(&mut dialogue, &json!({"id": 2, "result": {"sessionId": "new"}}));
        let params = json!({"sessionId": "new", "prompt": [{"type": "text", "text": prompt}]});
        assert_eq!(sent(&steps), [("session/prompt", &params)]);
    }
}

#[test]
fn what_is_kept_of_a_message_that_is_not_known_is_bounded() {
    let long = "x".repeat(100_000);
    let mut dialogue = prompting(start());
    let method = json!({"method": long, "params": {"x": long}}).to_string();
    let update = json!({"method": "session/update", "params": {"sessionId": "s",
        "update": {"sessionUpdate": long, "x": long}}});
    for line in [method, update.to_string(), long.clone()] {
        let steps = dialogue.line(line.as_bytes());
        let [Step::Tell(Event::Unknown { kind, body })] = &steps[..] else {
            panic!("{steps:?}")
        };
        assert!(
            kind.len() <= 64 && body.len() <= 4096,
            "{} {}",
            kind.len(),
            body.len()
        );
    }
}

#[test]
fn a_conversation_that_the_agent_does_not_know_any_more_is_begun_anew_with_what_was_said() {
    let mut dialogue = Dialogue::new(Start {
        session: Some("old".to_owned()),
        history: Some("It was said.".to_owned()),
        ..start()
    });
    dialogue.greet();
    say(
        &mut dialogue,
        &json!({"id": 1, "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}}),
    );
    let steps = say(
        &mut dialogue,
        &json!({"id": 2, "error": {"code": -32602, "message": "Invalid session"}}),
    );
    let params = json!({"cwd": "/tree", "mcpServers": []});
    assert_eq!(sent(&steps), [("session/new", &params)]);
    assert!(
        matches!(&steps[0], Step::Tell(Event::Progress { text }) if text.contains("does not know its conversation")),
        "{steps:?}"
    );
    let steps = say(&mut dialogue, &json!({"id": 3, "result": {"sessionId": "new"}}));
    assert_eq!(steps[0], Step::Tell(Event::Session { id: "new".to_owned() }));
    let text = "It was said.\n\ndo it";
    let params = json!({"sessionId": "new", "prompt": [{"type": "text", "text": text}]});
    assert_eq!(sent(&steps), [("session/prompt", &params)]);
}

#[test]
fn an_agent_that_begins_no_conversation_at_all_has_failed() {
    let mut dialogue = Dialogue::new(Start {
        session: Some("old".to_owned()),
        ..start()
    });
    dialogue.greet();
    say(
        &mut dialogue,
        &json!({"id": 1, "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}}),
    );
    for id in [2, 3] {
        let steps = say(
            &mut dialogue,
            &json!({"id": id, "error": {"code": -32603, "message": "no"}}),
        );
        assert_eq!(failure(&steps).is_some(), id == 3, "{steps:?}");
    }
}

#[test]
fn nobody_signed_in_is_told_as_that_wherever_it_comes() {
    let error = json!({"code": -32000, "message": "Authentication required"});
    for at in 1..=3 {
        let mut dialogue = Dialogue::new(start());
        dialogue.greet();
        for id in 1..at {
            say(
                &mut dialogue,
                &json!({"id": id, "result": {"protocolVersion": 1, "sessionId": "s"}}),
            );
        }
        let steps = say(&mut dialogue, &json!({"id": at, "error": error}));
        let class = failure(&steps).map(|trouble| trouble.class);
        assert_eq!(class, Some(FailureClass::Authentication), "{at}");
    }
}

#[test]
fn another_version_of_the_protocol_is_refused() {
    let mut dialogue = Dialogue::new(start());
    dialogue.greet();
    let steps = say(&mut dialogue, &json!({"id": 1, "result": {"protocolVersion": 2}}));
    assert_eq!(
        failure(&steps).map(|trouble| trouble.class),
        Some(FailureClass::InvalidRequest)
    );
}

#[test]
fn permissions_are_answered_and_what_is_denied_is_told() {
    let mut dialogue = prompting(start());
    let yes = json!({"outcome": "selected", "optionId": "y"});
    let no = json!({"outcome": "selected", "optionId": "n"});
    assert_eq!(
        ask_permission(&mut dialogue, "edit", "/tree/a"),
        (yes.clone(), false)
    );
    assert_eq!(
        ask_permission(&mut dialogue, "edit", "/etc/a"),
        (no.clone(), true)
    );
    assert_eq!(ask_permission(&mut dialogue, "execute", "/tree"), (no, true));
    let mut dialogue = prompting(Start {
        permissions: Permissions::Full,
        ..start()
    });
    assert_eq!(ask_permission(&mut dialogue, "execute", "/etc"), (yes, false));
}

#[test]
fn a_request_knows_what_was_told_of_its_call_before() {
    let mut dialogue = prompting(start());
    say(
        &mut dialogue,
        &json!({"method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": "tool_call",
            "toolCallId": "1", "title": "t", "kind": "execute", "rawInput": {"command": "git add -A"}}}}),
    );
    let steps = say(
        &mut dialogue,
        &json!({"id": 9, "method": "session/request_permission", "params": {"toolCall": {"toolCallId": "1"},
            "options": [{"optionId": "y", "kind": "allow_once"}]}}),
    );
    let Step::Send(answer) = &steps[0] else {
        panic!("{steps:?}");
    };
    assert_eq!(answer["result"]["outcome"]["optionId"], "y");
}

#[test]
fn what_was_said_before_a_call_that_is_denied_is_a_message_of_its_own() {
    let mut dialogue = prompting(start());
    let chunk = |text: &str| {
        json!({"method": "session/update", "params": {"sessionId": "s",
        "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}}})
    };
    say(&mut dialogue, &chunk("I will remove it."));
    let steps = say(
        &mut dialogue,
        &json!({"id": 9, "method": "session/request_permission", "params": {"sessionId": "s",
            "toolCall": {"toolCallId": "1", "title": "rm", "kind": "execute"}, "options": []}}),
    );
    let said = |text: &str| Event::Said {
        text: text.to_owned(),
    };
    assert_eq!(steps[0], Step::Tell(said("I will remove it.")));
    say(&mut dialogue, &chunk("It may not be removed."));
    let steps = say(
        &mut dialogue,
        &json!({"id": 3, "result": {"stopReason": "end_turn"}}),
    );
    assert_eq!(steps[0], Step::Tell(said("It may not be removed.")));
}

#[test]
fn a_request_of_another_conversation_is_refused_and_told() {
    for permissions in Permissions::ALL {
        let mut dialogue = prompting(Start {
            permissions,
            ..start()
        });
        let steps = say(
            &mut dialogue,
            &json!({"id": 9, "method": "session/request_permission", "params": {"sessionId": "other",
                "toolCall": {"toolCallId": "1", "title": "a", "kind": "read"},
                "options": [{"optionId": "y", "kind": "allow_once"}]}}),
        );
        let what = "read: a".to_owned();
        assert_eq!(steps[0], Step::Tell(Event::Denied { what }));
        assert!(
            matches!(&steps[1..], [Step::Send(answer)] if answer["id"] == 9 && answer["error"]["code"] == -32602),
            "{steps:?}"
        );
    }
}

#[test]
fn a_request_before_the_prompt_is_called_off_and_makes_no_question() {
    let mut dialogue = Dialogue::new(start());
    dialogue.greet();
    let steps = say(
        &mut dialogue,
        &json!({"id": 9, "method": "session/request_permission", "params": {"sessionId": "s",
            "toolCall": {"toolCallId": "1", "title": "a", "kind": "read"}, "options": []}}),
    );
    assert!(
        matches!(&steps[..], [Step::Send(answer)] if answer["result"]["outcome"]["outcome"] == "cancelled"),
        "{steps:?}"
    );
}

#[test]
fn an_agent_that_does_not_listen_to_a_stop_was_stopped_all_the_same() {
    let mut dialogue = prompting(start());
    dialogue.stop();
    assert_eq!(dialogue.unheard(), [Step::Over(STOPPED)]);
    assert!(failure(&prompting(start()).unheard()).is_some());
}

#[test]
fn with_edit_nothing_is_allowed_for_always() {
    let ask = json!({"id": 9, "method": "session/request_permission", "params": {"sessionId": "s",
        "toolCall": {"toolCallId": "1", "title": "a", "kind": "edit", "locations": [{"path": "/tree/a"}]},
        "options": [{"optionId": "always", "kind": "allow_always"}, {"optionId": "n", "kind": "reject_once"}]}});
    let chosen = |permissions| {
        let steps = say(
            &mut prompting(Start {
                permissions,
                ..start()
            }),
            &ask,
        );
        let Some(Step::Send(answer)) = steps.last() else {
            panic!("{steps:?}")
        };
        let is_denied = matches!(steps[0], Step::Tell(Event::Denied { .. }));
        (answer["result"]["outcome"]["optionId"].clone(), is_denied)
    };
    assert_eq!(chosen(Permissions::Edit), (json!("n"), true));
    assert_eq!(chosen(Permissions::Full), (json!("always"), false));
}

#[test]
fn an_answer_with_odd_fields_is_the_answer_all_the_same() {
    let mut dialogue = prompting(start());
    let steps = say(
        &mut dialogue,
        &json!({"jsonrpc": 2, "id": "3", "method": 7, "error": null, "result": {"stopReason": "end_turn", "usage": null}}),
    );
    assert_eq!(steps, [Step::Tell(Event::End { ok: true }), Step::Over(ANSWERED)]);
    let mut dialogue = prompting(start());
    let steps = say(
        &mut dialogue,
        &json!({"id": 3, "error": {"code": "429", "message": null}}),
    );
    assert_eq!(
        failure(&steps).map(|trouble| trouble.class),
        Some(FailureClass::RateLimit)
    );
}

#[test]
fn what_was_not_offered_is_refused() {
    let mut dialogue = prompting(start());
    let steps = say(
        &mut dialogue,
        &json!({"id": 5, "method": "fs/write_text_file", "params": {}}),
    );
    assert!(matches!(&steps[..], [Step::Send(answer)] if answer["error"]["code"] == -32601));
}

#[test]
fn a_stop_calls_the_prompt_off_and_waits_for_its_end() {
    let mut dialogue = prompting(start());
    let steps = dialogue.stop();
    assert_eq!(sent(&steps), [("session/cancel", &json!({"sessionId": "s"}))]);
    let (outcome, denied) = ask_permission(&mut dialogue, "edit", "/tree/a");
    assert_eq!((outcome, denied), (json!({"outcome": "cancelled"}), false));
    let steps = say(
        &mut dialogue,
        &json!({"id": 3, "result": {"stopReason": "cancelled"}}),
    );
    assert_eq!(steps, [Step::Over(STOPPED)]);
}

#[test]
fn a_stop_before_the_prompt_ends_at_once() {
    let mut dialogue = Dialogue::new(start());
    dialogue.greet();
    assert_eq!(dialogue.stop(), [Step::Over(STOPPED)]);
}

#[test]
fn a_model_that_the_agent_refuses_is_an_invalid_request() {
    let mut dialogue = Dialogue::new(Start {
        model: Some("m".to_owned()),
        ..start()
    });
    dialogue.greet();
    say(&mut dialogue, &json!({"id": 1, "result": {"protocolVersion": 1}}));
    let steps = say(
        &mut dialogue,
        &json!({"id": 2, "result": {"sessionId": "s", "models": {"availableModels": []}}}),
    );
    assert_eq!(sent(&steps)[0].0, "session/set_model");
    let steps = say(
        &mut dialogue,
        &json!({"id": 3, "error": {"code": -32603, "message": "no"}}),
    );
    assert_eq!(
        failure(&steps).map(|trouble| trouble.class),
        Some(FailureClass::InvalidRequest)
    );
}

#[test]
fn garbage_is_kept_and_changes_nothing() {
    let mut dialogue = prompting(start());
    for line in [
        "Loaded cached credentials.",
        "{",
        "[]",
        "7",
        "\u{1b}[31mred",
        r#"{"id":99,"result":{}}"#,
    ] {
        let steps = dialogue.line(line.as_bytes());
        assert!(
            steps
                .iter()
                .all(|step| matches!(step, Step::Tell(Event::Unknown { .. }))),
            "{line}: {steps:?}"
        );
    }
    let steps = say(
        &mut dialogue,
        &json!({"id": 3, "result": {"stopReason": "end_turn"}}),
    );
    assert_eq!(steps.last(), Some(&Step::Over(ANSWERED)));
}

/// Messages of an agent, and pieces of them in places where they do not belong.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let whole = prop::sample::select(vec![
        json!({"id": 1, "result": {"protocolVersion": 1}}),
        json!({"id": 2, "result": {"sessionId": "s"}}),
        json!({"id": 3, "result": {"stopReason": "end_turn"}}),
        json!({"id": 2, "result": null}),
        json!({"id": 1, "error": {"code": 1e300, "message": 7}}),
        json!({"id": 3, "error": {"code": 429, "message": "no", "data": [1]}}),
        json!({"method": "session/update", "params": 7}),
        json!({"method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": "tool_call"}}}),
        json!({"method": "session/request_permission", "id": null, "params": []}),
        json!({"method": "session/request_permission", "id": 4, "params": {"options": [[]]}}),
        json!({"method": "x", "id": {}}),
    ]);
    let whole = whole.prop_map(|message| message.to_string().into_bytes());
    prop_oneof![whole, prop::collection::vec(any::<u8>(), 0..60)]
}

proptest! {
    #[test]
    fn any_lines_are_taken_and_nothing_follows_the_end(lines in prop::collection::vec(message(), 0..30)) {
        let mut dialogue = Dialogue::new(start());
        let mut steps = dialogue.greet();
        for line in &lines {
            steps.extend(dialogue.line(line));
        }
        let over = steps.iter().position(|step| matches!(step, Step::Over(_)));
        prop_assert!(over.is_none_or(|at| at + 1 == steps.len()), "{steps:?}");
    }
}
