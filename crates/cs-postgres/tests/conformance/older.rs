//! A record of an older version, with rows in it, is brought on.

use cs_model::CardId;
use cs_postgres::{Migrated, PostgresStore, migrate};
use cs_record::RowStore;
use cs_settle::Usage;
use sqlx::{AssertSqlSafe, Executor};
use uuid::Uuid;

use crate::schema::Schema;

/// The steps up to the fifth version.
const OLDER: [&str; 6] = [
    include_str!("../../migrations/0001_record.sql"),
    include_str!("../../migrations/0001_functions.sql"),
    include_str!("../../migrations/0002_functions.sql"),
    include_str!("../../migrations/0003_invariants.sql"),
    include_str!("../../migrations/0004_left_behind.sql"),
    include_str!("../../migrations/0005_verify.sql"),
];

/// What was used before it was kept is not known, and not nothing.
#[tokio::test]
async fn what_cards_and_runs_of_an_older_record_used_reads_as_unknown() {
    let schema = Schema::empty().await;
    let mut raw = schema.raw().await;
    for step in OLDER {
        raw.execute(step).await.expect("it is carried out");
    }
    let [card, run, machine] = [1, 2, 3].map(Uuid::from_u128);
    let token = "0".repeat(64);
    let rows = format!(
        "insert into cs_panel_version (version, usable_from, migrated_at) values (5, 5, 1);
         insert into cards (id, title, state, person, agent, opening, priority, recovery, done, last_seq, ready_for, ready_from, usage_turns,
             usage_input_tokens, usage_output_tokens, usage_cost_microusd, created_at, updated_at, version, landings_returned)
         values ('{card}', 'one', 'open', 'Ada', 'mine', 'owner', 0, false, false, 0, 'nothing', 1, 0, 700, 0, 0, 1, 1, 1, 0);
         insert into runs (id, card_id, kind, state, epoch, token, machine_id, agent, started_at, ended_at, failures_in_row, tries, starts,
             settled, read_back, fresh)
         values ('{run}', '{card}', 'owner', 'finished', 1, '{token}', '{machine}', 'mine', 1, 2, 0, 0, 0, 1, false, false);
         update cards set owner_id = '{run}'"
    );
    sqlx::raw_sql(AssertSqlSafe(rows))
        .execute(&mut raw)
        .await
        .expect("it writes");
    let migrated = migrate(&schema.settings()).await;
    assert!(matches!(migrated, Ok(Migrated { from: 5, .. })), "{migrated:?}");
    let store = PostgresStore::open(&schema.settings()).await.expect("it opens");
    let detail = RowStore::card(&store, CardId::from_uuid(card)).await;
    let detail = detail.expect("it answers").expect("it is there");
    let known = Usage {
        input_tokens: Some(700),
        ..Usage::default()
    };
    assert_eq!(detail.card.usage, known);
    assert_eq!(detail.card.model, None);
    assert_eq!(detail.runs.first().map(|run| &run.used), Some(&None));
}
