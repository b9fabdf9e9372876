//! Random faults, deaths and late requests: whatever happens, each piece of work is in exactly one place.

use cs_journal::Journal;
use cs_model::RunId;
use proptest::prelude::*;

use crate::fake::{Fault, Home, run_id, turns};

#[derive(Debug, Clone, Copy)]
enum Act {
    Offer,
    Claim,
    ClaimWith(Fault),
    DeliverLate,
    Reconcile,
    FailReconcile,
    Prepare,
    Die,
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => Just(Act::Offer),
        2 => Just(Act::Claim),
        4 => prop::sample::select(vec![
            Fault::LoseRequest,
            Fault::LoseAnswer,
            Fault::NameAnotherAction,
            Fault::FailConfirmation,
            Fault::DenyAnswer,
            Fault::AnswerWithOtherRows,
        ]).prop_map(Act::ClaimWith),
        1 => Just(Act::DeliverLate),
        2 => Just(Act::Reconcile),
        1 => Just(Act::FailReconcile),
        2 => Just(Act::Prepare),
        2 => Just(Act::Die),
    ]
}

/// Returns the runs that the ledger owns, each attempt once.
fn owned(journal: &Journal) -> Vec<RunId> {
    let recovered = journal.recover();
    let claimed = recovered.claimed.iter().map(|held| held.row().run);
    claimed
        .chain(recovered.prepared.iter().map(|held| held.row().run))
        .collect()
}

/// Invariant 3. Invariant 4. Invariant 5.
async fn play(acts: &[Act]) {
    let home = Home::new();
    let mut journal = home.open();
    let mut offered = 0;
    for act in acts {
        match act {
            Act::Offer => {
                offered += 1;
                home.record.offer([offered]);
            }
            Act::Claim => drop(journal.claim(&turns()).await),
            Act::ClaimWith(fault) => {
                home.record.next_fault(*fault);
                drop(journal.claim(&turns()).await);
            }
            Act::DeliverLate => drop(home.record.deliver_late()),
            Act::Reconcile => drop(journal.reconcile_pending().await),
            Act::FailReconcile => {
                home.record.fail_next_confirmation();
                drop(journal.reconcile_pending().await);
            }
            Act::Prepare => {
                for claimed in journal.recover().claimed {
                    drop(claimed.prepare("dir").unwrap());
                }
            }
            Act::Die => {
                drop(journal);
                journal = home.open();
            }
        }
    }
    home.record.forget_faults();
    journal.reconcile_pending().await.unwrap();
    home.record.deliver_late();
    let mut places = owned(&journal);
    places.extend(home.record.ready_runs());
    places.sort_unstable();
    assert_eq!(places, (1..=offered).map(run_id).collect::<Vec<_>>());
    assert_eq!(journal.pending(), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_piece_of_work_is_in_exactly_one_place(acts in prop::collection::vec(any_act(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(play(&acts));
    }
}
