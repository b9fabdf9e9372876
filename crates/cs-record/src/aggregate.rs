//! What an operation decides over, and what it writes.

use cs_fence::Standing;
use cs_model::{
    AskState, AskTo, AttachmentId, Author, CardId, Person, RunId, RunState, Time, TurnId, TurnSeq, TurnState,
};

use crate::journal::JournalEntry;
use crate::readiness::is_done;
use crate::{Ask, Attachment, Card, Content, Dependency, Event, Landing, Park, Run, RunText, Turn, Unpark};

/// A turn without its words: no body is read under a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnMark {
    /// The turn.
    pub id: TurnId,
    /// Its place on the card.
    pub seq: TurnSeq,
    /// Where it is on its way to an answer.
    pub state: TurnState,
    /// The run that has taken or answered it.
    pub run: Option<RunId>,
    /// When it was said.
    pub said_at: Time,
}

impl From<&Turn> for TurnMark {
    fn from(turn: &Turn) -> Self {
        Self {
            id: turn.id,
            seq: turn.seq,
            state: turn.state,
            run: turn.run,
            said_at: turn.said_at,
        }
    }
}

/// One card with everything that a decision about it may look at, read after its lock was taken.
///
/// The row that a command names is always in it, whatever its state, so that a late command can be told why it is late.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregate {
    /// The card.
    pub card: Card,
    /// Its owner's run, the runs that are live, may go on or have a process, the children that nobody has read back, and the run
    /// that the command names; by id.
    pub runs: Vec<Run>,
    /// Its pending and leased turns, and the turn that the command names; by place.
    pub turns: Vec<TurnMark>,
    /// Its asks that are open, accepted, or answered and not delivered, and the ask that the command names; by id.
    pub asks: Vec<Ask>,
    /// Its landing that is not over, and the landing that the command names; by id.
    pub landings: Vec<Landing>,
    /// The cards that it waits for and that are not done; by id.
    pub waits_for: Vec<CardId>,
}

impl Aggregate {
    /// Returns the owner's run, once there is one.
    #[must_use]
    pub fn owner(&self) -> Option<&Run> {
        self.card.owner.and_then(|owner| self.run(owner))
    }

    /// Returns a run of the card by its id.
    #[must_use]
    pub fn run(&self, id: RunId) -> Option<&Run> {
        self.runs.iter().find(|run| run.id == id)
    }

    /// Returns the landing that is not over, if there is one.
    #[must_use]
    pub fn live_landing(&self) -> Option<&Landing> {
        self.landings.iter().find(|landing| !landing.state.is_over())
    }

    /// Returns the children of a run that were loaded: all that are not read back.
    pub fn children(&self, parent: RunId) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.parent == Some(parent))
    }

    /// Says where a run stands, for a command that came too late.
    #[must_use]
    pub fn standing(&self, run: RunId) -> Standing {
        let row = self.run(run).map(|run| (run.epoch, run.state));
        Standing { run, row }
    }

    pub(crate) fn pending(&self) -> impl Iterator<Item = &TurnMark> {
        self.turns.iter().filter(|turn| turn.state == TurnState::Pending)
    }

    /// Counts the questions that wait for a person.
    pub(crate) fn open_asks(&self) -> u32 {
        let waits = |ask: &&Ask| ask.state == AskState::Open && ask.to == AskTo::Person;
        let open = self.asks.iter().filter(waits).count();
        u32::try_from(open).unwrap_or(u32::MAX)
    }
}

/// A row before and after a decision. A store repeats what `was` says in its statement, and counts the rows that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change<T> {
    /// The row as it was read under the lock.
    pub was: T,
    /// The row as it is to be.
    pub now: T,
}

/// Every row that a transaction changes, as whole rows; writes of several cards are merged into one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Writes {
    /// Cards that are new.
    pub new_cards: Vec<Card>,
    /// Cards that change. Every decision that changes anything changes its card: its version grows.
    pub cards: Vec<Change<Card>>,
    /// Runs that are new.
    pub new_runs: Vec<Run>,
    /// Runs that change.
    pub runs: Vec<Change<Run>>,
    /// Turns that are new, with their words.
    pub new_turns: Vec<Turn>,
    /// Turns that change: only their state and run ever do.
    pub turns: Vec<Change<TurnMark>>,
    /// Asks that are new.
    pub new_asks: Vec<Ask>,
    /// Asks that change: never their question, choices or offer.
    pub asks: Vec<Change<Ask>>,
    /// Landings that are new.
    pub new_landings: Vec<Landing>,
    /// Landings that change.
    pub landings: Vec<Change<Landing>>,
    /// Briefs and reports that are new.
    pub texts: Vec<RunText>,
    /// Files that are new, with what is in them.
    pub new_attachments: Vec<(Attachment, Content)>,
    /// Files that are taken away.
    pub gone_attachments: Vec<AttachmentId>,
    /// Dependencies that are new.
    pub dependencies: Vec<Dependency>,
    /// Cards that wait for no other card any more.
    pub freed: Vec<CardId>,
    /// Routes to park, in the place of a park of the same route.
    pub parks: Vec<Park>,
    /// Routes that are parked no more, if they were when these attempts began.
    pub unparks: Vec<Unpark>,
    /// Who acts, where a person does and no turn of theirs says so.
    pub by: Option<Person>,
    /// What happens with all this, in order. [`Record`](crate::Record) derives it from everything else, in the one place where it commits.
    pub events: Vec<Event>,
    /// What the operation did, for its journal row, which the lock has inserted.
    pub journal: Option<JournalEntry>,
}

impl Writes {
    /// Says whether no row changes: the transaction is rolled back then, its journal row with it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.new_cards.is_empty() && self.cards.is_empty()
    }

    /// Adds the writes of another card.
    pub fn merge(&mut self, other: Self) {
        self.new_cards.extend(other.new_cards);
        self.cards.extend(other.cards);
        self.new_runs.extend(other.new_runs);
        self.runs.extend(other.runs);
        self.new_turns.extend(other.new_turns);
        self.turns.extend(other.turns);
        self.new_asks.extend(other.new_asks);
        self.asks.extend(other.asks);
        self.new_landings.extend(other.new_landings);
        self.landings.extend(other.landings);
        self.texts.extend(other.texts);
        self.new_attachments.extend(other.new_attachments);
        self.gone_attachments.extend(other.gone_attachments);
        self.dependencies.extend(other.dependencies);
        self.freed.extend(other.freed);
        self.parks.extend(other.parks);
        self.unparks.extend(other.unparks);
        self.by = other.by.or(self.by.take());
        self.events.extend(other.events);
        if other.journal.is_some() {
            self.journal = other.journal;
        }
    }
}

/// A decision being made: a copy of the aggregate that rules change, from whose difference the writes follow. So no rule can
/// forget to write a row, and none can forget the card's version or readiness.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    before: Option<&'a Aggregate>,
    pub(crate) now: Time,
    pub(crate) card: Card,
    pub(crate) runs: Vec<Run>,
    pub(crate) turns: Vec<TurnMark>,
    pub(crate) asks: Vec<Ask>,
    pub(crate) landings: Vec<Landing>,
    pub(crate) waits_for: Vec<CardId>,
    said: Vec<Turn>,
    pub(crate) texts: Vec<RunText>,
    pub(crate) attachments: Vec<(Attachment, Content)>,
    pub(crate) gone_attachments: Vec<AttachmentId>,
    pub(crate) parks: Vec<Park>,
    pub(crate) unparks: Vec<Unpark>,
}

/// A turn that a rule writes.
pub(crate) struct Words {
    pub(crate) id: TurnId,
    pub(crate) author: Author,
    pub(crate) body: String,
    pub(crate) state: TurnState,
    pub(crate) run: Option<RunId>,
}

impl<'a> Draft<'a> {
    /// Begins a decision over a card that is there.
    pub(crate) fn of(before: &'a Aggregate, now: Time) -> Self {
        let Aggregate {
            card,
            runs,
            turns,
            asks,
            landings,
            waits_for,
        } = before.clone();
        Self {
            before: Some(before),
            now,
            card,
            runs,
            turns,
            asks,
            landings,
            waits_for,
            said: Vec::new(),
            texts: Vec::new(),
            attachments: Vec::new(),
            gone_attachments: Vec::new(),
            parks: Vec::new(),
            unparks: Vec::new(),
        }
    }

    /// Begins a card.
    pub(crate) fn new_card(card: Card, now: Time) -> Self {
        Self {
            before: None,
            now,
            card,
            runs: Vec::new(),
            turns: Vec::new(),
            asks: Vec::new(),
            landings: Vec::new(),
            waits_for: Vec::new(),
            said: Vec::new(),
            texts: Vec::new(),
            attachments: Vec::new(),
            gone_attachments: Vec::new(),
            parks: Vec::new(),
            unparks: Vec::new(),
        }
    }

    /// Puts a turn at the end of the card and returns its place.
    pub(crate) fn say(&mut self, words: Words) -> TurnSeq {
        self.card.last_seq = self.card.last_seq.next();
        let turn = Turn {
            id: words.id,
            card: self.card.id,
            seq: self.card.last_seq,
            author: words.author,
            body: words.body,
            state: words.state,
            run: words.run,
            said_at: self.now,
        };
        self.turns.push(TurnMark::from(&turn));
        self.said.push(turn);
        self.card.last_seq
    }

    /// Returns a run of the card that may be changed.
    pub(crate) fn run_mut(&mut self, id: RunId) -> Option<&mut Run> {
        self.runs.iter_mut().find(|run| run.id == id)
    }

    /// Moves the turns that a run has taken to another state; those handed back belong to nobody.
    pub(crate) fn move_leased(&mut self, run: RunId, to: TurnState) {
        for turn in &mut self.turns {
            if turn.state == TurnState::Leased && turn.run == Some(run) {
                turn.state = to;
                turn.run = if to == TurnState::Pending { None } else { Some(run) };
            }
        }
    }

    /// Withdraws the questions of a run that wait for a person.
    pub(crate) fn withdraw_asks(&mut self, run: RunId) {
        for ask in &mut self.asks {
            if ask.run == run && ask.state == AskState::Open {
                ask.state = AskState::Withdrawn;
            }
        }
    }

    /// Settles what the last attempt of a run was given: its turns, the answers to its questions, the children that it read back.
    /// A question of a child that it did not settle goes to a person. Counts of tries and starts begin anew.
    pub(crate) fn settle(&mut self, id: RunId) {
        let Some(epoch) = self.run_mut(id).map(|run| {
            run.settled = run.epoch;
            run.tries = 0;
            run.starts = 0;
            run.failure = None;
            run.failed_because = None;
            run.failures_in_row = 0;
            run.again_at = None;
            run.fresh = false;
            run.epoch
        }) else {
            return;
        };
        self.move_leased(id, TurnState::Settled);
        let children: Vec<RunId> = self.children_of(id);
        for ask in self.asks.iter_mut().filter(|ask| ask.given == Some(epoch)) {
            if ask.run == id && ask.state == AskState::Answered {
                ask.delivered = true;
            } else if children.contains(&ask.run) && ask.state == AskState::Open {
                ask.to = AskTo::Person;
                ask.given = None;
            }
        }
        for child in &mut self.runs {
            if child.parent == Some(id) && child.given == Some(epoch) && !child.goes_on() {
                child.read_back = true;
            }
        }
    }

    /// Returns the children of a run that were loaded.
    pub(crate) fn children_of(&self, parent: RunId) -> Vec<RunId> {
        let mine = self.runs.iter().filter(|run| run.parent == Some(parent));
        mine.map(|run| run.id).collect()
    }

    /// Ends a run. Its process stays on the row until its end is proven.
    pub(crate) fn end_run(&mut self, id: RunId, state: RunState) {
        let now = self.now;
        if let Some(run) = self.run_mut(id) {
            run.state = state;
            run.ended_at = Some(now);
            run.again_at = None;
        }
    }

    /// Ends the decision: stamps the card, computes what it is ready for, and returns every row that differs.
    pub(crate) fn finish(mut self) -> Writes {
        let mut writes = Writes::default();
        let nothing = Aggregate {
            card: self.card.clone(),
            runs: Vec::new(),
            turns: Vec::new(),
            asks: Vec::new(),
            landings: Vec::new(),
            waits_for: Vec::new(),
        };
        let before = self.before.unwrap_or(&nothing);
        let said: Vec<TurnId> = self.said.iter().map(|turn| turn.id).collect();
        (writes.new_runs, writes.runs) = difference(&before.runs, &self.runs, |run| run.id);
        (_, writes.turns) = difference(&before.turns, &self.turns, |turn| turn.id);
        (writes.new_asks, writes.asks) = difference(&before.asks, &self.asks, |ask| ask.id);
        (writes.new_landings, writes.landings) =
            difference(&before.landings, &self.landings, |landing| landing.id);
        debug_assert!(
            self.turns
                .iter()
                .all(|turn| said.contains(&turn.id) || before.turns.iter().any(|was| was.id == turn.id)),
            "a new turn has words"
        );
        writes.new_turns = std::mem::take(&mut self.said);
        writes.texts = std::mem::take(&mut self.texts);
        writes.new_attachments = std::mem::take(&mut self.attachments);
        writes.gone_attachments = std::mem::take(&mut self.gone_attachments);
        writes.parks = std::mem::take(&mut self.parks);
        writes.unparks = std::mem::take(&mut self.unparks);
        if self.waits_for.is_empty() && !before.waits_for.is_empty() {
            writes.freed.push(self.card.id);
        }
        let same = before.card == self.card
            && writes.new_runs.is_empty()
            && writes.runs.is_empty()
            && writes.new_turns.is_empty()
            && writes.turns.is_empty()
            && writes.new_asks.is_empty()
            && writes.asks.is_empty()
            && writes.new_landings.is_empty()
            && writes.landings.is_empty()
            && writes.texts.is_empty()
            && writes.new_attachments.is_empty()
            && writes.gone_attachments.is_empty()
            && writes.freed.is_empty();
        if self.before.is_some() && same {
            return writes;
        }
        let was = self.before.map(|before| before.card.clone());
        let card = self.into_card();
        match was {
            Some(was) => writes.cards.push(Change { was, now: card }),
            None => writes.new_cards.push(card),
        }
        writes
    }

    /// Stamps the card.
    fn into_card(self) -> Card {
        let mut after = Aggregate {
            card: self.card,
            runs: self.runs,
            turns: self.turns,
            asks: self.asks,
            landings: self.landings,
            waits_for: self.waits_for,
        };
        after.card.done = is_done(&after);
        after.card.updated_at = self.now;
        after.card.version += 1;
        after.card.ready = crate::readiness(&after);
        after.card
    }
}

/// Returns the rows that are new and those that changed.
fn difference<T: Clone + PartialEq, Id: PartialEq>(
    before: &[T],
    after: &[T],
    id: impl Fn(&T) -> Id,
) -> (Vec<T>, Vec<Change<T>>) {
    let (mut new, mut changed) = (Vec::new(), Vec::new());
    for now in after {
        match before.iter().find(|was| id(was) == id(now)) {
            None => new.push(now.clone()),
            Some(was) if was != now => changed.push(Change {
                was: was.clone(),
                now: now.clone(),
            }),
            Some(_) => {}
        }
    }
    (new, changed)
}
