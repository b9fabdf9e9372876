//! What happened, from what is written: events follow from the rows of a decision, so that no rule has to write history and none can
//! forget to.

use cs_journal::Woke;
use cs_model::{AskState, AskTo, CardState, Ending, Epoch, LandingState, RunId, RunState, Time};

use crate::journal::JournalEntry;
use crate::{Ask, Card, Change, Event, Landing, Run, Turn, What, Writes};

/// The longest reason that an event repeats; the row has all of it.
const MAX_REASON_CHARS: usize = 300;

/// Returns the events of what is about to be written, in the order in which they are told: what was said and asked, what became of
/// attempts and landings, and then of the card.
pub(crate) fn events(writes: &Writes, now: Time) -> Vec<Event> {
    let telling = Telling { writes, now };
    let mut events = Vec::new();
    for card in &writes.new_cards {
        let by = card.person.clone();
        events.push(telling.of_card(card, What::Made { by }));
    }
    events.extend(writes.cards.iter().filter_map(|change| telling.opened(change)));
    events.extend(writes.new_turns.iter().map(|turn| telling.said(turn)));
    for (attachment, _) in &writes.new_attachments {
        let attachment = attachment.id;
        events.extend(telling.of_only_card(What::Attached { attachment }));
    }
    for attachment in writes.gone_attachments.iter().copied() {
        events.extend(telling.of_only_card(What::Detached { attachment }));
    }
    events.extend(writes.new_asks.iter().map(|ask| telling.asked(ask)));
    events.extend(writes.asks.iter().filter_map(|change| telling.moved(change)));
    for run in &writes.new_runs {
        events.push(telling.claimed(run));
    }
    for change in &writes.runs {
        telling.run(change, &mut events);
    }
    for landing in &writes.new_landings {
        let what = What::LandingAccepted {
            landing: landing.id,
            by: landing.accepted_by.clone(),
            onto: landing.base.clone(),
        };
        events.push(telling.of_landing(landing, what));
    }
    events.extend(
        writes
            .landings
            .iter()
            .filter_map(|change| telling.landing(change)),
    );
    for change in &writes.cards {
        events.extend(telling.closed(change));
        events.extend(telling.handled(change));
    }
    events
}

struct Telling<'a> {
    writes: &'a Writes,
    now: Time,
}

impl Telling<'_> {
    fn of_card(&self, card: &Card, what: What) -> Event {
        Event {
            card: card.id,
            run: None,
            epoch: None,
            machine: None,
            at: self.now,
            what,
        }
    }

    /// What an act on one card did that has no card on its row.
    fn of_only_card(&self, what: What) -> Option<Event> {
        let changed = self.writes.cards.iter().map(|change| &change.now);
        let card = self.writes.new_cards.iter().chain(changed).next()?;
        Some(self.of_card(card, what))
    }

    fn of_run(&self, run: &Run, what: What) -> Event {
        Event {
            card: run.card,
            run: Some(run.id),
            epoch: Some(run.epoch),
            machine: Some(run.machine),
            at: self.now,
            what,
        }
    }

    fn of_landing(&self, landing: &Landing, what: What) -> Event {
        Event {
            card: landing.card,
            run: None,
            epoch: Some(landing.epoch).filter(|epoch| *epoch != Epoch::NONE),
            machine: Some(landing.machine),
            at: self.now,
            what,
        }
    }

    /// An event of a run of which at most the id is at hand: its row says more where it is written too.
    fn of_some_run(&self, card: cs_model::CardId, id: RunId, what: What) -> Event {
        let rows = self.writes.new_runs.iter();
        let mut rows = rows.chain(self.writes.runs.iter().map(|change| &change.now));
        match rows.find(|run| run.id == id) {
            Some(run) => self.of_run(run, what),
            None => Event {
                card,
                run: Some(id),
                epoch: None,
                machine: None,
                at: self.now,
                what,
            },
        }
    }

    fn said(&self, turn: &Turn) -> Event {
        let what = What::Said {
            turn: turn.id,
            seq: turn.seq,
            by: turn.author.clone(),
        };
        let mut event = match &turn.author {
            cs_model::Author::Agent(run) => self.of_some_run(turn.card, *run, what),
            cs_model::Author::Person(_) | cs_model::Author::System => Event {
                card: turn.card,
                run: None,
                epoch: None,
                machine: None,
                at: self.now,
                what,
            },
        };
        event.at = turn.said_at;
        event
    }

    fn asked(&self, ask: &Ask) -> Event {
        let what = What::Asked {
            ask: ask.id,
            to: ask.to,
            offer: ask.offer.is_some(),
        };
        self.of_some_run(ask.card, ask.run, what)
    }

    /// What became of a question; nothing where only who knows of it has changed.
    fn moved(&self, Change { was, now }: &Change<Ask>) -> Option<Event> {
        let ask = now.id;
        let what = match now.state {
            AskState::Open if was.state == AskState::Accepted => What::OfferOpen { ask },
            AskState::Open if was.to == AskTo::Parent && now.to == AskTo::Person => What::PassedOn { ask },
            AskState::Open => return None,
            state if state == was.state => return None,
            AskState::Accepted => What::OfferAccepted { ask },
            AskState::Withdrawn => What::Withdrawn { ask },
            AskState::Answered => What::Answered {
                ask,
                by: now.answered_by.clone().unwrap_or(cs_model::Author::System),
            },
        };
        Some(self.of_some_run(now.card, now.run, what))
    }

    fn claimed(&self, run: &Run) -> Event {
        let what = What::Claimed {
            job: run.kind,
            agent: run.agent.clone(),
            model: run.model.clone(),
            effort: run.effort.clone(),
            woke: self.woke(run),
        };
        self.of_run(run, what)
    }

    /// What woke an attempt, as its receipt says.
    fn woke(&self, run: &Run) -> Option<Woke> {
        match &self.writes.journal {
            Some(JournalEntry::Claimed { receipt, .. }) => {
                let mut runs = receipt.runs.iter();
                let claimed = runs.find(|claimed| claimed.run == run.id && claimed.epoch == run.epoch);
                claimed.map(|claimed| claimed.woke.clone())
            }
            Some(JournalEntry::Interrupted(_) | JournalEntry::Cancelled) | None => None,
        }
    }

    /// What became of an attempt: a row can say several things at once.
    fn run(&self, Change { was, now }: &Change<Run>, events: &mut Vec<Event>) {
        if now.epoch != was.epoch {
            events.push(self.claimed(now));
        } else if now.state != was.state || now.settled != was.settled {
            events.extend(settled(was, now).map(|what| self.of_run(now, what)));
        }
        if let Some(mark) = now.left_behind.as_ref().filter(|mark| {
            let before = was.left_behind.as_ref();
            before.is_none_or(|before| before.what != mark.what)
        }) {
            let what = short(&mark.what);
            events.push(self.of_run(now, What::LeftBehind { what }));
        }
        if now.process != was.process {
            let what = match &now.process {
                Some(process) => What::Started { pid: process.pid },
                None => What::Gone,
            };
            events.push(self.of_run(now, what));
        }
    }

    fn landing(&self, Change { was, now }: &Change<Landing>) -> Option<Event> {
        if was.state == now.state {
            return None;
        }
        let landing = now.id;
        let what = match now.state {
            LandingState::Accepted => What::LandingReleased { landing },
            LandingState::Running => What::LandingTaken { landing },
            state @ (LandingState::Landed
            | LandingState::Conflict
            | LandingState::VerifyFailed
            | LandingState::Published
            | LandingState::Refused) => What::LandingOver {
                landing,
                state,
                commit: now.commit.clone(),
            },
        };
        Some(self.of_landing(now, what))
    }

    /// A card that is open again, before what is said on it.
    fn opened(&self, Change { was, now }: &Change<Card>) -> Option<Event> {
        let opens = now.state == CardState::Open && was.state != CardState::Open;
        opens.then(|| {
            let by = self.by(now);
            self.of_card(now, What::Reopened { by })
        })
    }

    /// A card that is not open any more.
    fn closed(&self, Change { was, now }: &Change<Card>) -> Option<Event> {
        if was.state == now.state {
            return None;
        }
        let what = match now.state {
            CardState::Open => return None,
            CardState::Failed => What::CardFailed {
                reason: now.reason.as_deref().map(short),
            },
            CardState::Stopped => What::CardStopped {
                by: self.writes.by.clone(),
            },
            CardState::Landed => What::CardLanded,
            CardState::Closed => What::CardClosed {
                by: self.writes.by.clone(),
            },
        };
        Some(self.of_card(now, what))
    }

    /// What a person did about the next start of a card.
    fn handled(&self, Change { was, now }: &Change<Card>) -> Vec<Event> {
        let mut events = Vec::new();
        if now.recovery && !was.recovery {
            let by = self.writes.by.clone();
            events.push(self.of_card(now, What::Retried { by }));
        }
        let given_free = |change: &Change<Run>| {
            change.now.card == now.id && change.now.handed_back_at != change.was.handed_back_at
        };
        let to_any_machine = was.machine.is_some() && now.machine.is_none();
        if to_any_machine || now.agent != was.agent || self.writes.runs.iter().any(given_free) {
            let what = What::HandedBack {
                by: self.writes.by.clone(),
                agent: now.agent.clone(),
                to_any_machine,
            };
            events.push(self.of_card(now, what));
        }
        events
    }

    /// Who acts: whom the operation names, or who says the turn that it writes.
    fn by(&self, card: &Card) -> Option<cs_model::Person> {
        let mut turns = self.writes.new_turns.iter().filter(|turn| turn.card == card.id);
        self.writes.by.clone().or_else(|| {
            turns.find_map(|turn| match &turn.author {
                cs_model::Author::Person(person) => Some(person.clone()),
                cs_model::Author::Agent(_) | cs_model::Author::System => None,
            })
        })
    }
}

/// How an attempt ended. One that has asked while it runs says so with its question.
fn settled(was: &Run, now: &Run) -> Option<What> {
    let ended = match now.state {
        RunState::Running => return None,
        RunState::Asked => return (now.settled != was.settled).then_some(What::WaitsForAnswer),
        RunState::Ended(ending) => ending,
    };
    Some(match ended {
        Ending::Finished => What::Finished,
        Ending::Stopped => What::Stopped,
        Ending::Interrupted => What::Interrupted {
            again_at: now.again_at,
        },
        Ending::Failed => What::Failed {
            class: now.failure,
            reason: now.failed_because.as_deref().map(short),
            again_at: now.again_at,
        },
        Ending::Capped(_) | Ending::Blocked | Ending::Orphaned(_) => What::Ended {
            ending: now.state.to_string(),
        },
    })
}

fn short(reason: &str) -> String {
    if reason.chars().count() <= MAX_REASON_CHARS {
        return reason.to_owned();
    }
    let cut: String = reason.chars().take(MAX_REASON_CHARS).collect();
    format!("{cut}…")
}
