//! Landings: the same protocol, and their steps.

use cs_journal::{Journal, LandingClaimed, Task};

use crate::fake::{Home, landing_row, want};

async fn claimed(home: &Home, journal: &Journal) -> LandingClaimed {
    home.record.offer_landing(landing_row(5));
    let mut window = journal.claim(&want(Task::Landings)).await.unwrap();
    window.adopt_landing(landing_row(5).landing).unwrap()
}

#[tokio::test]
async fn a_landing_goes_on_after_its_last_durable_step() {
    let home = Home::new();
    let journal = home.open();
    let landing = claimed(&home, &journal).await;
    let attempt = landing.attempt();
    drop((landing, journal));

    let journal = home.open();
    let landing = journal.recover().landings_claimed.remove(0);
    assert_eq!(landing.attempt(), attempt);
    let landing = landing.step("merge").unwrap().step("verified").unwrap();
    drop((landing, journal));

    let journal = home.open();
    let landing = journal.recover().landings_working.remove(0);
    assert_eq!(landing.steps(), ["merge", "verified"]);
    assert_eq!((landing.attempt(), landing.row()), (attempt, &landing_row(5)));
    let landing = landing.step("base moved").unwrap().result("landed").unwrap();
    drop((landing, journal));

    let journal = home.open();
    let landing = journal.recover().landings_done.remove(0);
    assert_eq!(landing.result(), "landed");
    assert_eq!(landing.steps(), ["merge", "verified", "base moved"]);
    landing.acknowledged().unwrap();
    drop(journal);

    let recovered = home.open().recover();
    assert!(recovered.landings_claimed.is_empty());
    assert!(recovered.landings_working.is_empty());
    assert!(recovered.landings_done.is_empty());
}

#[tokio::test]
async fn a_landing_is_held_by_one() {
    let home = Home::new();
    let journal = home.open();
    let landing = claimed(&home, &journal).await;
    assert_eq!(journal.windows_open(), 1);
    assert!(journal.recover().landings_claimed.is_empty());
    let landing = landing.step("merge").unwrap();
    assert_eq!(journal.windows_open(), 0);
    assert!(journal.recover().landings_working.is_empty());
    drop(landing);
    assert_eq!(journal.recover().landings_working.len(), 1);
}

#[tokio::test]
async fn a_landing_that_is_refused_at_once_needs_no_step() {
    let home = Home::new();
    let journal = home.open();
    let done = claimed(&home, &journal).await.result("refused").unwrap();
    assert!(done.steps().is_empty());
    done.acknowledged().unwrap();
}

/// P19: whether a landing was done before is read from its steps, so a landing with steps is never forgotten.
#[tokio::test]
async fn a_landing_of_which_nothing_was_done_can_be_forgotten() {
    let home = Home::new();
    let journal = home.open();
    claimed(&home, &journal).await.void().unwrap();
    drop(journal);
    assert!(home.open().recover().landings_claimed.is_empty());
}

#[tokio::test]
async fn landings_that_nobody_adopted_are_not_lost() {
    let home = Home::new();
    let journal = home.open();
    home.record.offer_landing(landing_row(5));
    home.record.offer_landing(landing_row(6));
    let mut window = journal.claim(&want(Task::Landings)).await.unwrap();
    assert_eq!(window.landings().len(), 2);
    let first = window.adopt_landing(landing_row(5).landing);
    assert!(first.is_some());
    window.finish();
    let recovered = journal.recover();
    assert_eq!(recovered.landings_claimed.len(), 1);
    assert_eq!(recovered.landings_claimed[0].row(), &landing_row(6));
}
