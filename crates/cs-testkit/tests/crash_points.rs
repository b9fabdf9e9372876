//! Crash points between the journal and the record: the process dies after one of them was written, before it heard of it.
#![expect(clippy::unwrap_used, reason = "everything in this file is test code")]

use std::sync::Arc;

use cs_fence::{Attempt, AttemptRecord, Fenced, InterruptOutcome};
use cs_journal::{ClaimRecord, Deps, Journal, Started, Task, Want};
use cs_model::{AgentName, AskId, AskTo, CardId, FailureClass, IdSource, MachineId, Person, TurnId};
use cs_record::{PeopleActs, Record, Send, SendTo};
use cs_settle::{Answer, GiveUp, NewAsk, SettlementRecord};
use cs_testkit::{MemoryStore, SeededIds, SetClock};
use tempfile::TempDir;

struct Home {
    record: Arc<Record<MemoryStore>>,
    ids: Arc<SeededIds>,
    clock: Arc<SetClock>,
    machine: MachineId,
    dir: TempDir,
}

impl Home {
    /// A record with so many cards that each have a turn.
    async fn new(cards: usize) -> Self {
        let clock = Arc::new(SetClock::new());
        let ids = Arc::new(SeededIds::new(1, Arc::clone(&clock) as _));
        let record = Record::new(MemoryStore::new(Arc::clone(&clock) as _), Arc::clone(&ids) as _);
        let (agent, person): (AgentName, Person) = ("mine".parse().unwrap(), "ada".parse().unwrap());
        for _ in 0..cards {
            let to = SendTo::new_card(CardId::from_uuid(ids.uuid_v7()), "a card", agent.clone());
            let send = Send::new(TurnId::from_uuid(ids.uuid_v7()), to, person.clone(), "please");
            record.send(&send).await.unwrap();
        }
        Self {
            record: Arc::new(record),
            machine: MachineId::from_uuid(ids.uuid_v7()),
            ids,
            clock,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// Opens the journal, as each new process does.
    fn open(&self) -> Journal {
        let deps = Deps {
            record: Arc::clone(&self.record) as Arc<dyn ClaimRecord>,
            ids: Arc::clone(&self.ids) as _,
            clock: Arc::clone(&self.clock) as _,
            machine: self.machine,
        };
        Journal::open(&self.dir.path().join("ledger"), deps).unwrap().0
    }

    fn want(task: Task) -> Want {
        Want {
            task,
            limit: 4,
            agents: vec!["mine".to_owned()],
        }
    }

    async fn started(&self, journal: &Journal) -> Started {
        let mut window = journal.claim(&Self::want(Task::Turns)).await.unwrap();
        let claimed = window.adopt_all().remove(0);
        let registered = claimed.prepare("dir").unwrap().registered("shim").unwrap();
        registered.started("agent").unwrap()
    }

    async fn is_stale(&self, attempt: &Attempt) -> bool {
        let standing = self.record.standing(attempt).await.unwrap();
        matches!(standing, Fenced::Stale(_))
    }
}

/// P14, ST-10: the question is on the record, the ledger does not know it yet.
#[tokio::test]
async fn p14_a_question_that_was_settled_and_not_acknowledged_is_asked_once() {
    let home = Home::new(1).await;
    let journal = home.open();
    let settling = home.started(&journal).await.outcome("asked").unwrap();
    let answer = Answer {
        ask: Some(NewAsk {
            id: AskId::from_uuid(home.ids.uuid_v7()),
            question: "which one?".to_owned(),
            choices: Vec::new(),
            offer: None,
            to: AskTo::Person,
        }),
        ..Answer::words("well")
    };
    let first = home.record.answer(&settling.attempt(), &answer).await.unwrap();
    drop((settling, journal));

    let settling = home.open().recover().settling.remove(0);
    let again = home.record.answer(&settling.attempt(), &answer).await.unwrap();
    assert!(
        matches!(first, Fenced::Applied(answered) if answered.asked),
        "{first:?}"
    );
    assert!(
        matches!(again, Fenced::Applied(answered) if answered.asked),
        "{again:?}"
    );
    settling.acknowledged().unwrap().closed().unwrap();
}

/// P16, ST-14: the retry was claimed and not begun, and the failure of the attempt before was never acknowledged.
#[tokio::test]
async fn p16_the_outcome_before_a_retry_is_void_and_the_retry_is_launched() {
    let home = Home::new(1).await;
    let journal = home.open();
    let settling = home.started(&journal).await.outcome("failed").unwrap();
    let failure = GiveUp::new(FailureClass::Verify, "no");
    let told = home.record.give_up(&settling.attempt(), &failure).await.unwrap();
    assert!(matches!(told, Fenced::Applied(_)), "{told:?}");
    let old = settling.attempt();
    let retry = journal.claim(&Home::want(Task::Resumes)).await.unwrap();
    let next = retry.runs()[0].attempt();
    drop((retry, settling, journal));

    let journal = home.open();
    let mut found = journal.recover();
    let settling = found.settling.remove(0);
    let again = home.record.give_up(&settling.attempt(), &failure).await.unwrap();
    assert!(matches!(again, Fenced::Stale(_)), "{again:?}");
    settling.acknowledged().unwrap().closed().unwrap();
    assert_eq!(found.claimed[0].attempt(), next);
    assert!(home.is_stale(&old).await && !home.is_stale(&next).await);
    drop(found.claimed.remove(0).prepare("next").unwrap());
}

/// P13, P18, ST-15: the ending was written and its answer lost; the second time it is a fact, not an error.
#[tokio::test]
async fn p18_an_ending_whose_answer_was_lost_is_a_fact_the_second_time() {
    let home = Home::new(1).await;
    let journal = home.open();
    let settling = home.started(&journal).await.outcome("failed").unwrap();
    let failure = GiveUp::new(FailureClass::InvalidRequest, "never");
    let told = home.record.give_up(&settling.attempt(), &failure).await.unwrap();
    assert!(matches!(told, Fenced::Applied(_)), "{told:?}");
    drop((settling, journal));

    let journal = home.open();
    let settling = journal.recover().settling.remove(0);
    let again = home.record.give_up(&settling.attempt(), &failure).await.unwrap();
    assert!(matches!(again, Fenced::Stale(_)), "{again:?}");
    settling.acknowledged().unwrap().closed().unwrap();
    assert!(journal.recover().is_empty());
}

/// P20, RC-6: the same report under the same id.
#[tokio::test]
async fn p20_an_interruption_that_was_accepted_is_reported_again_as_the_same() {
    let home = Home::new(1).await;
    let journal = home.open();
    let receipt = home.started(&journal).await.interrupted().unwrap();
    let (operation, report) = (receipt.report(), receipt.interruption());
    let first = home
        .record
        .interrupt(home.machine, operation, &[report])
        .await
        .unwrap();
    assert_eq!(first[0].1, InterruptOutcome::Interrupted);
    drop((receipt, journal));

    let receipt = home.open().recover().receipts.remove(0);
    assert_eq!(receipt.report(), operation);
    let report = receipt.interruption();
    let again = home
        .record
        .interrupt(home.machine, operation, &[report])
        .await
        .unwrap();
    assert_eq!(again[0].1, InterruptOutcome::AlreadyInterrupted);
    receipt.acknowledged().unwrap();
}

/// P25, CJ-29: of several attempts of one claim some were begun; the others are found, and none twice.
#[tokio::test]
async fn p25_of_a_claim_that_was_partly_begun_the_rest_is_found() {
    let home = Home::new(3).await;
    let journal = home.open();
    let mut window = journal.claim(&Home::want(Task::Turns)).await.unwrap();
    let all: Vec<Attempt> = window.runs().iter().map(|claimed| claimed.attempt()).collect();
    let first = window.adopt(all[0].run).unwrap();
    let first = first.prepare("dir").unwrap().registered("shim").unwrap();
    drop((first, window, journal));

    let journal = home.open();
    let found = journal.recover();
    let claimed: Vec<Attempt> = found.claimed.iter().map(|claimed| claimed.attempt()).collect();
    assert_eq!((claimed.len(), found.registered.len()), (2, 1));
    assert!(all.iter().all(|attempt| journal.holds(attempt)));
    assert!(!claimed.contains(&all[0]) && journal.recover().is_empty());
}
