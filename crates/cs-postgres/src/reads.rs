//! Reads: each one statement, so that it sees one snapshot.

use std::collections::BTreeMap;

use cs_model::{AskId, CardId, CodebaseId, Epoch, LandingId, MachineId, RunId, Time, TurnSeq};
use cs_record::{
    Ask, Card, CardDetail, CardFilter, CardSummary, ChildBrief, Codebase, Former, Landing, LandingBrief,
    Listed, Peeked, Redirect, Run, RunBrief, StoreError, Turn,
};
use serde::Deserialize;
use uuid::Uuid;

use crate::PostgresStore;
use crate::attachments::AttachmentRow;
use crate::load::{Loaded, domain};
use crate::row_cards::{AskRow, CardRow, TurnRow, free, free_opt, parse};
use crate::row_runs::{LandingRow, RunRow};
use crate::standing::RuleRow;
use crate::store::sql;

#[derive(Deserialize)]
struct PeekRow {
    turns: bool,
    rearms: bool,
    resumes: bool,
    recovery: bool,
    landings: bool,
    to_close: bool,
    next_due: Option<i64>,
    redirects: Vec<RedirectRow>,
}

#[derive(Deserialize)]
struct RedirectRow {
    run: Uuid,
    epoch: u32,
    card: Uuid,
    codebase: Option<Uuid>,
    is_due: bool,
}

impl From<RedirectRow> for Redirect {
    fn from(row: RedirectRow) -> Self {
        Self {
            run: RunId::from_uuid(row.run),
            epoch: Epoch::new(row.epoch),
            card: CardId::from_uuid(row.card),
            codebase: row.codebase.map(CodebaseId::from_uuid),
            is_due: row.is_due,
        }
    }
}

pub(crate) async fn peek(
    store: &PostgresStore,
    machine: MachineId,
    agents: &[String],
) -> Result<Peeked, StoreError> {
    let now = store.test_now();
    let left_out = still_left_out(store).await?;
    let row: PeekRow = store
        .read_one(sql!("peek_work"), |query| {
            query
                .bind(machine.as_uuid())
                .bind(agents.to_vec())
                .bind(now)
                .bind(left_out.clone())
        })
        .await?;
    Ok(Peeked {
        turns: row.turns,
        rearms: row.rearms,
        resumes: row.resumes,
        recovery: row.recovery,
        landings: row.landings,
        to_close: row.to_close,
        next_due: row.next_due.map(Time::from_unix_micros),
        redirects: row.redirects.into_iter().map(Redirect::from).collect(),
    })
}

/// Looks whether the cards that takes leave out were mended. It asks nothing while there are none.
async fn still_left_out(store: &PostgresStore) -> Result<Vec<Uuid>, StoreError> {
    let uuids = |ids: &[String]| ids.iter().filter_map(|id| id.parse().ok()).collect::<Vec<Uuid>>();
    let ids = store.left_out.ids();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let loaded: Loaded = store
        .read_one(sql!("load_cards"), |query| query.bind(uuids(&ids)))
        .await?;
    let found = loaded.into_aggregates()?;
    Ok(uuids(&store.left_out.still(ids, &found.unreadable)))
}

pub(crate) async fn run(store: &PostgresStore, run: RunId) -> Result<Option<Run>, StoreError> {
    let row: Option<RunRow> = store
        .read(sql!("read_run"), |query| query.bind(run.as_uuid()))
        .await?;
    row.map(Run::try_from).transpose()
}

#[derive(Deserialize)]
struct BriefRow {
    run: RunRow,
    card: CardRow,
    codebase: Option<String>,
    turns: Vec<TurnRow>,
    asks: Vec<AskRow>,
    brief: Option<String>,
    children: Option<Vec<ChildRow>>,
    questions: Vec<AskRow>,
    rules: Vec<RuleRow>,
    attachments: Vec<AttachmentRow>,
}

#[derive(Deserialize)]
struct ChildRow {
    run: RunRow,
    brief: Option<String>,
    report: Option<String>,
}

impl TryFrom<ChildRow> for ChildBrief {
    type Error = StoreError;
    fn try_from(row: ChildRow) -> Result<Self, StoreError> {
        let id = row.run.id;
        Ok(Self {
            run: Run::try_from(row.run)?,
            brief: free_opt("run_texts", id, row.brief)?.unwrap_or_default(),
            report: free_opt("run_texts", id, row.report)?,
        })
    }
}

pub(crate) async fn run_brief(
    store: &PostgresStore,
    run: RunId,
) -> Result<Option<(Run, RunBrief)>, StoreError> {
    let row: Option<BriefRow> = store
        .read(sql!("read_run_brief"), |query| query.bind(run.as_uuid()))
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let run = Run::try_from(row.run)?;
    let brief = RunBrief {
        former: Former::of(&run),
        card: Card::try_from(row.card)?,
        codebase: free_opt("codebases", "of a card", row.codebase)?,
        turns: domain(row.turns)?,
        asks: domain(row.asks)?,
        brief: free_opt("run_texts", run.id, row.brief)?,
        children: row.children.map(domain).transpose()?,
        questions: domain(row.questions)?,
        rules: domain(row.rules)?,
        attachments: domain(row.attachments)?,
    };
    Ok(Some((run, brief)))
}

#[derive(Deserialize)]
struct LandingBriefRow {
    landing: LandingRow,
    card: CardRow,
}

pub(crate) async fn landing_brief(
    store: &PostgresStore,
    landing: LandingId,
) -> Result<Option<LandingBrief>, StoreError> {
    let row: Option<LandingBriefRow> = store
        .read(sql!("read_landing_brief"), |query| query.bind(landing.as_uuid()))
        .await?;
    row.map(|row| {
        Ok(LandingBrief {
            card: Card::try_from(row.card)?,
            landing: Landing::try_from(row.landing)?,
        })
    })
    .transpose()
}

pub(crate) async fn machine_runs(
    store: &PostgresStore,
    machine: MachineId,
) -> Result<Listed<Run>, StoreError> {
    let rows: Vec<RunRow> = store
        .read_one(sql!("list_machine_runs"), |query| query.bind(machine.as_uuid()))
        .await?;
    let mut listed = Listed::of(Vec::with_capacity(rows.len()));
    for row in rows {
        let card = row.card_id;
        listed.push(&card, Run::try_from(row));
    }
    Ok(listed)
}

pub(crate) async fn cards_ending(store: &PostgresStore, digits: &str) -> Result<Vec<CardId>, StoreError> {
    let ids: Vec<Uuid> = store
        .read_one(sql!("find_cards"), |query| query.bind(digits.to_owned()))
        .await?;
    Ok(ids.into_iter().map(CardId::from_uuid).collect())
}

pub(crate) async fn asks_ending(store: &PostgresStore, digits: &str) -> Result<Vec<AskId>, StoreError> {
    let ids: Vec<Uuid> = store
        .read_one(sql!("find_asks"), |query| query.bind(digits.to_owned()))
        .await?;
    Ok(ids.into_iter().map(AskId::from_uuid).collect())
}

#[derive(Deserialize)]
struct CardsRow {
    rows: Loaded,
    codebases: Vec<CodebaseRow>,
    last_landings: Vec<LastLanding>,
}

#[derive(Deserialize)]
struct LastLanding {
    card_id: Uuid,
    state: String,
}

pub(crate) async fn cards(
    store: &PostgresStore,
    filter: CardFilter,
) -> Result<Listed<CardSummary>, StoreError> {
    let all = match filter {
        CardFilter::Current => false,
        CardFilter::All => true,
    };
    let row: CardsRow = store
        .read_one(sql!("list_cards"), |query| query.bind(all))
        .await?;
    let codebases: Vec<Codebase> = domain(row.codebases)?;
    let names: BTreeMap<CodebaseId, String> = codebases.into_iter().map(|one| (one.id, one.name)).collect();
    let last = row
        .last_landings
        .into_iter()
        .map(|last| (last.card_id, last.state));
    let last: BTreeMap<Uuid, String> = last.collect();
    let found = row.rows.into_aggregates()?;
    let mut listed = Listed {
        rows: Vec::with_capacity(found.rows.len()),
        unreadable: found.unreadable,
    };
    for aggregate in found.rows {
        let id = aggregate.card.id;
        let codebase = aggregate.card.codebase.and_then(|id| names.get(&id).cloned());
        let state = last.get(&id.as_uuid());
        let state = state.map(|state| parse("landings", id.as_uuid(), state));
        let summary = state
            .transpose()
            .map(|state| CardSummary::of(aggregate, codebase, state));
        listed.push(&id, summary);
    }
    Ok(listed)
}

#[derive(Deserialize)]
struct DetailRow {
    card: CardRow,
    codebase: Option<String>,
    runs: Vec<RunRow>,
    asks: Vec<AskRow>,
    landings: Vec<LandingRow>,
    waits_for: Vec<Uuid>,
}

pub(crate) async fn card(store: &PostgresStore, card: CardId) -> Result<Option<CardDetail>, StoreError> {
    let row: Option<DetailRow> = store
        .read(sql!("read_card"), |query| query.bind(card.as_uuid()))
        .await?;
    row.map(|row| {
        Ok(CardDetail {
            card: Card::try_from(row.card)?,
            codebase: free_opt("codebases", "of a card", row.codebase)?,
            runs: domain(row.runs)?,
            asks: domain(row.asks)?,
            landings: domain(row.landings)?,
            waits_for: row.waits_for.into_iter().map(CardId::from_uuid).collect(),
        })
    })
    .transpose()
}

pub(crate) async fn turns(
    store: &PostgresStore,
    card: CardId,
    after: TurnSeq,
    limit: u32,
) -> Result<Option<Vec<Turn>>, StoreError> {
    let rows: Option<Vec<TurnRow>> = store
        .read(sql!("read_turns"), |query| {
            query
                .bind(card.as_uuid())
                .bind(i64::from(after.get()))
                .bind(i64::from(limit))
        })
        .await?;
    rows.map(domain).transpose()
}

#[derive(Deserialize)]
struct OpenAskRow {
    ask: AskRow,
    title: String,
}

pub(crate) async fn open_asks(store: &PostgresStore) -> Result<Listed<(Ask, String)>, StoreError> {
    let rows: Vec<OpenAskRow> = store.read_one(sql!("list_open_asks"), |query| query).await?;
    let mut listed = Listed::of(Vec::with_capacity(rows.len()));
    for OpenAskRow { ask, title } in rows {
        let card = ask.card_id;
        let titled = free("cards", card, title).and_then(|title| Ok((Ask::try_from(ask)?, title)));
        listed.push(&card, titled);
    }
    Ok(listed)
}

#[derive(Deserialize)]
pub(crate) struct CodebaseRow {
    id: Uuid,
    name: String,
    created_at: i64,
}

impl TryFrom<CodebaseRow> for Codebase {
    type Error = StoreError;
    fn try_from(row: CodebaseRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: CodebaseId::from_uuid(row.id),
            name: free("codebases", row.id, row.name)?,
            created_at: Time::from_unix_micros(row.created_at),
        })
    }
}

pub(crate) async fn codebases(store: &PostgresStore) -> Result<Vec<Codebase>, StoreError> {
    let rows: Vec<CodebaseRow> = store.read_one(sql!("list_codebases"), |query| query).await?;
    domain(rows)
}
