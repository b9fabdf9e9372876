//! What an attempt has used.

use cs_harness::{HarnessKind, Seen, UsageTotals, price_of};

use super::AttemptFile;

/// Counts what one attempt uses.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    /// The conversation that its agent was asked to go on with.
    session: Option<String>,
    /// What that had used before.
    before: UsageTotals,
    /// The model that was chosen for it.
    model: Option<String>,
}

impl Meter {
    /// Counts for the attempt of an execution; without its note everything that its agent tells is its own.
    pub(crate) fn of(file: Option<&AttemptFile>) -> Self {
        file.map_or_else(Self::default, |file| Self {
            session: file.session.clone(),
            before: file.before,
            model: file.model.clone(),
        })
    }

    /// Says what it has used by now. Of what its conversation counts, what that had used before is taken off; an agent that tells no
    /// cost has that of the list, where its model was chosen and is on it.
    pub(crate) fn read(&self, seen: &Seen) -> UsageTotals {
        let went_on = self.session.as_deref();
        let went_on = went_on.is_some_and(|asked| seen.fell_back_from(asked).is_none());
        let nothing = UsageTotals::default();
        let mut used = seen.usage(if went_on { &self.before } else { &nothing });
        if used.cost_micro_usd.is_none() {
            let price = self.model.as_deref().and_then(price_of);
            used.cost_micro_usd = price.and_then(|price| price.micro_usd(&used));
        }
        used
    }

    /// Names the conversation in which an agent answers without knowing what was said before, where it was asked to go on with another one
    /// and fell back to that.
    pub(crate) fn fell_back<'a>(&self, kind: HarnessKind, seen: &'a Seen) -> Option<&'a str> {
        match kind {
            // The bridge finds it before it asks, and tells what was said before.
            HarnessKind::Acp => None,
            HarnessKind::Plain
            | HarnessKind::JsonLines
            | HarnessKind::Claude
            | HarnessKind::Codex
            | HarnessKind::Opencode
            | HarnessKind::Pi => seen.fell_back_from(self.session.as_deref()?),
        }
    }

    /// Counts for an attempt that goes on with a conversation which has used so much.
    #[cfg(test)]
    pub(super) fn going_on(before: UsageTotals) -> Self {
        Self {
            session: Some("s".to_owned()),
            before,
            model: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use cs_harness::{Event, UsageReport, UsageSpan};

    use super::*;

    fn told(input_tokens: u64, cost_micro_usd: Option<u64>) -> Seen {
        let mut seen = Seen::default();
        seen.observe(&Event::Session { id: "s".to_owned() });
        seen.observe(&Event::Usage(UsageReport {
            span: UsageSpan::Session,
            totals: UsageTotals {
                input_tokens: Some(input_tokens),
                output_tokens: Some(0),
                cost_micro_usd,
                ..UsageTotals::default()
            },
        }));
        seen
    }

    #[test]
    fn an_agent_that_tells_no_cost_has_that_of_the_list_for_what_it_used_itself() {
        let model = "gpt-5.4";
        let a_million = price_of(model).expect("it is on the list").input;
        let before = UsageTotals {
            input_tokens: Some(1_000_000),
            ..UsageTotals::default()
        };
        let meter = Meter {
            model: Some(model.to_owned()),
            ..Meter::going_on(before)
        };
        let used = meter.read(&told(3_000_000, None));
        assert_eq!(used.input_tokens, Some(2_000_000));
        assert_eq!(used.cost_micro_usd, Some(2 * a_million));
        assert_eq!(meter.read(&told(3_000_000, Some(7))).cost_micro_usd, Some(7));
    }

    #[test]
    fn a_model_that_nobody_chose_or_that_is_not_on_the_list_has_no_cost() {
        for model in [None, Some("a-model-of-mine".to_owned())] {
            let meter = Meter {
                model,
                ..Meter::default()
            };
            assert_eq!(meter.read(&told(1_000_000, None)).cost_micro_usd, None);
        }
    }
}
