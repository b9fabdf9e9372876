//! The rows of a take, in which few columns change: of these alone a statement is a third of the work.

use cs_model::Time;
use cs_record::{Card, Change, Run};
use serde::Serialize;

use crate::row_cards::integer;

/// A card of which nothing changes but these columns.
#[derive(Serialize)]
pub(crate) struct TakenCard {
    id: String,
    was_version: i64,
    machine_id: Option<String>,
    recovery: i64,
    done: i64,
    ready_for: &'static str,
    ready_from: i64,
    updated_at: i64,
    version: i64,
}

impl TakenCard {
    /// Returns nothing when another column changes too.
    fn of(Change { was, now }: &Change<Card>) -> Option<Self> {
        let taken = Card {
            machine: now.machine,
            recovery: now.recovery,
            done: now.done,
            ready: now.ready,
            updated_at: now.updated_at,
            version: now.version,
            ..was.clone()
        };
        (taken == *now).then(|| Self {
            id: now.id.to_string(),
            was_version: integer(was.version),
            machine_id: now.machine.map(|id| id.to_string()),
            recovery: now.recovery.into(),
            done: now.done.into(),
            ready_for: now.ready.what.as_str(),
            ready_from: now.ready.from.unix_micros(),
            updated_at: now.updated_at.unix_micros(),
            version: integer(now.version),
        })
    }
}

/// A run of which nothing changes but these columns.
#[derive(Serialize)]
pub(crate) struct TakenRun {
    id: String,
    was_epoch: i64,
    was_token: String,
    was_state: String,
    state: String,
    epoch: i64,
    token: String,
    machine_id: String,
    resumed_at: Option<i64>,
    ended_at: Option<i64>,
    again_at: Option<i64>,
    starts: i64,
}

impl TakenRun {
    /// Returns nothing when another column changes too.
    fn of(Change { was, now }: &Change<Run>) -> Option<Self> {
        let taken = Run {
            state: now.state,
            epoch: now.epoch,
            token: now.token,
            machine: now.machine,
            resumed_at: now.resumed_at,
            ended_at: now.ended_at,
            again_at: now.again_at,
            starts: now.starts,
            ..was.clone()
        };
        (taken == *now).then(|| Self {
            id: now.id.to_string(),
            was_epoch: was.epoch.get().into(),
            was_token: was.token.to_string(),
            was_state: was.state.to_string(),
            state: now.state.to_string(),
            epoch: now.epoch.get().into(),
            token: now.token.to_string(),
            machine_id: now.machine.to_string(),
            resumed_at: now.resumed_at.map(Time::unix_micros),
            ended_at: now.ended_at.map(Time::unix_micros),
            again_at: now.again_at.map(Time::unix_micros),
            starts: now.starts.into(),
        })
    }
}

/// Parts changes into those of a take and all others.
fn part<T, R>(changes: &[Change<T>], of: impl Fn(&Change<T>) -> Option<R>) -> (Vec<R>, Vec<&Change<T>>) {
    let (mut taken, mut others) = (Vec::with_capacity(changes.len()), Vec::new());
    for change in changes {
        match of(change) {
            Some(row) => taken.push(row),
            None => others.push(change),
        }
    }
    (taken, others)
}

/// Parts changes of cards into those of takes and all others.
pub(crate) fn cards(changes: &[Change<Card>]) -> (Vec<TakenCard>, Vec<&Change<Card>>) {
    part(changes, TakenCard::of)
}

/// Parts changes of runs into those of takes and all others.
pub(crate) fn runs(changes: &[Change<Run>]) -> (Vec<TakenRun>, Vec<&Change<Run>>) {
    part(changes, TakenRun::of)
}
