//! Standing rules.

use cs_model::{Person, RuleId, Time};
use cs_record::{AddRule, StandingRule, StoreError};
use sqlx::{FromRow, SqliteConnection};

use crate::SqliteStore;
use crate::row_cards::{number, parse, parse_opt};
use crate::script;

#[derive(FromRow)]
struct RuleRow {
    id: String,
    codebase_id: Option<String>,
    body: String,
    version: i64,
    person: String,
    created_at: i64,
    updated_at: i64,
}

impl TryFrom<RuleRow> for StandingRule {
    type Error = StoreError;
    fn try_from(row: RuleRow) -> Result<Self, StoreError> {
        let (table, id) = ("standing_rules", row.id.as_str());
        Ok(Self {
            id: parse(table, id, id)?,
            codebase: parse_opt(table, id, row.codebase_id.as_deref())?,
            version: number(table, id, "version", row.version)?,
            by: parse(table, id, &row.person)?,
            created_at: Time::from_unix_micros(row.created_at),
            updated_at: Time::from_unix_micros(row.updated_at),
            body: row.body,
        })
    }
}

pub(crate) async fn add(store: &SqliteStore, add: &AddRule) -> Result<StandingRule, StoreError> {
    let mut tx = store.begin().await?;
    let query = sqlx::query(include_str!("../queries/insert_rule.sql"))
        .bind(add.rule.to_string())
        .bind(add.codebase.map(|codebase| codebase.to_string()))
        .bind(&add.body)
        .bind(add.person.as_str())
        .bind(store.now().unix_micros());
    script::changes(&mut tx, "insert_rule", query).await?;
    let rule = find(&mut tx, add.rule).await?;
    tx.commit().await?;
    rule.ok_or_else(|| StoreError::Corrupt(format!("rule {} was written and is not there", add.rule)))
}

async fn find(connection: &mut SqliteConnection, rule: RuleId) -> Result<Option<StandingRule>, StoreError> {
    let query = sqlx::query(include_str!("../queries/find_rule.sql")).bind(rule.to_string());
    let row: Option<RuleRow> = script::optional(connection, "find_rule", query).await?;
    row.map(StandingRule::try_from).transpose()
}

pub(crate) async fn list(store: &SqliteStore) -> Result<Vec<StandingRule>, StoreError> {
    read(&mut *store.snapshot().await?).await
}

/// Reads all rules, in the order in which agents are told them.
pub(crate) async fn read(connection: &mut SqliteConnection) -> Result<Vec<StandingRule>, StoreError> {
    let query = sqlx::query(include_str!("../queries/list_rules.sql"));
    let rows: Vec<RuleRow> = script::all(connection, "list_rules", query).await?;
    rows.into_iter().map(StandingRule::try_from).collect()
}

pub(crate) async fn edit(
    store: &SqliteStore,
    rule: RuleId,
    body: &str,
    person: &Person,
) -> Result<Option<StandingRule>, StoreError> {
    let mut tx = store.begin().await?;
    let query = sqlx::query(include_str!("../queries/update_rule.sql"))
        .bind(rule.to_string())
        .bind(body)
        .bind(person.as_str())
        .bind(store.now().unix_micros());
    script::changes(&mut tx, "update_rule", query).await?;
    let edited = find(&mut tx, rule).await?;
    tx.commit().await?;
    Ok(edited)
}

pub(crate) async fn remove(store: &SqliteStore, rule: RuleId) -> Result<bool, StoreError> {
    let mut tx = store.begin().await?;
    let query = sqlx::query(include_str!("../queries/delete_rule.sql")).bind(rule.to_string());
    let gone = script::changes(&mut tx, "delete_rule", query).await?;
    tx.commit().await?;
    Ok(gone > 0)
}
