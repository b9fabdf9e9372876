//! The model and the effort that a person chooses for one card.

use std::str::FromStr;

use clap::Args;
use cs_model::{AgentName, CardId};
use cs_record::{Choice, Chosen};

use crate::app::{App, Desk};
use crate::config::{Config, Word};
use crate::failure::Failure;

/// What gives a choice back.
const BACK: &str = "default";

/// What the agent of a card is to work with.
#[derive(Debug, Args)]
pub(super) struct ChoiceArgs {
    /// The model for this card, as its agent names it, from the next start on; `default` gives it back to the agent's settings.
    #[arg(long, value_name = "NAME")]
    model: Option<Pick>,
    /// How much that is to think, the same.
    #[arg(long, value_name = "NAME")]
    effort: Option<Pick>,
}

#[derive(Debug, Clone)]
struct Pick(Chosen);

impl FromStr for Pick {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == BACK {
            return Ok(Self(Chosen::OfTheAgent));
        }
        text.parse().map(|Word(word)| Self(Chosen::This(word)))
    }
}

impl ChoiceArgs {
    /// What is chosen for a card whose agent is this one of the configuration. Says so where its money is not counted then.
    ///
    /// # Errors
    /// The agent cannot be told.
    pub(super) fn of_agent(&self, app: &App, config: &Config, agent: &AgentName) -> Result<Choice, Failure> {
        let choice = self.choice();
        let names_one = [&choice.model, &choice.effort]
            .into_iter()
            .any(|chosen| matches!(chosen, Some(Chosen::This(_))));
        // What other machines call by that name is theirs to know.
        match config.agents.get(agent) {
            Some(known) if names_one && !known.config.kind().takes_choices() => Err(Failure::Usage(format!(
                "agent {agent} is a command of its own, which cannot be told a model or an effort, nothing was sent; leave out --model and \
                 --effort and say it in its command, or send to an agent with a harness of its own (`cs-panel agent add NAME --harness \
                 HARNESS`)"
            ))),
            Some(known) => {
                let model = match &choice.model {
                    Some(Chosen::This(model)) => Some(model),
                    Some(Chosen::OfTheAgent) => known.choices.model.as_ref(),
                    None => return Ok(choice),
                };
                if let Some(remark) = config.unpriced(agent, model.map(String::as_str)) {
                    app.out.said(&remark);
                }
                Ok(choice)
            }
            None => Ok(choice),
        }
    }

    /// What is chosen for a card that is there.
    ///
    /// # Errors
    /// Its agent cannot be told.
    pub(super) async fn of_card(&self, app: &App, desk: &Desk, card: CardId) -> Result<Choice, Failure> {
        let choice = self.choice();
        if choice == Choice::default() {
            return Ok(choice);
        }
        let agent = desk.ports.reads.card(card).await?.card.agent;
        self.of_agent(app, &app.config()?, &agent)
    }

    fn choice(&self) -> Choice {
        let chosen = |pick: &Option<Pick>| pick.clone().map(|Pick(chosen)| chosen);
        Choice {
            model: chosen(&self.model),
            effort: chosen(&self.effort),
        }
    }
}
