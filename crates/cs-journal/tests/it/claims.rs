//! Claiming (behaviour CJ, scenarios 1 to 10).

use cs_journal::{Action, ClaimError, JournalError, LedgerError, Task, Want, Window};
use cs_model::Epoch;
use tokio::task::JoinSet;

use crate::fake::{Fault, Home, landing_row, row, run_id, turns, want};

fn nobody_left(journal: &cs_journal::Journal) -> bool {
    journal.recover().claimed.is_empty()
}

/// CJ-1: only an id of its own, known on both sides, settles a lost answer.
#[tokio::test]
async fn each_claim_has_an_id_of_its_own() {
    let home = Home::new();
    home.record.offer([1, 2]);
    let journal = home.open();
    let one = Want::one(Task::Turns, "mine");
    let (first, second) = (
        journal.claim(&one).await.unwrap(),
        journal.claim(&one).await.unwrap(),
    );
    assert_ne!(first.operation(), second.operation());
    assert_eq!((first.runs().len(), second.runs().len()), (1, 1));
}

/// CJ-23: what is adopted has its owner before anything is awaited, also when the window is over.
#[tokio::test]
async fn a_claim_gives_each_attempt_once() {
    let home = Home::new();
    home.record.offer([1, 2]);
    let journal = home.open();
    let mut window = journal.claim(&turns()).await.unwrap();
    let first = window.adopt(run_id(1)).unwrap();
    assert!(window.adopt(run_id(1)).is_none());
    let rest = window.adopt_all();
    assert_eq!(
        rest.iter().map(|claimed| claimed.row().run).collect::<Vec<_>>(),
        [run_id(2)]
    );
    assert!(window.is_empty());
    window.finish();
    assert_ne!(first.attempt().token, rest[0].attempt().token);
    assert!(journal.holds(&first.attempt()));
    assert!(nobody_left(&journal));
}

/// An empty take is over at once: cancelled and empty mean the same.
#[tokio::test]
async fn a_claim_that_took_nothing_leaves_nothing() {
    let home = Home::new();
    let journal = home.open();
    let window = journal.claim(&turns()).await.unwrap();
    assert!(window.is_empty());
    assert_eq!(journal.pending(), []);
}

/// CJ-3.
#[tokio::test]
async fn the_confirmed_rows_are_the_result_and_not_those_of_the_answer() {
    let home = Home::new();
    home.record.offer([1]);
    home.record.next_fault(Fault::AnswerWithOtherRows);
    let journal = home.open();
    let window = journal.claim(&turns()).await.unwrap();
    assert_eq!(
        window
            .runs()
            .iter()
            .map(|claimed| claimed.row().run)
            .collect::<Vec<_>>(),
        [run_id(1)]
    );
}

/// Scenario 1, P3, P4, CJ-7, CJ-13.
#[tokio::test]
async fn a_lost_answer_gives_exactly_one_attempt() {
    let home = Home::new();
    home.record.offer([1]);
    home.record.next_fault(Fault::LoseAnswer);
    let journal = home.open();
    let error = journal.claim(&turns()).await.unwrap_err();
    assert!(
        matches!(
            &error,
            JournalError::Record {
                source: ClaimError::Away(_),
                ..
            }
        ),
        "the original error reaches the caller: {error}"
    );
    assert_eq!(journal.pending().len(), 1);
    assert!(nobody_left(&journal), "nothing may be started in doubt");

    assert_eq!(journal.reconcile_pending().await.unwrap(), 1);
    assert_eq!(journal.reconcile_pending().await.unwrap(), 0);
    let recovered = journal.recover();
    assert_eq!(recovered.claimed.len(), 1);
    assert!(nobody_left(&journal), "it is held");
}

/// Scenario 2, CJ-10. Invariant 3.
#[tokio::test]
async fn a_lost_request_is_fenced_and_takes_nothing_when_it_arrives_late() {
    let home = Home::new();
    home.record.offer([1]);
    home.record.next_fault(Fault::LoseRequest);
    let journal = home.open();
    journal.claim(&turns()).await.unwrap_err();
    assert_eq!(journal.reconcile_pending().await.unwrap(), 1);
    let late = home.record.deliver_late();
    assert!(matches!(late[..], [Err(ClaimError::Cancelled(_))]), "{late:?}");
    assert_eq!(home.record.ready(), 1);
    assert_eq!(journal.pending(), []);
    assert!(nobody_left(&journal));
}

/// Scenario 3, CJ-4.
#[tokio::test]
async fn a_confirmation_of_another_action_starts_nothing() {
    let home = Home::new();
    home.record.offer([1]);
    home.record.next_fault(Fault::NameAnotherAction);
    let journal = home.open();
    let error = journal.claim(&turns()).await.unwrap_err();
    assert!(
        matches!(
            error,
            JournalError::AnotherAction {
                asked: Action::TakeTurns,
                stored: Action::TakeRearms,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(journal.pending().len(), 1);
    assert!(nobody_left(&journal));
}

async fn refuses_the_whole_receipt(rows: Vec<cs_journal::ClaimedRun>) {
    let home = Home::new();
    rows.into_iter().for_each(|row| home.record.offer_row(row));
    let journal = home.open();
    let error = journal.claim(&turns()).await.unwrap_err();
    assert!(matches!(error, JournalError::BadReceipt { .. }), "{error}");
    assert_eq!(journal.pending().len(), 1);
    assert!(nobody_left(&journal));
}

/// Scenario 4, CJ-5, CJ-6.
#[tokio::test]
async fn one_bad_row_refuses_the_whole_result() {
    refuses_the_whole_receipt(vec![row(1, 1), row(2, Epoch::NONE.get())]).await;
    refuses_the_whole_receipt(vec![row(1, 1), row(2, 1), row(1, 2)]).await;
}

/// CJ-5: work of another kind cannot be what was asked for.
#[tokio::test]
async fn a_take_of_turns_that_gives_landings_is_refused() {
    let home = Home::new();
    home.record.offer_landing(landing_row(5));
    home.record.next_fault(Fault::GiveLandings);
    let journal = home.open();
    let error = journal.claim(&turns()).await.unwrap_err();
    assert!(matches!(error, JournalError::BadReceipt { .. }), "{error}");
    assert!(journal.recover().landings_claimed.is_empty());
}

#[tokio::test]
async fn a_lost_answer_to_a_take_of_landings_gives_the_landing_once() {
    let home = Home::new();
    home.record.offer_landing(landing_row(5));
    home.record.next_fault(Fault::LoseAnswer);
    let journal = home.open();
    journal.claim(&want(Task::Landings)).await.unwrap_err();
    journal.reconcile_pending().await.unwrap();
    let recovered = journal.recover();
    assert_eq!(recovered.landings_claimed.len(), 1);
    assert!(journal.recover().landings_claimed.is_empty());
}

/// CJ-7: an answer with work and then a fence is a doubt like any other.
#[tokio::test]
async fn an_answer_that_the_record_denies_starts_nothing() {
    let home = Home::new();
    home.record.offer([1]);
    home.record.next_fault(Fault::DenyAnswer);
    let journal = home.open();
    let error = journal.claim(&turns()).await.unwrap_err();
    assert!(matches!(error, JournalError::Contradicted { .. }), "{error}");
    assert_eq!(journal.pending().len(), 1);
}

/// Scenario 5, CJ-20; the same after a restart. Invariant 4.
#[tokio::test]
async fn an_operation_in_doubt_stays_pending_until_it_is_cleared_up() {
    let home = Home::new();
    home.record.offer([1]);
    home.record.next_fault(Fault::FailConfirmation);
    let journal = home.open();
    journal.claim(&turns()).await.unwrap_err();
    let pending = journal.pending();
    assert_eq!(pending.len(), 1);
    drop(journal);
    let journal = home.open();
    assert_eq!(journal.pending(), pending);
    journal.reconcile_pending().await.unwrap();
    assert_eq!(journal.recover().claimed.len(), 1);
}

/// CJ-8: a reconcile that fails says so and leaves the operation where it is.
#[tokio::test]
async fn a_failed_reconcile_keeps_the_operation() {
    let home = Home::new();
    home.record.offer([1]);
    home.record.next_fault(Fault::LoseAnswer);
    let journal = home.open();
    journal.claim(&turns()).await.unwrap_err();
    home.record.fail_next_confirmation();
    let error = journal.reconcile_pending().await.unwrap_err();
    assert!(matches!(error, JournalError::Record { .. }), "{error}");
    assert_eq!(journal.pending().len(), 1);
    assert!(nobody_left(&journal));
    assert_eq!(journal.reconcile_pending().await.unwrap(), 1);
    assert_eq!(journal.recover().claimed.len(), 1);
}

/// CJ-9: nothing proceeds when the record knows a pending operation as another action.
#[tokio::test]
async fn a_pending_operation_of_another_action_stops_the_reconcile() {
    let home = Home::new();
    home.record.offer([1]);
    home.record.next_fault(Fault::LoseAnswer);
    let journal = home.open();
    journal.claim(&turns()).await.unwrap_err();
    home.record.name_another_action_next();
    let error = journal.reconcile_pending().await.unwrap_err();
    assert!(matches!(error, JournalError::AnotherAction { .. }), "{error}");
    assert_eq!(journal.pending().len(), 1);
}

/// Scenarios 6 and 10, CJ-19, CJ-21, P26: a window ends by its `finish` and by its drop, which forget nothing. Invariant 4.
#[tokio::test]
async fn attempts_that_nobody_adopted_are_not_lost() {
    let home = Home::new();
    home.record.offer([1, 2, 3]);
    let journal = home.open();
    let mut window = journal.claim(&turns()).await.unwrap();
    let adopted = window.adopt(run_id(2)).unwrap();
    Window::finish(window);
    let recovered = journal.recover();
    let runs: Vec<_> = recovered
        .claimed
        .iter()
        .map(|claimed| claimed.row().run)
        .collect();
    assert_eq!(runs, [run_id(1), run_id(3)]);
    drop(adopted);
    assert_eq!(
        journal.recover().claimed.len(),
        1,
        "what is dropped is given back"
    );
}

/// Scenario 7, CJ-22, CJ-24.
#[tokio::test]
async fn a_claim_in_flight_is_invisible_and_counted() {
    let home = Home::new();
    home.record.offer([1]);
    let journal = home.open();
    let open = home.record.gate();
    let want = turns();
    let mut claim = Box::pin(journal.claim(&want));
    tokio::select! {
        biased;
        _ = &mut claim => panic!("the gate is shut"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(journal.windows_open(), 1);
    assert_eq!(journal.pending(), []);
    assert_eq!(journal.reconcile_pending().await.unwrap(), 0);
    assert!(nobody_left(&journal));
    open.send(()).unwrap();
    let mut window = claim.await.unwrap();
    assert_eq!(window.adopt_all().len(), 1);
    drop(window);
    assert_eq!(journal.windows_open(), 0);
}

/// Dropping the future is a doubt like any other.
#[tokio::test]
async fn a_claim_that_is_dropped_on_the_way_stays_pending() {
    let home = Home::new();
    let journal = home.open();
    let _open = home.record.gate();
    let want = turns();
    {
        let mut claim = Box::pin(journal.claim(&want));
        tokio::select! {
            biased;
            _ = &mut claim => panic!("the gate is shut"),
            () = std::future::ready(()) => {}
        }
    }
    assert_eq!(journal.pending().len(), 1);
    assert_eq!(journal.windows_open(), 0);
}

/// CJ-24, CJ-25: a start is under way until its execution is registered.
#[tokio::test]
async fn the_barrier_is_counted_per_start_and_ends_at_registration() {
    let home = Home::new();
    home.record.offer([1, 2]);
    let journal = home.open();
    let mut window = journal.claim(&turns()).await.unwrap();
    let first = window.adopt(run_id(1)).unwrap();
    let second = window.adopt(run_id(2)).unwrap();
    drop(window);
    assert_eq!(journal.windows_open(), 2);
    let first = first.prepare("one").unwrap();
    assert_eq!(journal.windows_open(), 2);
    let first = first.registered("shim").unwrap();
    assert_eq!(journal.windows_open(), 1);
    second.failed("no such program").unwrap().acknowledged().unwrap();
    assert_eq!(journal.windows_open(), 0);
    drop(first);
}

/// Scenario 8, CJ-14: what is not current any more is not launched, and is gone.
#[tokio::test]
async fn a_recovered_claim_that_is_not_current_is_forgotten() {
    let home = Home::new();
    home.record.offer([1]);
    let journal = home.open();
    drop(journal.claim(&turns()).await.unwrap());
    let mut recovered = journal.recover();
    recovered.claimed.remove(0).void().unwrap();
    assert!(nobody_left(&journal));
    assert!(!journal.holds_run(run_id(1)));
}

/// Scenario 9, CJ-28: a claim that cannot be started is ended and does not stand in the way of others.
#[tokio::test]
async fn a_recovered_claim_that_fails_for_good_is_ended_and_the_next_goes_on() {
    let home = Home::new();
    home.record.offer([1]);
    let journal = home.open();
    drop(journal.claim(&turns()).await.unwrap());
    let failed = journal
        .recover()
        .claimed
        .remove(0)
        .failed("its session is gone")
        .unwrap();
    assert_eq!((failed.reason(), failed.dir()), ("its session is gone", None));
    failed.acknowledged().unwrap();
    home.record.offer([2]);
    assert_eq!(journal.claim(&turns()).await.unwrap().adopt_all().len(), 1);
}

/// Many tasks claim at once: everything is taken, and nothing twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_tasks_take_everything_once() {
    let home = Home::new();
    home.record.offer(1..=64);
    let journal = home.open();
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let journal = journal.clone();
        tasks.spawn(async move { journal.claim(&turns()).await.unwrap().adopt_all() });
    }
    let taken = tasks.join_all().await;
    let mut runs: Vec<_> = taken.iter().flatten().map(|claimed| claimed.row().run).collect();
    runs.sort_unstable();
    assert_eq!(runs, (1..=64).map(run_id).collect::<Vec<_>>());
    assert_eq!(journal.windows_open(), 64);
}

/// CJ-2: what a copy of the file says at the moment when the request has left.
#[tokio::test]
async fn the_intent_is_in_the_file_before_the_request_leaves() {
    let home = Home::new();
    let journal = home.open();
    let _open = home.record.gate();
    let want = turns();
    let mut claim = Box::pin(journal.claim(&want));
    tokio::select! {
        biased;
        _ = &mut claim => panic!("the gate is shut"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(home.open_a_copy().pending().len(), 1);
}

/// CJ-8: a tools call and the pass may clear up at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_tasks_clear_up_everything_once() {
    let home = Home::new();
    home.record.offer(1..=64);
    let journal = home.open();
    for _ in 0..16 {
        home.record.next_fault(Fault::LoseAnswer);
        journal.claim(&turns()).await.unwrap_err();
    }
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let journal = journal.clone();
        tasks.spawn(async move {
            journal.reconcile_pending().await.unwrap();
            journal.recover().claimed
        });
    }
    let taken = tasks.join_all().await;
    let mut runs: Vec<_> = taken.iter().flatten().map(|claimed| claimed.row().run).collect();
    runs.sort_unstable();
    assert_eq!(runs, (1..=64).map(run_id).collect::<Vec<_>>());
}

#[tokio::test]
async fn two_who_clear_up_at_once_do_not_meet() {
    let home = Home::new();
    home.record.offer([1]);
    home.record.next_fault(Fault::LoseAnswer);
    let journal = home.open();
    journal.claim(&turns()).await.unwrap_err();
    let (one, other) = tokio::join!(journal.reconcile_pending(), journal.reconcile_pending());
    assert_eq!((one.unwrap(), other.unwrap()), (1, 0));
    assert_eq!(journal.recover().claimed.len(), 1);
}

/// A person has stopped the first attempt and said more before its end was proven here. Invariant 1.
#[tokio::test]
async fn an_attempt_is_not_prepared_while_another_of_its_run_may_run() {
    let home = Home::new();
    home.record.offer_row(row(1, 1));
    let journal = home.open();
    let first = journal.claim(&turns()).await.unwrap().adopt(run_id(1)).unwrap();
    let first = first.prepare("one").unwrap().registered("shim").unwrap();
    home.record.offer_row(row(1, 2));
    let second = journal.claim(&turns()).await.unwrap().adopt(run_id(1)).unwrap();
    assert_eq!(journal.running_beside(&second.attempt()), Some(first.attempt()));
    assert_eq!(journal.running_beside(&first.attempt()), None);
    let refused = second.prepare("two").unwrap_err();
    assert!(
        matches!(
            refused.error,
            LedgerError::StillRuns {
                stage: "registered",
                ..
            }
        ),
        "{refused}"
    );
    let started = first.started("agent").unwrap();
    let refused = refused.state.prepare("two").unwrap_err();
    assert!(
        matches!(refused.error, LedgerError::StillRuns { stage: "started", .. }),
        "{refused}"
    );
    let settling = started.outcome("stopped").unwrap();
    assert_eq!(journal.running_beside(&refused.state.attempt()), None);
    let second = refused.state.prepare("two").unwrap();
    assert_eq!((settling.dir(), second.dir()), ("one", "two"));
}
