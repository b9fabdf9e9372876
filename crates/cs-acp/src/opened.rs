//! What an agent offers, and what is chosen of it.

use cs_harness::{Permissions, one_line};
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

/// An old conversation that is said again, and the choices to be made then.
#[derive(Debug)]
pub(crate) struct Settling {
    choices: std::vec::IntoIter<Choice>,
    has_heard: bool,
    rounds: u32,
}

/// So often an agent is asked whether it has said all: one that never stops talking is led on.
const ROUNDS_MAX: u32 = 10_000;

impl Settling {
    pub(crate) fn new(choices: std::vec::IntoIter<Choice>) -> Self {
        Self {
            choices,
            has_heard: false,
            rounds: 0,
        }
    }

    /// Something was said.
    pub(crate) fn has_heard(&mut self) {
        self.has_heard = true;
    }

    /// The next round where something was said in the last one, else the choices.
    pub(crate) fn once_more(self) -> Result<Self, std::vec::IntoIter<Choice>> {
        if !self.has_heard || self.rounds >= ROUNDS_MAX {
            return Err(self.choices);
        }
        Ok(Self {
            has_heard: false,
            rounds: self.rounds + 1,
            ..self
        })
    }
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
    if let Some(mode) = asking_mode(opened, start) {
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

/// The mode in which an agent asks before it acts, where it begins in another one: with less than everything it has to, and with
/// everything no mode may forbid what is allowed, or ask a model about it. One that allows everything serves as well then.
fn asking_mode(opened: &Value, start: &Start) -> Option<&'static str> {
    const ASKING: &str = "default";
    const ALLOWING: [&str; 2] = ["yolo", "bypassPermissions"];
    let modes = &opened["modes"];
    let is_offered = modes["availableModes"]
        .as_array()?
        .iter()
        .any(|mode| mode["id"] == ASKING);
    let now = modes["currentModeId"].as_str().unwrap_or_default();
    let serves = match start.permissions {
        Permissions::Edit => now == ASKING,
        Permissions::Full => now == ASKING || ALLOWING.contains(&now),
    };
    (is_offered && !serves).then_some(ASKING)
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
            tools: None,
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
    fn an_agent_is_put_into_the_mode_in_which_it_asks_unless_it_may_do_all_that_it_asks_for() {
        let all = ["default", "auto", "plan", "auto-edit", "yolo"];
        let modes: Vec<Value> = all.iter().map(|id| json!({"id": id})).collect();
        for (permissions, now, expected) in [
            (Permissions::Edit, "default", false),
            (Permissions::Edit, "auto", true),
            (Permissions::Edit, "yolo", true),
            (Permissions::Full, "default", false),
            (Permissions::Full, "auto", true),
            (Permissions::Full, "plan", true),
            (Permissions::Full, "yolo", false),
        ] {
            let start = Start {
                permissions,
                ..start()
            };
            let opened = json!({"modes": {"currentModeId": now, "availableModes": modes}});
            let found = asking_mode(&opened, &start).is_some();
            assert_eq!(found, expected, "{permissions:?} {now}");
            let none = json!({"modes": {"currentModeId": now, "availableModes": [{"id": "build"}]}});
            assert_eq!(asking_mode(&none, &start), None);
        }
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
