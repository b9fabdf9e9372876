//! Writes and the constraints over them.

use std::collections::BTreeMap;
use std::fmt::Debug;

use cs_model::{CardState, Epoch, LandingState, RunId, RunKind, TurnState};
use cs_record::{Change, Landing, ReadyFor, Run, RunText, StoreError, TurnMark, Writes};

use super::kept;
use super::tables::Tables;

pub(super) fn refuse<T>(why: impl Into<String>) -> Result<T, StoreError> {
    Err(StoreError::Corrupt(why.into()))
}

impl Tables {
    /// Writes everything into these rows; the caller throws them away on any error.
    pub(super) fn write(&mut self, writes: &Writes) -> Result<(), StoreError> {
        insert(&mut self.cards, &writes.new_cards, |card| card.id)?;
        change(&mut self.cards, &writes.cards, |card| card.id)?;
        insert(&mut self.runs, &writes.new_runs, |run| run.id)?;
        change(&mut self.runs, &writes.runs, |run| run.id)?;
        insert(&mut self.turns, &writes.new_turns, |turn| turn.id)?;
        for change in &writes.turns {
            self.change_turn(change)?;
        }
        insert(&mut self.asks, &writes.new_asks, |ask| ask.id)?;
        change(&mut self.asks, &writes.asks, |ask| ask.id)?;
        insert(&mut self.landings, &writes.new_landings, |landing| landing.id)?;
        change(&mut self.landings, &writes.landings, |landing| landing.id)?;
        for text in &writes.texts {
            insert_text(&mut self.texts, text)?;
        }
        for gone in &writes.gone_attachments {
            if self.attachments.remove(gone).is_none() {
                return refuse(format!("attachment {gone} is not there"));
            }
        }
        for (new, content) in &writes.new_attachments {
            let row = (new.clone(), content.clone());
            if self.attachments.insert(new.id, row).is_some() {
                return refuse(format!("attachment {} is there already", new.id));
            }
        }
        self.dependencies
            .retain(|dependency| !writes.freed.contains(&dependency.card));
        self.dependencies.extend(writes.dependencies.iter().copied());
        for park in &writes.parks {
            self.parks.insert(park.route.clone(), park.clone());
        }
        for unpark in &writes.unparks {
            self.parks
                .retain(|route, park| *route != unpark.route || park.since > unpark.began_at);
        }
        kept::check(writes)?;
        self.check()
    }

    fn change_turn(&mut self, change: &Change<TurnMark>) -> Result<(), StoreError> {
        match self.turns.get_mut(&change.now.id) {
            Some(turn) if TurnMark::from(&*turn) == change.was => {
                turn.state = change.now.state;
                turn.run = change.now.run;
                Ok(())
            }
            Some(_) | None => refuse(format!("turn {} is not as it was read", change.now.id)),
        }
    }

    /// Checks what a database has constraints for.
    fn check(&self) -> Result<(), StoreError> {
        for card in self.cards.values() {
            if card.state != CardState::Open && card.ready.what != ReadyFor::Nothing {
                return refuse(format!("card {} is {} and ready for work", card.id, card.state));
            }
            if card.codebase.is_some_and(|id| !self.codebases.contains_key(&id))
                || card.owner.is_some_and(|id| !self.runs.contains_key(&id))
            {
                return refuse(format!("card {} refers to what is not there", card.id));
            }
        }
        self.check_children()?;
        self.check_dependencies()?;
        let files = self.attachments.values();
        unique(
            files.map(|(one, _)| (one.card, one.name.clone())),
            "two attachments of one card have one name",
        )?;
        unique(
            self.turns.values().map(|turn| (turn.card, turn.seq)),
            "two turns have one place",
        )?;
        let live = |run: &&Run| match run.kind {
            RunKind::Owner => true,
            RunKind::Launcher => run.state.is_live(),
            RunKind::Worker | RunKind::Issue => false,
        };
        unique(
            self.runs.values().filter(live).map(|run| (run.card, run.kind)),
            "two owners, or two live launchers, of one card",
        )?;
        let live = self.landings.values().filter(|landing| !landing.state.is_over());
        unique(live.map(|landing| landing.card), "two landings of one card")?;
        let running = self
            .landings
            .values()
            .filter(|landing| landing.state == LandingState::Running);
        unique(
            running.map(|landing| (landing.codebase, landing.base.clone())),
            "landings_one_of_base: two landings on one base of a codebase are running",
        )
    }

    fn check_dependencies(&self) -> Result<(), StoreError> {
        for dependency in &self.dependencies {
            let known = [dependency.card, dependency.after];
            if known.iter().any(|card| !self.cards.contains_key(card)) {
                return refuse(format!(
                    "card {} waits for one that is not there",
                    dependency.card
                ));
            }
            if self.reaches(dependency.after, dependency.card) {
                return refuse(format!("card {} waits for itself", dependency.card));
            }
        }
        Ok(())
    }

    fn check_children(&self) -> Result<(), StoreError> {
        for run in self.runs.values() {
            if !self.cards.contains_key(&run.card) || run.state.is_live() != run.ended_at.is_none() {
                return refuse(format!("run {} has no card, or an end that does not fit", run.id));
            }
            if run.left_behind.is_some() && run.process.is_none() {
                return refuse(format!(
                    "run {} has left something behind without a process",
                    run.id
                ));
            }
            let parent = run.parent.and_then(|parent| self.runs.get(&parent));
            let fits = match run.kind {
                RunKind::Launcher | RunKind::Issue => run.parent.is_none(),
                RunKind::Owner => run.parent.is_none() || parent.is_some_and(|p| p.kind == RunKind::Launcher),
                RunKind::Worker => parent.is_some_and(|p| p.kind == RunKind::Owner),
            };
            if !fits || parent.is_some_and(|parent| parent.card != run.card) {
                return refuse(format!("run {} has a parent that does not fit", run.id));
            }
        }
        for turn in self.turns.values() {
            let fits = match turn.state {
                TurnState::Pending => turn.run.is_none(),
                TurnState::Leased => turn.run.is_some(),
                TurnState::Settled => true,
            };
            let known = turn.run.is_none_or(|run| self.runs.contains_key(&run));
            if !self.cards.contains_key(&turn.card) || !fits || !known {
                return refuse(format!(
                    "turn {} has no card, or a run that does not fit",
                    turn.id
                ));
            }
        }
        for ask in self.asks.values() {
            let answered = ask.state == cs_model::AskState::Answered;
            if !self.runs.contains_key(&ask.run) || answered != ask.answer.is_some() {
                return refuse(format!(
                    "ask {} has no run, or an answer that does not fit",
                    ask.id
                ));
            }
        }
        for landing in self.landings.values() {
            if landing.state.is_over() != landing.ended_at.is_some() {
                return refuse(format!("landing {} has an end that does not fit", landing.id));
            }
            if !evidence_fits(landing) {
                return refuse(format!("landing {} has evidence that does not fit", landing.id));
            }
        }
        Ok(())
    }
}

fn evidence_fits(landing: &Landing) -> bool {
    let was_verified = landing.evidence.is_some();
    match landing.state {
        LandingState::VerifyFailed => was_verified,
        LandingState::Landed => true,
        LandingState::Accepted
        | LandingState::Running
        | LandingState::Conflict
        | LandingState::Published
        | LandingState::Refused => !was_verified,
    }
}

fn insert<K: Ord + Debug, T: Clone>(
    table: &mut BTreeMap<K, T>,
    rows: &[T],
    key: impl Fn(&T) -> K,
) -> Result<(), StoreError> {
    for row in rows {
        if table.contains_key(&key(row)) {
            return refuse(format!("{:?} is there already", key(row)));
        }
        table.insert(key(row), row.clone());
    }
    Ok(())
}

fn change<K: Ord + Debug, T: Clone + PartialEq>(
    table: &mut BTreeMap<K, T>,
    rows: &[Change<T>],
    key: impl Fn(&T) -> K,
) -> Result<(), StoreError> {
    for row in rows {
        match table.get_mut(&key(&row.now)) {
            Some(stored) if *stored == row.was => *stored = row.now.clone(),
            Some(_) | None => return refuse(format!("{:?} is not as it was read", key(&row.now))),
        }
    }
    Ok(())
}

fn insert_text(texts: &mut BTreeMap<(RunId, Epoch), String>, text: &RunText) -> Result<(), StoreError> {
    match texts.insert((text.run, text.epoch), text.body.clone()) {
        None => Ok(()),
        Some(_) => refuse(format!("a text of run {} was written twice", text.run)),
    }
}

fn unique<K: Ord>(keys: impl Iterator<Item = K>, what: &str) -> Result<(), StoreError> {
    let mut keys: Vec<_> = keys.collect();
    keys.sort();
    if keys.windows(2).any(|pair| pair[0] == pair[1]) {
        return refuse(what);
    }
    Ok(())
}
