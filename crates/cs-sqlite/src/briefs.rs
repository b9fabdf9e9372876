//! What an attempt or a landing is to work on: each one snapshot, without a lock.

use cs_model::{LandingId, RunId, RunKind, TurnSeq};
use cs_record::{Ask, ChildBrief, Former, Landing, LandingBrief, Run, RunBrief, StandingRule, StoreError};
use sqlx::{FromRow, SqliteConnection};

use crate::SqliteStore;
use crate::reads::{codebase_names, name_of, read_asks, read_card, read_run, read_turns, rows};
use crate::row_asks::AskRow;
use crate::row_runs::{LandingRow, RunRow};
use crate::{attachments, script, standing};

pub(crate) async fn run_brief(
    store: &SqliteStore,
    run: RunId,
) -> Result<Option<(Run, RunBrief)>, StoreError> {
    let mut tx = store.snapshot().await?;
    let Some(run) = read_run(&mut tx, run).await? else {
        return Ok(None);
    };
    let card = read_card(&mut tx, run.card).await?;
    let card = card.ok_or_else(|| StoreError::Corrupt(format!("run {} has no card", run.id)))?;
    let names = codebase_names(&mut tx).await?;
    let turns = read_turns(&mut tx, card.id, TurnSeq::START, u32::MAX).await?;
    let mut asks = read_asks(&mut tx, card.id).await?;
    asks.retain(|ask| ask.run == run.id);
    let brief = RunBrief {
        former: Former::of(&run),
        codebase: name_of(&names, &card),
        turns,
        asks,
        brief: brief(&mut tx, run.id).await?,
        children: match run.kind {
            RunKind::Worker => None,
            RunKind::Launcher | RunKind::Owner | RunKind::Issue => Some(children(&mut tx, run.id).await?),
        },
        questions: questions(&mut tx, &run).await?,
        rules: rules(&mut tx, &run).await?,
        attachments: attachments::read(&mut tx, card.id).await?,
        card,
    };
    Ok(Some((run, brief)))
}

async fn brief(connection: &mut SqliteConnection, run: RunId) -> Result<Option<String>, StoreError> {
    let query = sqlx::query(include_str!("../queries/read_brief.sql")).bind(run.to_string());
    let found: Option<(String,)> = script::optional(connection, "read_brief", query).await?;
    Ok(found.map(|(brief,)| brief))
}

#[derive(FromRow)]
struct ChildRow {
    #[sqlx(flatten)]
    run: RunRow,
    brief: Option<String>,
    report: Option<String>,
}

impl TryFrom<ChildRow> for ChildBrief {
    type Error = StoreError;
    fn try_from(row: ChildRow) -> Result<Self, StoreError> {
        Ok(Self {
            run: row.run.try_into()?,
            brief: row.brief.unwrap_or_default(),
            report: row.report,
        })
    }
}

async fn children(connection: &mut SqliteConnection, parent: RunId) -> Result<Vec<ChildBrief>, StoreError> {
    let sql = include_str!("../queries/list_children.sql");
    rows::<ChildRow, ChildBrief>(connection, "list_children", sql, &parent.to_string()).await
}

async fn questions(connection: &mut SqliteConnection, parent: &Run) -> Result<Vec<Ask>, StoreError> {
    let rows: Vec<AskRow> = script::all(
        connection,
        "list_questions",
        sqlx::query(include_str!("../queries/list_questions.sql"))
            .bind(parent.card.to_string())
            .bind(parent.id.to_string())
            .bind(i64::from(parent.epoch.get())),
    )
    .await?;
    rows.into_iter().map(Ask::try_from).collect()
}

async fn rules(connection: &mut SqliteConnection, run: &Run) -> Result<Vec<StandingRule>, StoreError> {
    let mut rules = standing::read(connection).await?;
    rules.retain(|rule| rule.covers(run.codebase));
    Ok(rules)
}

pub(crate) async fn landing_brief(
    store: &SqliteStore,
    landing: LandingId,
) -> Result<Option<LandingBrief>, StoreError> {
    let mut tx = store.snapshot().await?;
    let sql = include_str!("../queries/read_landing.sql");
    let found = rows::<LandingRow, Landing>(&mut tx, "read_landing", sql, &landing.to_string())
        .await?
        .pop();
    let Some(landing) = found else {
        return Ok(None);
    };
    let card = read_card(&mut tx, landing.card).await?;
    let card = card.ok_or_else(|| StoreError::Corrupt(format!("landing {} has no card", landing.id)))?;
    Ok(Some(LandingBrief { card, landing }))
}
