//! What an agent offers, and what is chosen of it.

use cs_harness::one_line;
use serde_json::{Value, json};

use crate::start::Start;

/// How a conversation is begun or gone on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    New,
    /// Goes on; nothing is said again.
    Resume,
    /// Goes on; the agent says again what was said before.
    Load,
}

/// One choice to be made before the prompt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

/// What has to be chosen, and what cannot be.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Choices {
    pub(crate) made: Vec<Choice>,
    /// Sentences for people who watch.
    pub(crate) missing: Vec<String>,
}

/// The best way that the agent offers, from its answer to `initialize`.
pub(crate) fn way(greeted: &Value, start: &Start) -> Way {
    let offered = &greeted["agentCapabilities"];
    if start.session.is_none() {
        Way::New
    } else if offered["sessionCapabilities"]["resume"].is_object() {
        Way::Resume
    } else if offered["loadSession"] == true {
        Way::Load
    } else {
        Way::New
    }
}

/// What is to be chosen, from the answer that opened the conversation.
pub(crate) fn choices(opened: &Value, session: &str, start: &Start) -> Choices {
    let mut choices = Choices::default();
    if let Some(mode) = careful_mode(opened, start) {
        choices.made.push(Choice {
            method: "session/set_mode",
            params: json!({"sessionId": session, "modeId": mode}),
        });
    }
    if let Some(model) = &start.model {
        let old = opened["models"]["availableModels"].is_array().then(|| Choice {
            method: "session/set_model",
            params: json!({"sessionId": session, "modelId": model}),
        });
        match set_option(opened, session, "model", model).or(old) {
            Some(choice) => choices.made.push(choice),
            None => choices.missing.push(format!(
                "the agent lets nobody choose its model: it uses its own, not {}",
                one_line(model)
            )),
        }
    }
    if let Some(effort) = &start.effort {
        match set_option(opened, session, "thought_level", effort) {
            Some(choice) => choices.made.push(choice),
            None => choices.missing.push(format!(
                "the agent lets nobody choose its effort: it uses its own, not {}",
                one_line(effort)
            )),
        }
    }
    choices
}

/// With less than everything an agent has to ask before it acts: the mode of that name, where it begins in another one.
fn careful_mode(opened: &Value, start: &Start) -> Option<&'static str> {
    const CAREFUL: &str = "default";
    let modes = &opened["modes"];
    let is_offered = modes["availableModes"]
        .as_array()?
        .iter()
        .any(|mode| mode["id"] == CAREFUL);
    let is_wanted = start.permissions == cs_harness::Permissions::Edit && modes["currentModeId"] != CAREFUL;
    (is_offered && is_wanted).then_some(CAREFUL)
}

/// The choice among the options of a category; an agent names what it offers by value and by name.
fn set_option(opened: &Value, session: &str, category: &str, wanted: &str) -> Option<Choice> {
    let options = opened["configOptions"].as_array()?;
    let of_category = options.iter().find(|option| option["category"] == category);
    let option = of_category.or_else(|| options.iter().find(|option| option["id"] == category))?;
    let named = values(&option["options"])
        .into_iter()
        .find(|value| value["value"] == wanted || value["name"] == wanted);
    let value = named.map_or(wanted, |value| value["value"].as_str().unwrap_or(wanted));
    Some(Choice {
        method: "session/set_config_option",
        params: json!({"sessionId": session, "configId": option["id"], "value": value}),
    })
}

/// The values of an option, which may stand in groups.
fn values(options: &Value) -> Vec<&Value> {
    let listed = options.as_array().into_iter().flatten();
    listed
        .flat_map(|option| match option["options"].as_array() {
            Some(group) => group.iter().collect(),
            None => vec![option],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use cs_harness::Permissions;

    use super::*;

    fn start() -> Start {
        Start {
            prompt: "do it".to_owned(),
            history: None,
            session: None,
            cwd: "/tree".to_owned(),
            permissions: Permissions::Full,
            model: None,
            effort: None,
        }
    }

    #[test]
    fn a_conversation_is_gone_on_with_in_the_best_way_that_is_offered() {
        let resume =
            json!({"agentCapabilities": {"loadSession": true, "sessionCapabilities": {"resume": {}}}});
        let load = json!({"agentCapabilities": {"loadSession": true}});
        let of = |session: Option<&str>, greeted: &Value| {
            let session = session.map(str::to_owned);
            way(greeted, &Start { session, ..start() })
        };
        assert_eq!(of(None, &resume), Way::New);
        assert_eq!(of(Some("s"), &resume), Way::Resume);
        assert_eq!(of(Some("s"), &load), Way::Load);
        assert_eq!(of(Some("s"), &json!({})), Way::New);
        assert_eq!(of(Some("s"), &json!("odd")), Way::New);
    }

    fn wanted(opened: &Value) -> Vec<(&'static str, Value)> {
        let start = Start {
            model: Some("Big".to_owned()),
            effort: Some("high".to_owned()),
            permissions: Permissions::Edit,
            ..start()
        };
        let made = choices(opened, "s", &start).made;
        made.into_iter()
            .map(|choice| (choice.method, choice.params))
            .collect()
    }

    #[test]
    fn model_effort_and_mode_are_chosen_where_they_are_offered() {
        let opened = json!({
            "modes": {"currentModeId": "yolo", "availableModes": [{"id": "default"}, {"id": "yolo"}]},
            "configOptions": [
                {"id": "m", "category": "model", "options": [{"options": [{"value": "big-1", "name": "Big"}]}]},
                {"id": "thought_level", "options": [{"value": "high", "name": "High"}]},
            ],
        });
        let expected = [
            ("session/set_mode", json!({"sessionId": "s", "modeId": "default"})),
            (
                "session/set_config_option",
                json!({"sessionId": "s", "configId": "m", "value": "big-1"}),
            ),
            (
                "session/set_config_option",
                json!({"sessionId": "s", "configId": "thought_level", "value": "high"}),
            ),
        ];
        assert_eq!(wanted(&opened), expected);
    }

    #[test]
    fn an_older_way_to_choose_a_model_is_taken_where_there_is_no_other() {
        let opened = json!({"models": {"currentModelId": "x", "availableModels": []}});
        assert_eq!(
            wanted(&opened),
            [("session/set_model", json!({"sessionId": "s", "modelId": "Big"}))]
        );
    }

    #[test]
    fn what_cannot_be_chosen_is_told() {
        let start = Start {
            model: Some("big".to_owned()),
            effort: Some("high".to_owned()),
            ..start()
        };
        let none = choices(&json!({}), "s", &start);
        assert_eq!((none.made.len(), none.missing.len()), (0, 2));
    }
}
