//! Standing rules.

use cs_model::{CodebaseId, Person, RuleId, Time};
use cs_record::{AddRule, StandingRule, StoreError};
use serde::Deserialize;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::PostgresStore;
use crate::error::{commit_error, store_error};
use crate::limits::number as count;
use crate::load::{domain, from_json};
use crate::row_cards::{free, number, parse};
use crate::store::{Sql, sql};
use crate::text::stored;

#[derive(Deserialize)]
pub(crate) struct RuleRow {
    id: Uuid,
    codebase_id: Option<Uuid>,
    body: String,
    version: i64,
    person: String,
    created_at: i64,
    updated_at: i64,
}

impl TryFrom<RuleRow> for StandingRule {
    type Error = StoreError;
    fn try_from(row: RuleRow) -> Result<Self, StoreError> {
        let (table, id) = ("standing_rules", row.id);
        Ok(Self {
            id: RuleId::from_uuid(id),
            codebase: row.codebase_id.map(CodebaseId::from_uuid),
            body: free(table, id, row.body)?,
            version: number(table, id, "version", row.version)?,
            by: parse(table, id, &row.person)?,
            created_at: Time::from_unix_micros(row.created_at),
            updated_at: Time::from_unix_micros(row.updated_at),
        })
    }
}

pub(crate) async fn add(store: &PostgresStore, add: &AddRule) -> Result<StandingRule, StoreError> {
    let mut tx = store.begin().await?;
    count(&mut tx, sql!("insert_rule"), |query| {
        query
            .bind(add.rule.as_uuid())
            .bind(add.codebase.map(CodebaseId::as_uuid))
            .bind(stored(&add.body).into_owned())
            .bind(add.person.to_string())
            .bind(store.test_now())
    })
    .await?;
    let rule = find(&mut tx, add.rule).await?;
    tx.commit().await.map_err(commit_error)?;
    rule.ok_or_else(|| StoreError::Corrupt(format!("rule {} was written and is not there", add.rule)))
}

async fn find(connection: &mut PgConnection, rule: RuleId) -> Result<Option<StandingRule>, StoreError> {
    let Sql { name, text } = sql!("find_rule");
    let found: Option<String> = sqlx::query_scalar(text)
        .persistent(false)
        .bind(rule.as_uuid())
        .fetch_optional(connection)
        .await
        .map_err(|error| store_error(name, error))?;
    let row = found.map(|json| from_json::<RuleRow>("standing_rules", &json));
    row.transpose()?.map(StandingRule::try_from).transpose()
}

pub(crate) async fn list(store: &PostgresStore) -> Result<Vec<StandingRule>, StoreError> {
    let rows: Vec<RuleRow> = store.read_one(sql!("list_rules"), |query| query).await?;
    domain(rows)
}

pub(crate) async fn edit(
    store: &PostgresStore,
    rule: RuleId,
    body: &str,
    person: &Person,
) -> Result<Option<StandingRule>, StoreError> {
    let mut tx = store.begin().await?;
    count(&mut tx, sql!("update_rule"), |query| {
        query
            .bind(rule.as_uuid())
            .bind(stored(body).into_owned())
            .bind(person.to_string())
            .bind(store.test_now())
    })
    .await?;
    let edited = find(&mut tx, rule).await?;
    tx.commit().await.map_err(commit_error)?;
    Ok(edited)
}

pub(crate) async fn remove(store: &PostgresStore, rule: RuleId) -> Result<bool, StoreError> {
    let mut tx = store.begin().await?;
    let gone = count(&mut tx, sql!("delete_rule"), |query| query.bind(rule.as_uuid())).await?;
    tx.commit().await.map_err(commit_error)?;
    Ok(gone > 0)
}
