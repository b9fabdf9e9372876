//! One record with everything that a law needs around it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use cs_fence::{Attempt, AttemptRecord, Fenced, ProcessFact, TokenSeed};
use cs_journal::{ClaimError, ClaimRecord, ClaimRequest, ClaimedRun, Receipt, Task};
use cs_model::{
    AgentName, AskId, AskState, AskTo, CardId, CardState, Clock, CodebaseId, FailureClass, IdSource,
    LandingId, MachineId, Opening, OperationId, Person, RunState, TurnId, TurnSeq, TurnState,
};
use cs_record::{
    AgentActs, Aggregate, AnswerAsk, Ask, Attachments, CardDetail, CardFilter, CardReads, Codebases,
    DaemonReads, Events, Housekeeping, LandingRecord, Machines, Peeked, PeopleActs, ReadyFor, Record,
    RowStore, Run, Send, SendTo, Sent, StandingRules, TurnMark, readiness,
};
use cs_settle::{Answer, Answered, GaveUp, GiveUp, NewAsk, Offer, SettlementRecord, Used};

use crate::{SeededIds, SetClock};

/// The route of the world.
pub(crate) const AGENT: &str = "mine";

/// A record behind its ports, its clock, a machine with a codebase, and a person.
pub struct World {
    /// Takes work.
    pub claims: Arc<dyn ClaimRecord>,
    /// Facts of attempts.
    pub attempts: Arc<dyn AttemptRecord>,
    /// Outcomes.
    pub settlements: Arc<dyn SettlementRecord>,
    /// Acts of people.
    pub people: Arc<dyn PeopleActs>,
    /// Codebases.
    pub codebases: Arc<dyn Codebases>,
    /// Reads for people.
    pub cards: Arc<dyn CardReads>,
    /// Reads for daemons.
    pub daemon: Arc<dyn DaemonReads>,
    /// Results of landings.
    pub landings: Arc<dyn LandingRecord>,
    /// Machines, pauses and limits.
    pub machines: Arc<dyn Machines>,
    /// Acts of running agents.
    pub agents: Arc<dyn AgentActs>,
    /// Attachments.
    pub files: Arc<dyn Attachments>,
    /// Standing rules.
    pub standing: Arc<dyn StandingRules>,
    /// What happened.
    pub events: Arc<dyn Events>,
    /// What the record forgets.
    pub housekeeping: Arc<dyn Housekeeping>,
    /// The clock of the record.
    pub clock: Arc<SetClock>,
    /// Ids of the caller.
    pub ids: Arc<SeededIds>,
    /// A machine that has the codebase.
    pub machine: MachineId,
    /// The codebase.
    pub codebase: CodebaseId,
    /// A person.
    pub person: Person,
    _guard: Box<dyn Any + std::marker::Send + Sync>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("World(..)")
    }
}

/// An attempt and the claim that made it.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub(crate) claimed: ClaimedRun,
    pub(crate) attempt: Attempt,
}

impl World {
    /// Makes a world over an empty store whose clock is the given one; the guard lives as long as the world.
    ///
    /// # Panics
    /// When the record refuses the codebase of the world.
    pub async fn new<S: RowStore>(
        store: S,
        clock: Arc<SetClock>,
        guard: impl Any + std::marker::Send + Sync,
    ) -> Self {
        let ids = |seed| Arc::new(SeededIds::new(seed, Arc::clone(&clock) as Arc<dyn Clock>));
        let record = Arc::new(Record::new(store, ids(1)));
        let ids = ids(2);
        let world = Self {
            claims: Arc::clone(&record) as _,
            attempts: Arc::clone(&record) as _,
            settlements: Arc::clone(&record) as _,
            people: Arc::clone(&record) as _,
            codebases: Arc::clone(&record) as _,
            cards: Arc::clone(&record) as _,
            daemon: Arc::clone(&record) as _,
            landings: Arc::clone(&record) as _,
            machines: Arc::clone(&record) as _,
            agents: Arc::clone(&record) as _,
            files: Arc::clone(&record) as _,
            standing: Arc::clone(&record) as _,
            events: Arc::clone(&record) as _,
            housekeeping: record,
            clock,
            machine: MachineId::from_uuid(ids.uuid_v7()),
            codebase: CodebaseId::from_uuid(ids.uuid_v7()),
            person: "Ada".parse().expect("a name"),
            ids,
            _guard: Box::new(guard),
        };
        let added = world
            .codebases
            .add_codebase(world.codebase, "engine", world.machine)
            .await;
        added.expect("an empty record takes a codebase");
        world
    }

    pub(crate) fn operation(&self) -> OperationId {
        OperationId::from_uuid(self.ids.uuid_v7())
    }

    pub(crate) fn request(&self, task: Task, limit: u32) -> ClaimRequest {
        ClaimRequest {
            task,
            limit,
            agents: vec![AGENT.to_owned()],
            seed: TokenSeed::from_bytes(self.ids.secret()),
        }
    }

    pub(crate) fn new_turn(&self, to: SendTo, body: &str) -> Send {
        let turn = TurnId::from_uuid(self.ids.uuid_v7());
        Send::new(turn, to, self.person.clone(), body)
    }

    pub(crate) fn new_card(&self) -> SendTo {
        SendTo::NewCard {
            card: CardId::from_uuid(self.ids.uuid_v7()),
            title: "make it go".to_owned(),
            codebase: Some(self.codebase),
            base: Some("main".to_owned()),
            agent: AGENT.parse::<AgentName>().expect("a name"),
            opening: Opening::Owner,
        }
    }

    /// Puts a turn on a new card.
    pub(crate) async fn card(&self) -> CardId {
        self.send(self.new_card(), "please").await.card
    }

    pub(crate) async fn send(&self, to: SendTo, body: &str) -> Sent {
        self.people
            .send(&self.new_turn(to, body))
            .await
            .expect("a good turn is taken")
    }

    pub(crate) async fn claim(&self, task: Task, limit: u32) -> Result<(Receipt, ClaimRequest), ClaimError> {
        let request = self.request(task, limit);
        let receipt = self
            .claims
            .claim(self.machine, self.operation(), &request)
            .await?;
        Ok((receipt, request))
    }

    /// Takes at most one run.
    pub(crate) async fn take(&self, task: Task) -> Option<Taken> {
        let (receipt, request) = self.claim(task, 1).await.expect("the record answers");
        receipt.runs.into_iter().next().map(|claimed| Taken {
            attempt: claimed.attempt(&request.seed),
            claimed,
        })
    }

    /// A card without a codebase.
    pub(crate) fn plain_card(&self) -> SendTo {
        let card = CardId::from_uuid(self.ids.uuid_v7());
        SendTo::new_card(card, "tell me", AGENT.parse().expect("a name"))
    }

    /// Puts a turn on a new card that starts with a launcher, and takes it.
    pub(crate) async fn launching(&self) -> Taken {
        let mut to = self.new_card();
        if let SendTo::NewCard { opening, .. } = &mut to {
            *opening = Opening::Launcher;
        }
        let card = self.send(to, "please").await.card;
        self.running_card(card).await
    }

    /// Takes the turns of a card that is the only ready one.
    pub(crate) async fn running_card(&self, card: CardId) -> Taken {
        let taken = self.take(Task::Turns).await.expect("the card is ready");
        assert_eq!(taken.claimed.card, card);
        taken
    }

    /// Reads what the machine could take.
    pub(crate) async fn peek(&self) -> Peeked {
        let agents = [AGENT.to_owned()];
        self.daemon
            .peek(self.machine, &agents)
            .await
            .expect("the record answers")
    }

    /// Notes a process of an attempt on the record, as its machine does at the start.
    pub(crate) async fn note(&self, attempt: &Attempt) {
        let noted = self.attempts.record_process(attempt, &Self::process(7)).await;
        assert_eq!(noted.expect("the record answers"), Fenced::Applied(()));
    }

    /// Says that this process is proven gone.
    pub(crate) async fn gone(&self, attempt: &Attempt) {
        let cleared = self.attempts.clear_process(attempt, &Self::process(7)).await;
        assert_eq!(cleared.expect("the record answers"), Fenced::Applied(()));
    }

    /// Answers a question as the person.
    pub(crate) async fn reply(&self, ask: AskId) {
        let answer = AnswerAsk {
            ask,
            body: "left".to_owned(),
            person: self.person.clone(),
        };
        self.people.answer_ask(&answer).await.expect("it is open");
    }

    /// Puts a turn on a new card and takes it.
    pub(crate) async fn running(&self) -> Taken {
        self.card().await;
        self.take(Task::Turns).await.expect("the card is ready")
    }

    pub(crate) fn words(text: &str) -> Answer {
        Answer::words(text)
    }

    pub(crate) fn question(&self, choices: &[&str], offer: Option<Offer>) -> Answer {
        Answer {
            text: None,
            ask: Some(NewAsk {
                id: AskId::from_uuid(self.ids.uuid_v7()),
                question: "which way?".to_owned(),
                choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
                offer,
                to: AskTo::Person,
            }),
            used: Used::default(),
        }
    }

    pub(crate) async fn answer(&self, attempt: &Attempt, answer: &Answer) -> Fenced<Answered> {
        self.settlements
            .answer(attempt, answer)
            .await
            .expect("the record answers")
    }

    /// Ends a running attempt with a question and returns the question.
    pub(crate) async fn ask(&self, attempt: &Attempt, answer: &Answer) -> AskId {
        let done = self.answer(attempt, answer).await;
        assert!(
            matches!(done, Fenced::Applied(Answered { asked: true, .. })),
            "{done:?}"
        );
        answer.ask.as_ref().expect("it asks").id
    }

    /// Ends a running attempt with an offer to land, and returns its ask.
    pub(crate) async fn offer(&self, attempt: &Attempt) -> AskId {
        let message = Some("Make it go".to_owned());
        self.ask(attempt, &self.question(&[], Some(Offer { message })))
            .await
    }

    pub(crate) async fn give_up(&self, attempt: &Attempt, class: FailureClass) -> Fenced<GaveUp> {
        let failure = GiveUp::new(class, "it broke");
        self.settlements
            .give_up(attempt, &failure)
            .await
            .expect("the record answers")
    }

    pub(crate) fn landing_id(&self) -> LandingId {
        LandingId::from_uuid(self.ids.uuid_v7())
    }

    pub(crate) fn process(number: u32) -> ProcessFact {
        ProcessFact {
            pid: number,
            start_ticks: u64::from(number) * 100,
            boot_id: "boot".to_owned(),
        }
    }

    pub(crate) async fn detail(&self, card: CardId) -> CardDetail {
        self.cards.card(card).await.expect("the card is there")
    }

    /// Reads the owner's run of a card.
    pub(crate) async fn owner(&self, card: CardId) -> Run {
        let detail = self.detail(card).await;
        let owner = detail
            .runs
            .into_iter()
            .find(|run| Some(run.id) == detail.card.owner);
        owner.expect("the card has an owner")
    }

    pub(crate) async fn run_state(&self, card: CardId) -> RunState {
        let detail = self.detail(card).await;
        detail.runs.last().expect("the card has a run").state
    }

    /// Prints everything that people can see of the record: two records that print the same are the same.
    pub(crate) async fn picture(&self) -> String {
        let cards = self
            .cards
            .cards(CardFilter::All)
            .await
            .expect("the record answers")
            .rows;
        let mut text = String::new();
        for summary in cards {
            let card = summary.card.id;
            let turns = self
                .cards
                .turns(card, TurnSeq::START, u32::MAX)
                .await
                .expect("the card is there");
            text.push_str(&format!(
                "{summary:#?}\n{:#?}\n{turns:#?}\n",
                self.detail(card).await
            ));
        }
        let asks = self.cards.open_asks().await.expect("the record answers").rows;
        let agents = [AGENT.to_owned()];
        let peeked = self
            .daemon
            .peek(self.machine, &agents)
            .await
            .expect("the record answers");
        text.push_str(&format!("{asks:#?}\n{peeked:#?}\n"));
        let pauses = self.machines.pauses(self.machine).await;
        let limits = self.machines.limits().await;
        let parks = self.machines.parks(self.machine).await;
        text.push_str(&format!("{pauses:#?}\n{limits:#?}\n{parks:#?}"));
        text
    }

    /// Checks for every card that what it is stored to be ready for follows from its rows.
    ///
    /// # Panics
    /// When it does not.
    pub async fn check_readiness(&self) {
        for summary in self
            .cards
            .cards(CardFilter::All)
            .await
            .expect("the record answers")
            .rows
        {
            let detail = self.detail(summary.card.id).await;
            let turns = self.cards.turns(detail.card.id, TurnSeq::START, u32::MAX).await;
            let aggregate = Aggregate {
                turns: turns
                    .expect("the card is there")
                    .iter()
                    .map(TurnMark::from)
                    .collect(),
                card: detail.card,
                runs: detail.runs,
                asks: detail.asks,
                landings: detail.landings,
                waits_for: detail.waits_for,
            };
            assert_eq!(aggregate.card.ready, readiness(&aggregate), "{aggregate:#?}");
            assert!(
                !is_forgotten(&aggregate),
                "there is something to do, and nothing is ready: {aggregate:#?}"
            );
        }
    }
}

/// Says of an open card on which nothing is at work whether it has something to do and is ready for nothing. It is not written with
/// the rules, so that it can find them wrong.
fn is_forgotten(aggregate: &Aggregate) -> bool {
    let card = &aggregate.card;
    let at_work = |run: &Run| run.state == RunState::Running || run.process.is_some();
    let busy = aggregate.runs.iter().any(at_work) || aggregate.live_landing().is_some();
    if card.state != CardState::Open || busy || card.ready.what != ReadyFor::Nothing {
        return false;
    }
    let pending = aggregate
        .turns
        .iter()
        .any(|turn| turn.state == TurnState::Pending);
    let news = |ask: &Ask| ask.state == AskState::Answered && !ask.delivered;
    let answered = aggregate
        .asks
        .iter()
        .any(|ask| news(ask) && Some(ask.run) == card.owner);
    let again = aggregate.runs.iter().any(|run| run.again_at.is_some());
    let mut children = aggregate
        .runs
        .iter()
        .filter(|run| run.parent.is_some() && run.parent == card.owner)
        .peekable();
    let unread = children.clone().any(|child| !child.read_back);
    let all_ended = children.peek().is_some() && children.all(|child| !child.goes_on());
    pending || answered || again || (unread && all_ended)
}
