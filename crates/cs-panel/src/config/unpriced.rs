//! Budgets of money for an agent that tells no cost, with a model whose price is not known: they would bound nothing.

use cs_harness::{HarnessKind, PRICES_OF, price_of};
use cs_model::AgentName;

use super::Config;

/// A model whose price is known.
const PRICED: &str = "gpt-5.4";

impl Config {
    /// What its person should know of the file, although it holds.
    pub(crate) fn remarks(&self) -> impl Iterator<Item = String> {
        let unpriced = self
            .agents
            .iter()
            .filter_map(|(name, agent)| self.unpriced(name, agent.choices.model.as_deref()));
        self.exposed().into_iter().chain(unpriced)
    }

    /// Says that the money that an agent may cost is not counted with this model, or where none is chosen.
    pub(crate) fn unpriced(&self, name: &AgentName, model: Option<&str>) -> Option<String> {
        let agent = self.agents.get(name)?;
        let is_bounded = agent.bounds.micro_usd.is_some() || agent.bounds.card_micro_usd.is_some();
        let label = match agent.config.kind() {
            kind @ HarnessKind::Codex => kind.label(),
            // They tell it, or it is for the person who made the command to know.
            HarnessKind::Claude
            | HarnessKind::Opencode
            | HarnessKind::Pi
            | HarnessKind::Acp
            | HarnessKind::Plain
            | HarnessKind::JsonLines => return None,
        };
        if !is_bounded || model.and_then(price_of).is_some() {
            return None;
        }
        let why = match model {
            None => "no model is chosen for it".to_owned(),
            Some(model) => format!("the price of its model {model} is not known (list of {PRICES_OF})"),
        };
        Some(format!(
            "`usd` and `card_usd` do not hold agent {name}: {label} tells no cost, and {why}; choose one whose price is known, such as \
             {PRICED}, with `model` under [agents.{name}] in {} or with `send --model`, or bound `tokens` instead",
            self.path.display()
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn remarks(agent: &str) -> Vec<String> {
        let text = format!("[agents.c]\n{agent}\n[agents.free]\nharness = \"codex\"\n");
        let config = Config::parse(PathBuf::from("/c.toml"), text.into_bytes());
        config.expect("it is right").remarks().collect()
    }

    #[test]
    fn a_budget_of_money_that_nobody_can_count_is_named_with_the_cure() {
        assert!(price_of(PRICED).is_some(), "it is the cure");
        for limits in ["usd = 1.0", "card_usd = 1.0", "usd = 1.0\ncard_usd = 1.0"] {
            for (model, why) in [
                ("", "no model is chosen"),
                ("model = \"mine\"", "model mine is not known"),
            ] {
                let agent = format!("harness = \"codex\"\n{model}\n[agents.c.limits]\n{limits}");
                let [said] = &remarks(&agent)[..] else {
                    panic!("{agent}")
                };
                assert!(said.contains("agent c:") && said.contains(why), "{said}");
                assert!(
                    said.contains("[agents.c] in /c.toml") && said.contains("`tokens`"),
                    "{said}"
                );
            }
        }
        for fine in [
            "harness = \"codex\"\nmodel = \"gpt-5.4\"\n[agents.c.limits]\nusd = 1.0",
            "harness = \"codex\"\n[agents.c.limits]\ntokens = 5",
            "harness = \"claude\"\n[agents.c.limits]\nusd = 1.0",
        ] {
            assert_eq!(remarks(fine), Vec::<String>::new(), "{fine}");
        }
    }
}
