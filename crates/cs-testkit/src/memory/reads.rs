//! Reads over the rows.

use cs_model::{
    AskState, AskTo, Author, CardId, CardState, Epoch, MachineId, RunId, RunKind, RunState, Time, TurnState,
};
use cs_record::{
    Ask, Attachment, Card, CardDetail, CardFilter, CardSummary, ChildBrief, Former, Offer, Peeked, ReadyFor,
    Redirect, Run, RunBrief, StandingRule, Turn,
};

use super::select::is_offered;
use super::tables::{Named, Tables};

impl Tables {
    pub(super) fn peek(&self, machine: MachineId, agents: &[String], now: Time) -> Peeked {
        let limits = self.limits_of(machine, now);
        let ready = |what| {
            self.offered(machine, agents, &limits)
                .any(|card| is_offered(card, what, &limits) && card.ready.from <= now)
        };
        let to_close =
            |run: &Run| run.machine == machine && run.state != RunState::Running && run.process.is_some();
        let due = self.offered(machine, agents, &limits).map(|card| card.ready.from);
        let ends = self.parks.values().filter(|park| park.route.machine == machine);
        let due = due
            .chain(ends.filter_map(|park| park.until))
            .filter(|from| *from > now);
        Peeked {
            turns: ready(Offer::Ready(ReadyFor::Turns)),
            rearms: ready(Offer::Ready(ReadyFor::Rearm)),
            resumes: ready(Offer::Ready(ReadyFor::Resume)),
            recovery: ready(Offer::Recovery),
            landings: !self.takeable_landings(machine).is_empty(),
            to_close: self.runs.values().any(to_close),
            next_due: due.min(),
            redirects: self.redirects(machine, agents, now),
        }
    }

    /// The owners at work on a machine to whom a person has said something since their attempt began.
    fn redirects(&self, machine: MachineId, agents: &[String], now: Time) -> Vec<Redirect> {
        let parked = self.limits_of(machine, now).parked;
        let mut redirects = Vec::new();
        for run in self.runs.values() {
            let Some(card) = self
                .cards
                .get(&run.card)
                .filter(|card| card.owner == Some(run.id))
            else {
                continue;
            };
            let at_work = run.machine == machine
                && run.state == RunState::Running
                && card.machine == Some(machine)
                && card.state == CardState::Open;
            let turns = self.turns.values().filter(|turn| {
                turn.card == card.id
                    && turn.state == TurnState::Pending
                    && matches!(turn.author, Author::Person(_))
            });
            let newest = turns.map(|turn| turn.said_at).max();
            if !at_work || newest <= Some(run.resumed_at.unwrap_or(run.started_at)) {
                continue;
            }
            redirects.push(Redirect {
                run: run.id,
                epoch: run.epoch,
                card: card.id,
                codebase: card.codebase,
                is_due: card.not_before.is_none_or(|from| from <= now)
                    && agents.iter().any(|agent| agent == card.agent.as_str())
                    && !parked.contains(&card.agent)
                    && self.waits_for(card.id).is_empty(),
            });
        }
        redirects
    }

    pub(super) fn turns_of(&self, card: CardId) -> Vec<Turn> {
        let mut turns: Vec<_> = self
            .turns
            .values()
            .filter(|turn| turn.card == card)
            .cloned()
            .collect();
        turns.sort_by_key(|turn| turn.seq);
        turns
    }

    fn asks_where(&self, wanted: impl Fn(&Ask) -> bool) -> Vec<Ask> {
        let mut asks: Vec<_> = self.asks.values().filter(|ask| wanted(ask)).cloned().collect();
        asks.sort_by_key(|ask| (ask.asked_at, ask.id));
        asks
    }

    pub(super) fn run_brief(&self, run: RunId) -> Option<(Run, RunBrief)> {
        let run = self.runs.get(&run)?.clone();
        let card = self.cards.get(&run.card)?.clone();
        let brief = RunBrief {
            former: Former::of(&run),
            codebase: self.codebase_name(&card),
            turns: self.turns_of(card.id),
            asks: self.asks_where(|ask| ask.run == run.id),
            brief: self.texts.get(&(run.id, Epoch::NONE)).cloned(),
            children: (run.kind != RunKind::Worker).then(|| self.children_of(&run)),
            questions: self.asks_where(|ask| self.is_question_to(ask, &run)),
            attachments: self.attachments_of(card.id),
            rules: self.standing_where(|rule| rule.covers(run.codebase)),
            card,
        };
        Some((run, brief))
    }

    pub(super) fn attachments_of(&self, card: CardId) -> Vec<Attachment> {
        let mine = self.attachments.values().filter(|(one, _)| one.card == card);
        let mut mine: Vec<_> = mine.map(|(one, _)| one.clone()).collect();
        mine.sort_by(|a, b| (a.at, &a.name).cmp(&(b.at, &b.name)));
        mine
    }

    pub(super) fn standing_where(&self, wanted: impl Fn(&StandingRule) -> bool) -> Vec<StandingRule> {
        let mut rules: Vec<_> = self
            .standing
            .values()
            .filter(|rule| wanted(rule))
            .cloned()
            .collect();
        rules.sort_by_key(|rule| (rule.codebase, rule.created_at, rule.id));
        rules
    }

    fn is_question_to(&self, ask: &Ask, parent: &Run) -> bool {
        let child = self
            .runs
            .get(&ask.run)
            .is_some_and(|run| run.parent == Some(parent.id));
        child && ask.state == AskState::Open && ask.to == AskTo::Parent && ask.given == Some(parent.epoch)
    }

    fn children_of(&self, parent: &Run) -> Vec<ChildBrief> {
        let mut children: Vec<_> = self
            .runs
            .values()
            .filter(|run| run.parent == Some(parent.id))
            .collect();
        children.sort_by_key(|run| (run.started_at, run.id));
        let text = |run: RunId, epoch: Epoch| self.texts.get(&(run, epoch)).cloned();
        children
            .into_iter()
            .map(|run| ChildBrief {
                run: run.clone(),
                brief: text(run.id, Epoch::NONE).unwrap_or_default(),
                report: text(run.id, run.settled).filter(|_| run.settled != Epoch::NONE),
            })
            .collect()
    }

    pub(super) fn machine_runs(&self, machine: MachineId) -> Vec<Run> {
        let held =
            |run: &&Run| run.machine == machine && (run.state == RunState::Running || run.process.is_some());
        self.runs.values().filter(held).cloned().collect()
    }

    pub(super) fn summaries(&self, filter: CardFilter) -> Vec<CardSummary> {
        let wanted = |card: &&Card| match filter {
            CardFilter::All => true,
            CardFilter::Current => !matches!(card.state, CardState::Landed | CardState::Closed),
        };
        let mut cards: Vec<_> = self.cards.values().filter(wanted).collect();
        cards.sort_by_key(|card| std::cmp::Reverse((card.updated_at, card.id)));
        let summary = |card: &Card| {
            let aggregate = self.aggregate(card, &Named::default());
            let landings = self.landings.values().filter(|landing| landing.card == card.id);
            let last = landings.max_by_key(|landing| (landing.accepted_at, landing.id));
            CardSummary::of(
                aggregate,
                self.codebase_name(card),
                last.map(|landing| landing.state),
            )
        };
        cards.into_iter().map(summary).collect()
    }

    pub(super) fn detail(&self, card: CardId) -> Option<CardDetail> {
        let card = self.cards.get(&card)?.clone();
        let mut runs: Vec<_> = self
            .runs
            .values()
            .filter(|run| run.card == card.id)
            .cloned()
            .collect();
        runs.sort_by_key(|run| (run.started_at, run.id));
        let mut landings: Vec<_> = self
            .landings
            .values()
            .filter(|landing| landing.card == card.id)
            .cloned()
            .collect();
        landings.sort_by_key(|landing| (landing.accepted_at, landing.id));
        Some(CardDetail {
            codebase: self.codebase_name(&card),
            asks: self.asks_where(|ask| ask.card == card.id),
            runs,
            landings,
            waits_for: self.waits_for(card.id),
            card,
        })
    }

    pub(super) fn open_asks(&self) -> Vec<(Ask, String)> {
        let open = self.asks_where(|ask| ask.state == AskState::Open && ask.to == AskTo::Person);
        let titled = |ask: Ask| {
            let title = self.cards.get(&ask.card)?.title.clone();
            Some((ask, title))
        };
        open.into_iter().filter_map(titled).collect()
    }
}
