//! Laws of the inner port: what never goes back, whoever writes it back. Each refusal names what it keeps.

use std::sync::Arc;

use cs_fence::Token;
use cs_journal::{Child, ClaimRequest, Task};
use cs_model::{
    AskId, AskState, AskTo, CardId, CodebaseId, Epoch, IdSource, LandingId, LandingState, Opening, RunId,
    RunState, Time, TurnId, TurnState,
};
use cs_record::rules::{self, Taker};
use cs_record::{
    Aggregate, AnswerAsk, Change, Choice, Landing, Locked, Plan, RowStore, Run, Select, Send, SendTo,
    StoreError, Writes,
};
use cs_settle::{Answer, NewAsk};

use super::World;
use super::stores::{Bench, lock};
use super::world::AGENT;
use crate::SetClock;

const NEW_EPOCH: &str = "a run that has asked or ended is at work again only under a new epoch";
const PROVEN_GONE: &str = "a run gets a new epoch only when its attempt is over and its process proven gone";
const SETTLED: &str = "what a run has settled, and that it was read back, stays until its next epoch";
const TURN: &str = "a settled turn stays settled, and one that a run holds goes to no other";
const ANSWER: &str = "an answer that was given stays, and so does that it was delivered";
const LANDING: &str = "a landing runs again only under a new epoch, and never once it is over";
const ONE_BASE: &str = "landings_one_of_base";

impl<S: RowStore> Bench<'_, S> {
    /// Writes what a rule decides.
    async fn act(&self, select: &Select, decide: impl FnOnce(&Aggregate, Time) -> Writes) {
        let Locked { tx, facts } = lock(self.store, None, select).await;
        let writes = decide(&facts.cards[0], facts.now);
        self.store.commit(tx, &writes).await.expect("it is written");
    }

    /// Writes a row that no rule decides, checks that it is refused in these words, and that nothing is written.
    async fn check_kept(&self, select: &Select, kept: &str, spoil: impl FnOnce(&Aggregate, &mut Writes)) {
        let Locked { tx, facts } = lock(self.store, None, select).await;
        let (before, was) = (facts.cards[0].clone(), facts.cards[0].card.clone());
        let mut now = was.clone();
        now.version += 1;
        let mut writes = Writes {
            cards: vec![Change { was, now }],
            ..Writes::default()
        };
        spoil(&before, &mut writes);
        match self.store.commit(tx, &writes).await {
            Err(StoreError::Corrupt(why)) => assert!(why.contains(kept), "refused by another: {why}"),
            other => panic!("{kept}: {other:?}"),
        }
        let Locked { tx, facts } = lock(self.store, None, select).await;
        self.store.rollback(tx).await.expect("it rolls back");
        assert_eq!(before, facts.cards[0], "{kept}");
    }

    /// Checks that a run cannot be changed so.
    async fn check_run(&self, run: RunId, kept: &str, spoil: impl FnOnce(&mut Run)) {
        self.check_kept(&Select::Runs(vec![run]), kept, |aggregate, writes| {
            let was = aggregate.run(run).expect("it was asked for").clone();
            let mut now = was.clone();
            spoil(&mut now);
            writes.runs.push(Change { was, now });
        })
        .await;
    }

    fn card(&self) -> Select {
        Select::Card(self.card)
    }

    /// Lets the attempt ask.
    async fn ask(&self) -> AskId {
        let ask = NewAsk {
            id: AskId::from_uuid(self.ids.uuid_v7()),
            question: "which way?".to_owned(),
            choices: Vec::new(),
            offer: None,
            to: AskTo::Person,
        };
        self.act(&self.card(), |aggregate, now| {
            let (writes, _) = rules::ask(aggregate, &self.attempt, &ask, now).expect("a good question");
            writes
        })
        .await;
        ask.id
    }

    async fn note(&self) {
        self.act(&self.card(), |aggregate, now| {
            rules::record_process(aggregate, &self.attempt, &World::process(7), now).0
        })
        .await;
    }

    async fn gone(&self) {
        self.act(&self.card(), |aggregate, now| {
            rules::clear_process(aggregate, &self.attempt, &World::process(7), now).0
        })
        .await;
    }

    async fn answer(&self, attempt: &cs_fence::Attempt) {
        self.act(&Select::Runs(vec![attempt.run]), |aggregate, now| {
            rules::answer(aggregate, attempt, &Answer::words("done"), now, &self.ids).0
        })
        .await;
    }
}

fn revive(run: &mut Run) {
    run.state = RunState::Running;
    run.ended_at = None;
    run.again_at = None;
}

fn next_epoch(run: &mut Run) {
    revive(run);
    run.epoch = run.epoch.next().expect("there is one more");
    run.token = Token::from_bytes([9; 16]).hash();
}

/// An attempt that has asked or ended is over for good, and the next one comes only when nothing of it is left: one attempt, one tree.
/// Invariant 1. Invariant 7.
pub async fn a_run_is_at_work_again_only_under_a_new_epoch<S: RowStore>(store: &S, clock: &Arc<SetClock>) {
    let bench = Bench::new(store, clock).await;
    let run = bench.attempt.run;
    bench.check_run(run, PROVEN_GONE, next_epoch).await;
    bench.note().await;
    bench.ask().await;
    bench.check_run(run, NEW_EPOCH, revive).await;
    bench.check_run(run, PROVEN_GONE, next_epoch).await;
    let person = "Ada".parse().expect("a name");
    bench
        .act(&bench.card(), |aggregate, now| {
            rules::stop_card(aggregate, &person, now).0
        })
        .await;
    bench.check_run(run, NEW_EPOCH, revive).await;
    let ask = |run: &mut Run| {
        revive(run);
        run.state = RunState::Asked;
    };
    bench.check_run(run, NEW_EPOCH, ask).await;
    bench.check_run(run, PROVEN_GONE, next_epoch).await;
    bench.gone().await;
    bench.check_run(run, NEW_EPOCH, revive).await;
}

/// A turn that was settled is answered, and one that a run holds comes to another only by way of nobody. Invariant 9.
pub async fn a_settled_turn_stays_settled<S: RowStore>(store: &S, clock: &Arc<SetClock>) {
    let bench = Bench::new(store, clock).await;
    let other = RunId::from_uuid(bench.ids.uuid_v7());
    let (card, turn) = (bench.card, bench.turn);
    let select = Select::Send {
        card,
        turn,
        after: Vec::new(),
        files: false,
    };
    let check = async |state, run| {
        bench
            .check_kept(&select, TURN, |aggregate, writes| {
                let marks = &mut aggregate.turns.iter().filter(|mark| mark.id == turn);
                let was = marks.next().expect("it was asked for").clone();
                let mut now = was.clone();
                (now.state, now.run) = (state, run);
                writes.turns.push(Change { was, now });
            })
            .await;
    };
    check(TurnState::Leased, Some(other)).await;
    check(TurnState::Settled, Some(other)).await;
    bench.answer(&bench.attempt).await;
    check(TurnState::Pending, None).await;
    check(TurnState::Leased, Some(bench.attempt.run)).await;
    check(TurnState::Settled, Some(other)).await;
    check(TurnState::Settled, None).await;
}

/// The first answer stays, for good, and reaches the run that asked once. Invariant 10.
pub async fn a_given_answer_stays<S: RowStore>(store: &S, clock: &Arc<SetClock>) {
    let bench = Bench::new(store, clock).await;
    bench.note().await;
    let ask = bench.ask().await;
    let select = Select::Ask(ask);
    let named = |aggregate: &Aggregate| {
        let mut asks = aggregate.asks.iter().filter(|row| row.id == ask);
        asks.next().expect("it was asked for").clone()
    };
    let answer = AnswerAsk {
        ask,
        body: "left".to_owned(),
        person: "Ada".parse().expect("a name"),
    };
    let decide = |aggregate: &Aggregate, now| {
        let decided = rules::answer_ask(aggregate, &named(aggregate), &answer, now);
        decided.expect("it is open").0
    };
    bench.act(&select, decide).await;
    let check = async |spoil: fn(&mut cs_record::Ask)| {
        bench
            .check_kept(&select, ANSWER, |aggregate, writes| {
                let was = named(aggregate);
                let mut now = was.clone();
                spoil(&mut now);
                writes.asks.push(Change { was, now });
            })
            .await;
    };
    let take_back = |ask: &mut cs_record::Ask| {
        ask.state = AskState::Withdrawn;
        (ask.answer, ask.answered_by, ask.answered_at) = (None, None, None);
    };
    check(|ask| ask.answer = Some("right".to_owned())).await;
    check(|ask| ask.answered_by = Some(cs_model::Author::System)).await;
    check(take_back).await;
    bench.answer(&bench.attempt).await;
    bench.gone().await;
    let next = bench.take(Task::Rearms).await;
    bench.answer(&next).await;
    check(|ask| ask.delivered = false).await;
    check(take_back).await;
}

/// A child is read back once, and what a run has settled is settled. Invariant 15.
pub async fn a_child_that_was_read_back_stays_so<S: RowStore>(store: &S, clock: &Arc<SetClock>) {
    let bench = Bench::new(store, clock).await;
    let child = Child {
        parent: bench.attempt,
        codebase: None,
        model: None,
        effort: None,
        brief: "do this part".to_owned(),
    };
    let seed = cs_fence::TokenSeed::from_bytes(bench.ids.secret());
    let request = ClaimRequest::one(Task::Child(child.clone()), AGENT, seed);
    let Locked { tx, facts } = lock(store, None, &bench.card()).await;
    let taker = Taker {
        machine: bench.machine,
        request: &request,
        limits: &facts.limits,
    };
    let sent = rules::dispatch(&facts.cards[0], &taker, &child, facts.now, &bench.ids);
    let (writes, claimed) = sent.expect("there is room");
    store.commit(tx, &writes).await.expect("it is written");
    let worker = claimed.attempt(&request.seed);
    bench.answer(&worker).await;
    bench.answer(&bench.attempt).await;
    let owner = bench.take(Task::Rearms).await;
    bench.answer(&owner).await;
    bench
        .check_run(worker.run, SETTLED, |run| run.read_back = false)
        .await;
    let unsettle = |run: &mut Run| run.settled = Epoch::NONE;
    bench.check_run(owner.run, SETTLED, unsettle).await;
}

/// Makes a card on a base.
async fn card_on<S: RowStore>(bench: &Bench<'_, S>, base: &str) -> CardId {
    let card = CardId::from_uuid(bench.ids.uuid_v7());
    let send = Send {
        turn: TurnId::from_uuid(bench.ids.uuid_v7()),
        to: SendTo::NewCard {
            card,
            title: "make it go".to_owned(),
            codebase: None,
            base: Some(base.to_owned()),
            agent: AGENT.parse().expect("a name"),
            opening: Opening::Owner,
        },
        person: "Ada".parse().expect("a name"),
        body: "please".to_owned(),
        plan: Plan::default(),
        choice: Choice::default(),
        attachments: Vec::new(),
    };
    let (turn, after) = (send.turn, Vec::new());
    let Locked { tx, facts } = lock(
        bench.store,
        None,
        &Select::Send {
            card,
            turn,
            after,
            files: false,
        },
    )
    .await;
    let (writes, _) = rules::send_new(&send, &facts.earlier, facts.now).expect("a good turn is taken");
    bench.store.commit(tx, &writes).await.expect("it is written");
    card
}

async fn codebase<S: RowStore>(bench: &Bench<'_, S>) -> CodebaseId {
    let id = CodebaseId::from_uuid(bench.ids.uuid_v7());
    let added = bench.store.add_codebase(id, "engine", bench.machine).await;
    added.expect("an empty record takes a codebase");
    id
}

/// A landing that is under way.
fn running<S: RowStore>(bench: &Bench<'_, S>, card: CardId, codebase: CodebaseId, now: Time) -> Landing {
    Landing {
        id: LandingId::from_uuid(bench.ids.uuid_v7()),
        card,
        codebase,
        base: None,
        method: None,
        ask: None,
        message: None,
        state: LandingState::Running,
        epoch: Epoch::new(1),
        token: Some(Token::from_bytes([9; 16]).hash()),
        machine: bench.machine,
        accepted_by: "Ada".parse().expect("a name"),
        accepted_at: now,
        commit: None,
        result: None,
        evidence: None,
        ended_at: None,
    }
}

async fn begin<S: RowStore>(bench: &Bench<'_, S>, card: CardId, codebase: CodebaseId) -> LandingId {
    let Locked { tx, facts } = lock(bench.store, None, &Select::Card(card)).await;
    let landing = Landing {
        base: facts.cards[0].card.base.clone(),
        ..running(bench, card, codebase, facts.now)
    };
    let id = landing.id;
    let (was, mut now) = (facts.cards[0].card.clone(), facts.cards[0].card.clone());
    now.version += 1;
    let writes = Writes {
        cards: vec![Change { was, now }],
        new_landings: vec![landing],
        ..Writes::default()
    };
    bench.store.commit(tx, &writes).await.expect("the base is free");
    id
}

/// One landing at a time moves a base; another base of the same codebase does not wait for it. Invariant 13.
pub async fn one_landing_runs_on_a_base<S: RowStore>(store: &S, clock: &Arc<SetClock>) {
    let bench = Bench::new(store, clock).await;
    let codebase = codebase(&bench).await;
    for base in ["main", "next"] {
        let card = card_on(&bench, base).await;
        begin(&bench, card, codebase).await;
    }
    let second = card_on(&bench, "main").await;
    let at = clock.as_ref();
    let landing = Landing {
        base: Some("main".to_owned()),
        ..running(&bench, second, codebase, cs_model::Clock::now(at))
    };
    bench
        .check_kept(&Select::Card(second), ONE_BASE, |_, writes| {
            writes.new_landings.push(landing);
        })
        .await;
}

/// A landing that is over was told to people; one that was given back begins under its next epoch. Invariant 13.
pub async fn a_landing_ends_once<S: RowStore>(store: &S, clock: &Arc<SetClock>) {
    let bench = Bench::new(store, clock).await;
    let codebase = codebase(&bench).await;
    let card = card_on(&bench, "main").await;
    let id = begin(&bench, card, codebase).await;
    let select = Select::CardLanding(card, id);
    let change = |aggregate: &Aggregate, spoil: fn(&mut Landing)| {
        let mut landings = aggregate.landings.iter().filter(|landing| landing.id == id);
        let was = landings.next().expect("it was asked for").clone();
        let mut now = was.clone();
        spoil(&mut now);
        Change { was, now }
    };
    let set = async |spoil: fn(&mut Landing)| {
        let decide = |aggregate: &Aggregate, _| {
            let (was, mut now) = (aggregate.card.clone(), aggregate.card.clone());
            now.version += 1;
            Writes {
                cards: vec![Change { was, now }],
                landings: vec![change(aggregate, spoil)],
                ..Writes::default()
            }
        };
        bench.act(&select, decide).await;
    };
    let check = async |spoil: fn(&mut Landing)| {
        let spoil =
            |aggregate: &Aggregate, writes: &mut Writes| writes.landings.push(change(aggregate, spoil));
        bench.check_kept(&select, LANDING, spoil).await;
    };
    let run: fn(&mut Landing) = |landing| landing.state = LandingState::Running;
    set(|landing| landing.state = LandingState::Accepted).await;
    check(run).await;
    set(|landing| {
        landing.state = LandingState::Refused;
        landing.ended_at = Some(landing.accepted_at);
    })
    .await;
    check(|landing| {
        (landing.state, landing.ended_at) = (LandingState::Running, None);
        landing.epoch = Epoch::new(2);
        landing.token = Some(Token::from_bytes([8; 16]).hash());
    })
    .await;
    check(|landing| landing.state = LandingState::Conflict).await;
}
