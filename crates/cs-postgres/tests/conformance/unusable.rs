//! A database that stops to take writes, and rows that are not as they should be.

use std::sync::Arc;

use cs_model::{CardId, IdSource, TurnId};
use cs_postgres::{OpenError, PostgresStore, Settings, migrate};
use cs_record::{RecordError, Send, SendTo, Sent};
use cs_testkit::SetClock;
use cs_testkit::laws::{World, unreadable};
use sqlx::{AssertSqlSafe, Executor, PgConnection};

use crate::acts::{new_card, take};
use crate::own_server::OwnServer;
use crate::schema::{Schema, server};

async fn say(world: &World, card: CardId) -> Result<Sent, RecordError> {
    let send = Send {
        turn: TurnId::from_uuid(world.ids.uuid_v7()),
        to: SendTo::Card(card),
        person: world.person.clone(),
        body: "more".to_owned(),
        plan: cs_record::Plan::default(),
        choice: cs_record::Choice::default(),
        attachments: Vec::new(),
    };
    world.people.send(&send).await
}

/// Checks that a turn cannot be written, for a reason that passes and whose cure is told; nothing of it is there.
async fn check_away(world: &World, card: CardId, cure: &str) {
    let before = world.cards.card(card).await.expect("it can be read").card.version;
    let error = say(world, card).await.expect_err("it cannot be written");
    let RecordError::Away(why) = &error else {
        panic!("it may go on later: {error:?}");
    };
    assert!(why.to_string().contains(cure), "{why}");
    let after = world.cards.card(card).await.expect("it can be read").card.version;
    assert_eq!(before, after);
}

async fn run(raw: &mut PgConnection, sql: &str) {
    raw.execute(AssertSqlSafe(sql.to_owned()))
        .await
        .expect("the statement is good");
}

/// The server says what it says when it cannot extend a file; a trigger says it here, where a full disk would hit other tests.
#[tokio::test]
async fn a_full_disk_of_the_server_is_told_and_passes() {
    let schema = Arc::new(Schema::new().await);
    let (world, mut raw) = (schema.world().await, schema.raw().await);
    let card = new_card(&world).await;
    run(
        &mut raw,
        "create function no_room() returns trigger language plpgsql as $$ begin
             raise exception 'could not extend file: No space left on device' using errcode = 'disk_full';
         end $$;
         create trigger no_room before insert on turns for each row execute function no_room()",
    )
    .await;
    check_away(&world, card, "the disk of the server is full, free some").await;
    assert_eq!(take(&world, 1).await.len(), 1, "what needs no room goes on");
    run(&mut raw, "drop trigger no_room on turns").await;
    say(&world, card).await.expect("there is room again");
}

/// A server that became a standby, or was set so, under a record that is open.
#[tokio::test]
async fn a_server_that_can_only_be_read_from_now_on_is_told_and_passes() {
    let own = OwnServer::new(&server(), "");
    own.start();
    let clock = Arc::new(SetClock::new());
    let settings: Settings = own.url().parse().expect("the URL is good");
    migrate(&settings).await.expect("it migrates");
    let store = PostgresStore::open(&settings.with_clock(Arc::clone(&clock) as _))
        .await
        .expect("it opens");
    let world = World::new(store, clock, ()).await;
    let card = new_card(&world).await;
    own.sql("alter system set default_transaction_read_only = on");
    own.crash();
    own.start();
    check_away(&world, card, "the server can only be read").await;
    assert_eq!(
        world
            .cards
            .cards(cs_record::CardFilter::All)
            .await
            .expect("it can be read")
            .rows
            .len(),
        1
    );
    own.sql("alter system reset default_transaction_read_only");
    own.crash();
    own.start();
    say(&world, card).await.expect("it can be written again");
}

/// A table with one of our names and without our mark is somebody else's.
#[tokio::test]
async fn a_foreign_table_named_as_one_of_ours_is_left_alone() {
    let schema = Schema::empty().await;
    let mut raw = schema.raw().await;
    run(
        &mut raw,
        "create table cards (suit text); insert into cards values ('hearts')",
    )
    .await;
    for error in [
        PostgresStore::open(&schema.settings())
            .await
            .expect_err("it is refused"),
        migrate(&schema.settings()).await.expect_err("it is refused"),
    ] {
        assert!(matches!(error, OpenError::NotOurs { .. }), "{error:?}");
        assert!(
            error.to_string().contains("give another one, or another schema"),
            "{error}"
        );
    }
    let kept: i64 = sqlx::query_scalar("select count(*) from cards")
        .fetch_one(&mut raw)
        .await
        .expect("it is there");
    assert_eq!(kept, 1);
}

/// A schema that a step is missing of, as an older cs-panel has left it, asks for the migration and is not touched.
#[tokio::test]
async fn an_older_record_asks_for_the_migration() {
    let schema = Schema::new().await;
    let mut raw = schema.raw().await;
    run(
        &mut raw,
        "alter table cs_panel_version drop constraint cs_panel_version_version_check;
         alter table cs_panel_version drop constraint cs_panel_version_check;
         update cs_panel_version set version = 0, usable_from = 0",
    )
    .await;
    let error = PostgresStore::open(&schema.settings())
        .await
        .expect_err("it is refused");
    assert!(
        matches!(error, OpenError::NotMigrated { found: 0, .. }),
        "{error:?}"
    );
    assert!(
        error.to_string().contains("run `cs-panel migrate` once"),
        "{error}"
    );
}

/// A value that no cs-panel has written, past the constraints or from a time before them. The error names the row.
async fn check_corrupt(spoil: &str, names: &str) {
    let schema = Arc::new(Schema::new().await);
    let (world, mut raw) = (schema.world().await, schema.raw().await);
    let (bad, good) = (new_card(&world).await, new_card(&world).await);
    run(&mut raw, &spoil.replace("ID", &bad.to_string())).await;
    let error = world.cards.card(bad).await.expect_err("it does not decode");
    let RecordError::Corrupt(why) = &error else {
        panic!("it is corrupt: {error:?}");
    };
    assert!(
        why.contains(&format!("row {bad} of cards")) && why.contains(names),
        "{why}"
    );
    let written = say(&world, bad).await.expect_err("nothing is decided on it");
    assert!(matches!(written, RecordError::Corrupt(_)), "{written:?}");
    world.cards.card(good).await.expect("the others can be read");
    say(&world, good).await.expect("the others can be written");
    let kept: String = sqlx::query_scalar(AssertSqlSafe(format!(
        "select title from cards where id = '{bad}'"
    )))
    .fetch_one(&mut raw)
    .await
    .expect("it is there");
    assert_eq!(kept, "make it go", "nothing of it is lost");
}

#[tokio::test]
async fn a_row_that_does_not_decode_is_named_and_the_others_are_used() {
    check_corrupt("update cards set person = '' where id = 'ID'", "person").await;
    check_corrupt(
        "alter table cards drop constraint cards_state_check; alter table cards drop constraint cards_check;
         update cards set state = 'asleep' where id = 'ID'",
        "asleep",
    )
    .await;
    check_corrupt(
        "alter table cards drop constraint cards_last_seq_check; update cards set last_seq = -1 where id = 'ID'",
        "out of range",
    )
    .await;
}

/// Lets rows be as no cs-panel writes them.
const WITHOUT_CHECKS: &str = "do $$ declare one record; begin
    for one in select conrelid::regclass as it, conname from pg_constraint
               where contype = 'c' and connamespace = current_schema()::regnamespace and conrelid <> 0
    loop execute format('alter table %s drop constraint %I', one.it, one.conname); end loop;
end $$";

/// Runs a law on a schema whose rows can be spoiled past the store.
macro_rules! spoiled {
    ($law:ident) => {
        #[tokio::test]
        async fn $law() {
            let schema = Arc::new(Schema::new().await);
            let world = schema.world().await;
            run(&mut schema.raw().await, WITHOUT_CHECKS).await;
            let spoil = async |sql: String| run(&mut schema.raw().await, &sql).await;
            unreadable::$law(&world, spoil).await;
        }
    };
}

spoiled!(rows_that_do_not_decode_stop_no_other_card);
spoiled!(one_take_passes_many_cards_that_do_not_decode);
spoiled!(a_landing_that_does_not_decode_holds_its_codebase_only);
spoiled!(a_run_that_does_not_decode_hides_no_other);
