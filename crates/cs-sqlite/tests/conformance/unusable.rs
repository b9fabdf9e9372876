//! Rows that are not as they should be, and tables of others.

use cs_model::{CardId, IdSource, TurnId};
use cs_record::{CardFilter, RecordError, RowStore, Send, SendTo, Sent};
use cs_sqlite::OpenError;
use cs_testkit::laws::{World, unreadable};

use crate::file::raw;
use crate::home::Home;

async fn say(world: &World, to: SendTo) -> Result<Sent, RecordError> {
    let turn = TurnId::from_uuid(world.ids.uuid_v7());
    world
        .people
        .send(&Send::new(turn, to, world.person.clone(), "please"))
        .await
}

async fn new_card(world: &World) -> CardId {
    let card = CardId::from_uuid(world.ids.uuid_v7());
    let to = SendTo::new_card(card, "a title", "mine".parse().expect("a name"));
    say(world, to).await.expect("it is taken").card
}

/// A value that no cs-panel has written, past the constraints. The error names the row, nothing is decided on it, and the other
/// cards are used.
async fn check_corrupt(spoil: &str, names: &str) {
    let home = Home::new();
    let world = World::new(home.open().await.expect("it opens"), home.clock(), ()).await;
    let (bad, good) = (new_card(&world).await, new_card(&world).await);
    let spoil = spoil.replace("ID", &bad.to_string());
    raw(
        &home.path("record.db"),
        &format!("pragma ignore_check_constraints = on; {spoil}"),
    )
    .await;
    let read = world.cards.card(bad).await.expect_err("it does not decode");
    let written = say(&world, SendTo::Card(bad))
        .await
        .expect_err("nothing is decided on it");
    for error in [read, written] {
        let RecordError::Corrupt(why) = &error else {
            panic!("it is corrupt: {error:?}");
        };
        assert!(
            why.contains(&format!("row {bad} of cards")) && why.contains(names),
            "{why}"
        );
    }
    world.cards.card(good).await.expect("the others can be read");
    say(&world, SendTo::Card(good))
        .await
        .expect("the others can be written");
}

#[tokio::test]
async fn a_row_that_does_not_decode_is_named_and_the_others_are_used() {
    check_corrupt("update cards set person = '' where id = 'ID'", "person").await;
    check_corrupt("update cards set state = 'asleep' where id = 'ID'", "asleep").await;
    check_corrupt(
        "update cards set usage_turns = -1 where id = 'ID'",
        "out of range",
    )
    .await;
    check_corrupt(
        "update cards set machine_id = 'nowhere' where id = 'ID'",
        "nowhere",
    )
    .await;
}

/// Runs a law on a file whose rows can be spoiled past the store.
macro_rules! spoiled {
    ($law:ident) => {
        #[tokio::test]
        async fn $law() {
            let home = Home::new();
            let world = World::new(home.open().await.expect("it opens"), home.clock(), ()).await;
            let spoil = async |sql: String| {
                let sql = format!("pragma ignore_check_constraints = on; {sql}");
                raw(&home.path("record.db"), &sql).await;
            };
            unreadable::$law(&world, spoil).await;
        }
    };
}

spoiled!(rows_that_do_not_decode_stop_no_other_card);
spoiled!(one_take_passes_many_cards_that_do_not_decode);
spoiled!(a_landing_that_does_not_decode_holds_its_codebase_only);
spoiled!(a_run_that_does_not_decode_hides_no_other);

/// A table with one of our names and without our mark is somebody else's, and stays as it is.
#[tokio::test]
async fn a_foreign_table_named_as_one_of_ours_is_left_alone() {
    let home = Home::new();
    let path = home.path("record.db");
    raw(
        &path,
        "create table cards (suit text); insert into cards values ('hearts')",
    )
    .await;
    let before = std::fs::read(&path).expect("it is there");
    let refused = home.open().await.expect_err("it is refused");
    assert!(matches!(refused, OpenError::NotOurs { .. }), "{refused:?}");
    assert!(
        refused
            .to_string()
            .contains("give another path, or move that file away"),
        "{refused}"
    );
    assert_eq!(std::fs::read(&path).expect("it is there"), before);
}

/// A file that was cut short, as by a copy that ended early, is told at the first open or read and never taken for an empty one.
#[tokio::test]
async fn a_damaged_file_is_told() {
    let home = Home::new();
    let world = World::new(home.open().await.expect("it opens"), home.clock(), ()).await;
    new_card(&world).await;
    drop(world);
    let path = home.path("record.db");
    raw(&path, "pragma wal_checkpoint(truncate)").await;
    let mut bytes = std::fs::read(&path).expect("it is there");
    let length = bytes.len();
    bytes[4096..].fill(0x5a);
    std::fs::write(&path, &bytes[..length]).expect("it is written");
    let told = match home.open().await {
        Err(error) => error.to_string(),
        Ok(store) => store
            .cards(CardFilter::All)
            .await
            .expect_err("it is damaged")
            .to_string(),
    };
    assert!(
        told.contains("malformed") || told.contains("not a database"),
        "{told}"
    );
}
