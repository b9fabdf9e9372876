//! Invariant 14: what is on the record names no file of a machine.

use super::{Event, Invariant, Moment};

/// Invariant 14, of paths.
#[derive(Debug, Default)]
pub(super) struct NoPath;

impl Invariant for NoPath {
    fn name(&self) -> &'static str {
        "14. no local path is on the record"
    }

    fn see(&mut self, moment: &Moment<'_>) -> Result<(), String> {
        let (Event::Wrote(_) | Event::AtRest) = moment.event else {
            return Ok(());
        };
        let rows = moment.rows;
        let reasons = rows.runs.iter().filter_map(|run| run.failed_because.as_deref());
        let left = rows.runs.iter().filter_map(|run| run.left_behind.as_ref());
        let cards = rows.cards.iter().filter_map(|card| card.reason.as_deref());
        let landings = rows
            .landings
            .iter()
            .filter_map(|landing| landing.result.as_deref());
        let asks = rows.asks.iter().filter_map(|ask| ask.answer.as_deref());
        let turns = rows.turns.iter().map(|turn| turn.body.as_str());
        let texts = reasons
            .chain(left.map(|left| left.what.as_str()))
            .chain(cards)
            .chain(landings)
            .chain(asks)
            .chain(turns);
        let of_a_machine = |text: &&str| {
            let roots = moment.machines.iter().map(|machine| machine.state.root());
            let own = roots
                .into_iter()
                .any(|root| text.contains(&*root.to_string_lossy()));
            own || text.contains("/checkout") || text.contains("/repository") || text.contains("/tree")
        };
        let mut texts = texts;
        match texts.find(of_a_machine) {
            Some(text) => Err(format!("the record says {text:?}")),
            None => Ok(()),
        }
    }
}
