//! Asking the person.

use async_trait::async_trait;
use cs_model::AskId;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::host::Question;
use crate::tool::{Called, Failure, Tool, ToolSpec, arguments, schema, text};

/// A question is a text to read, not a file.
const QUESTION_MAX_BYTES: usize = 16 << 10;
const CHOICE_MAX_BYTES: usize = 512;
const CHOICES_MAX: usize = 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What you want to know, with all that the person needs to answer it.
    question: String,
    /// What they can choose from. Leave it out for a free answer.
    #[serde(default)]
    choices: Vec<String>,
}

/// Asks the person; the run ends with it and goes on with the answer.
pub(crate) struct Ask;

#[async_trait]
impl Tool for Ask {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "ask",
            description: "Asks the person who gave you this work. Call it when you cannot go on without their word, then end your \
                          turn: you are started again with their answer, with everything you know now. Nobody answers while you wait.",
            arguments: schema::<Arguments>(),
            reads_only: false,
        }
    }

    async fn call(&self, called: Called<'_>) -> Result<String, Failure> {
        let given: Arguments = arguments(called.arguments)?;
        let choices = given.choices;
        if choices.len() > CHOICES_MAX {
            return Err(Failure::Arguments(format!(
                "`choices` has {} entries, {CHOICES_MAX} at most are taken",
                choices.len()
            )));
        }
        let choices = choices
            .iter()
            .map(|choice| text("choices", choice, CHOICE_MAX_BYTES));
        let question = Question {
            text: text("question", &given.question, QUESTION_MAX_BYTES)?,
            choices: choices.collect::<Result<_, _>>()?,
        };
        let id = AskId::from_uuid(called.id.effect(called.caller, "ask"));
        called.host.ask(called.caller, id, &question).await?;
        Ok(
            "The question is written down. End your turn now: you are started again with the answer."
                .to_owned(),
        )
    }
}
