//! Dying and opening the ledger again (crash points P1 to P13, P17, P20).

use cs_journal::{Claimed, Journal, LedgerError, LedgerOpened, Recovered, Started};

use crate::fake::{Fault, Home, row, run_id, seed, turns};

async fn claimed(home: &Home, journal: &Journal) -> Claimed {
    home.record.offer([1]);
    journal.claim(&turns()).await.unwrap().adopt(run_id(1)).unwrap()
}

async fn started(home: &Home, journal: &Journal) -> Started {
    let prepared = claimed(home, journal).await.prepare("dir").unwrap();
    prepared.registered("shim").unwrap().started("agent").unwrap()
}

/// Counts what is recovered, stage by stage, in the order of the fields.
fn counts(recovered: &Recovered) -> [usize; 8] {
    [
        recovered.claimed.len(),
        recovered.prepared.len(),
        recovered.registered.len(),
        recovered.started.len(),
        recovered.settling.len(),
        recovered.acknowledged.len(),
        recovered.failed.len(),
        recovered.receipts.len(),
    ]
}

/// Drops a journal and what it held, as a death does, and says what the next process finds.
fn after_death<T>(home: &Home, journal: Journal, held: T) -> (Journal, Recovered) {
    drop((held, journal));
    let journal = home.open();
    let recovered = journal.recover();
    (journal, recovered)
}

/// P1.
#[tokio::test]
async fn dying_before_the_intent_leaves_nothing() {
    let home = Home::new();
    let (journal, opening) = home.open_with_report();
    assert_eq!(opening.ledger, LedgerOpened::New);
    let (journal, recovered) = after_death(&home, journal, ());
    assert_eq!((journal.pending().len(), counts(&recovered)), (0, [0; 8]));
}

/// P2.
#[tokio::test]
async fn dying_before_the_request_leaves_cancels_the_operation() {
    let home = Home::new();
    home.record.offer([1]);
    home.record.next_fault(Fault::LoseRequest);
    let journal = home.open();
    journal.claim(&turns()).await.unwrap_err();
    let (journal, recovered) = after_death(&home, journal, ());
    assert_eq!((journal.pending().len(), counts(&recovered)), (1, [0; 8]));
    journal.reconcile_pending().await.unwrap();
    assert_eq!((journal.pending().len(), counts(&journal.recover())), (0, [0; 8]));
    assert_eq!(home.record.ready(), 1);
}

/// P3, P4. Invariant 4.
#[tokio::test]
async fn dying_before_the_answer_launches_the_claim_once() {
    let home = Home::new();
    home.record.offer([1]);
    home.record.next_fault(Fault::LoseAnswer);
    let journal = home.open();
    journal.claim(&turns()).await.unwrap_err();
    let (journal, _) = after_death(&home, journal, ());
    journal.reconcile_pending().await.unwrap();
    let (journal, recovered) = after_death(&home, journal, ());
    assert_eq!(
        (journal.pending().len(), counts(&recovered)),
        (0, [1, 0, 0, 0, 0, 0, 0, 0])
    );
}

/// P5: the attempt, with its token, is the one that the claim made.
#[tokio::test]
async fn dying_before_the_adoption_keeps_the_attempt() {
    let home = Home::new();
    let journal = home.open();
    let held = claimed(&home, &journal).await;
    let (attempt, operation) = (held.attempt(), held.operation());
    let (journal, recovered) = after_death(&home, journal, held);
    assert_eq!(counts(&recovered), [1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        (recovered.claimed[0].attempt(), recovered.claimed[0].operation()),
        (attempt, operation)
    );
    assert!(journal.holds(&attempt));
}

/// P6, P7: the preparation is made again.
#[tokio::test]
async fn dying_in_the_preparation_prepares_again() {
    let home = Home::new();
    let journal = home.open();
    let held = claimed(&home, &journal).await.prepare("one").unwrap();
    let (journal, mut recovered) = after_death(&home, journal, held);
    assert_eq!(counts(&recovered), [0, 1, 0, 0, 0, 0, 0, 0]);
    let prepared = recovered.prepared.remove(0);
    assert_eq!(prepared.dir(), "one");
    let held = prepared.prepare_again("two").unwrap();
    let (_, recovered) = after_death(&home, journal, held);
    assert_eq!(recovered.prepared[0].dir(), "two");
}

/// P8, P9. Invariant 5.
#[tokio::test]
async fn dying_with_a_registered_shim_finds_it_again() {
    let home = Home::new();
    let journal = home.open();
    let held = claimed(&home, &journal)
        .await
        .prepare("dir")
        .unwrap()
        .registered("shim")
        .unwrap();
    let (journal, mut recovered) = after_death(&home, journal, held);
    assert_eq!(counts(&recovered), [0, 0, 1, 0, 0, 0, 0, 0]);
    let registered = recovered.registered.remove(0);
    assert_eq!((registered.dir(), registered.shim()), ("dir", "shim"));
    let held = registered.interrupted().unwrap();
    let (_, recovered) = after_death(&home, journal, held);
    assert_eq!(counts(&recovered), [0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(recovered.receipts[0].dir(), Some("dir"));
}

/// P10, P11.
#[tokio::test]
async fn dying_while_the_agent_works_finds_its_execution_again() {
    let home = Home::new();
    let journal = home.open();
    let held = started(&home, &journal).await;
    let (_, recovered) = after_death(&home, journal, held);
    assert_eq!(counts(&recovered), [0, 0, 0, 1, 0, 0, 0, 0]);
    let started = &recovered.started[0];
    assert_eq!(
        (started.dir(), started.shim(), started.agent()),
        ("dir", "shim", "agent")
    );
}

/// P12, P13, ST-2, ST-13. Invariant 8.
#[tokio::test]
async fn dying_with_a_durable_outcome_settles_it() {
    let home = Home::new();
    let journal = home.open();
    let held = started(&home, &journal)
        .await
        .outcome_in_session("the answer", "native-7")
        .unwrap();
    let (journal, mut recovered) = after_death(&home, journal, held);
    assert_eq!(counts(&recovered), [0, 0, 0, 0, 1, 0, 0, 0]);
    let settling = recovered.settling.remove(0);
    assert_eq!(
        (settling.outcome(), settling.dir(), settling.shim()),
        ("the answer", "dir", "shim")
    );
    assert_eq!(journal.session(run_id(1)).as_deref(), Some("native-7"));
    let held = settling.acknowledged().unwrap();
    let (journal, mut recovered) = after_death(&home, journal, held);
    assert_eq!(counts(&recovered), [0, 0, 0, 0, 0, 1, 0, 0]);
    let acknowledged = recovered.acknowledged.remove(0);
    assert_eq!((acknowledged.dir(), acknowledged.shim()), ("dir", "shim"));
    acknowledged.closed().unwrap();
    let (journal, recovered) = after_death(&home, journal, ());
    assert_eq!(counts(&recovered), [0; 8]);
    assert_eq!(
        journal.session(run_id(1)).as_deref(),
        Some("native-7"),
        "the run may go on"
    );
}

/// ST-4: the second outcome takes the place of the first.
#[tokio::test]
async fn an_outcome_can_be_replaced_before_it_is_written() {
    let home = Home::new();
    let journal = home.open();
    let held = started(&home, &journal)
        .await
        .outcome("failed")
        .unwrap()
        .replace("asked")
        .unwrap();
    let (_, recovered) = after_death(&home, journal, held);
    assert_eq!(recovered.settling[0].outcome(), "asked");
}

/// ST-12: an outcome that is being settled is not offered to the replay.
#[tokio::test]
async fn an_outcome_in_settlement_is_invisible() {
    let home = Home::new();
    let journal = home.open();
    let settling = started(&home, &journal).await.outcome("the answer").unwrap();
    assert_eq!(counts(&journal.recover()), [0; 8]);
    drop(settling);
    assert_eq!(counts(&journal.recover()), [0, 0, 0, 0, 1, 0, 0, 0]);
}

/// P17.
#[tokio::test]
async fn dying_with_a_failed_start_keeps_the_reason() {
    let home = Home::new();
    let journal = home.open();
    let held = claimed(&home, &journal)
        .await
        .prepare("dir")
        .unwrap()
        .failed("no such program")
        .unwrap();
    let (journal, mut recovered) = after_death(&home, journal, held);
    assert_eq!(counts(&recovered), [0, 0, 0, 0, 0, 0, 1, 0]);
    let failed = recovered.failed.remove(0);
    assert_eq!((failed.reason(), failed.dir()), ("no such program", Some("dir")));
    failed.acknowledged().unwrap();
    let (_, recovered) = after_death(&home, journal, ());
    assert_eq!(counts(&recovered), [0; 8]);
}

/// P20: each report of an interruption carries the same id and time.
#[tokio::test]
async fn dying_with_a_receipt_reports_the_same_interruption() {
    let home = Home::new();
    let journal = home.open();
    let held = started(&home, &journal).await.interrupted().unwrap();
    let (report, interruption) = (held.report(), held.interruption());
    let (journal, mut recovered) = after_death(&home, journal, held);
    let receipt = recovered.receipts.remove(0);
    assert_eq!((receipt.report(), receipt.interruption()), (report, interruption));
    receipt.acknowledged().unwrap();
    assert_eq!(counts(&after_death(&home, journal, ()).1), [0; 8]);
}

/// A step that the ledger does not take has not happened, and can be made again.
#[tokio::test]
async fn a_refused_step_gives_its_state_back() {
    let home = Home::new();
    let journal = home.open();
    let started = started(&home, &journal).await;
    let refused = started.outcome(&"x".repeat(17 << 20)).unwrap_err();
    assert!(matches!(refused.error, LedgerError::TooLarge { .. }), "{refused}");
    assert_eq!(counts(&journal.recover()), [0; 8], "it is still held");
    let settling = refused.state.outcome("x").unwrap();
    assert_eq!(settling.outcome(), "x");
}

/// RC-4, P23, scenario 34: an import that died is begun again and takes in what is missing.
#[tokio::test]
async fn an_import_is_needed_until_it_is_complete() {
    let home = Home::new();
    let journal = home.open();
    assert!(journal.import_needed());
    let first = journal
        .import(&row(7, 3), &row(7, 3).attempt(&seed()))
        .unwrap()
        .unwrap();
    let held = first
        .prepare("old")
        .unwrap()
        .registered("shim")
        .unwrap()
        .started("agent")
        .unwrap();
    let (journal, recovered) = after_death(&home, journal, held);
    assert!(journal.import_needed());
    assert_eq!(counts(&recovered), [0, 0, 0, 1, 0, 0, 0, 0]);
    assert!(
        journal
            .import(&row(7, 3), &row(7, 3).attempt(&seed()))
            .unwrap()
            .is_none()
    );
    let second = journal
        .import(&row(8, 1), &row(8, 1).attempt(&seed()))
        .unwrap()
        .unwrap();
    assert_eq!(second.operation(), None);
    journal.import_complete().unwrap();
    let (journal, _) = after_death(&home, journal, (recovered, second));
    assert!(!journal.import_needed());
}

/// CJ-26: the native session is in the ledger, under the run, and no request to the record has it.
#[tokio::test]
async fn a_session_is_known_until_it_is_forgotten() {
    let home = Home::new();
    let journal = home.open();
    journal.know_session(run_id(1), "a").unwrap();
    journal.know_session(run_id(2), "a").unwrap();
    assert!(journal.is_session_of(run_id(1), "a"));
    assert!(
        !journal.is_session_of(run_id(2), "a"),
        "two runs never go on with one session"
    );
    journal.forget_session(run_id(2)).unwrap();
    journal.know_session(run_id(1), "b").unwrap();
    let length = std::fs::metadata(home.ledger()).unwrap().len();
    journal.know_session(run_id(1), "b").unwrap();
    assert_eq!(
        std::fs::metadata(home.ledger()).unwrap().len(),
        length,
        "nothing new is not written"
    );
    let (journal, _) = after_death(&home, journal, ());
    assert_eq!(journal.session(run_id(1)).as_deref(), Some("b"));
    journal.forget_session(run_id(1)).unwrap();
    journal.forget_session(run_id(1)).unwrap();
    let (journal, _) = after_death(&home, journal, ());
    assert_eq!(journal.session(run_id(1)), None);
}

/// OW-3: one live process for each native session, whichever run learned of it first.
#[tokio::test]
async fn a_session_is_nobodys_else_while_an_agent_may_go_on_with_it() {
    let home = Home::new();
    let journal = home.open();
    let live = started(&home, &journal).await;
    assert_eq!(live.row().run, run_id(1));
    journal.know_session(run_id(1), "a").unwrap();
    journal.know_session(run_id(0), "a").unwrap();
    assert!(!journal.is_session_of(run_id(0), "a"), "the older run waits");
    assert!(!journal.is_session_of(run_id(1), "a"), "it is the older one's");
    let settling = live.outcome("done").unwrap();
    assert!(journal.is_session_of(run_id(0), "a"), "its agent is proven gone");
    drop(settling);
}

/// The file does not grow with the work that was done, only with the work that is owned.
#[tokio::test]
async fn a_ledger_stays_small() {
    let home = Home::new();
    let journal = home.open();
    let mut held = started(&home, &journal).await.outcome("first").unwrap();
    let outcome = "x".repeat(100_000);
    for _ in 0..60 {
        held = held.replace(&outcome).unwrap();
    }
    assert!(std::fs::metadata(home.ledger()).unwrap().len() < 2 << 20);
    let attempt = held.attempt();
    let (journal, recovered) = after_death(&home, journal, held);
    assert_eq!(recovered.settling[0].outcome(), outcome);
    assert!(journal.holds(&attempt));
}

#[tokio::test]
async fn which_secrets_an_attempt_was_given_is_known_until_it_is_over() {
    let home = Home::new();
    let journal = home.open();
    let held = started(&home, &journal).await;
    let (run, epoch) = (held.row().run, held.row().epoch);
    for secret in ["a", "b", "a"] {
        journal.give_secret(run, epoch, secret).unwrap();
    }
    let (journal, mut recovered) = after_death(&home, journal, held);
    assert_eq!(journal.secrets_given(run, epoch), ["a", "b"]);
    let settling = recovered.started.remove(0).outcome("o").unwrap();
    assert_eq!(
        journal.secrets_given(run, epoch),
        ["a", "b"],
        "it may be told again"
    );
    settling.acknowledged().unwrap().closed().unwrap();
    assert!(journal.secrets_given(run, epoch).is_empty());
    let unknown = journal.give_secret(run, epoch, "c").unwrap_err();
    assert!(matches!(unknown, LedgerError::Illegal(_)), "{unknown}");
}
