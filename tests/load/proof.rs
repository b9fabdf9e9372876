//! What the record holds in the end, against what each process said that it did.
#![expect(
    clippy::disallowed_methods,
    reason = "a test is given its server, and starts programs"
)]

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use cs_journal::{Action, Reconciled};
use cs_model::{Author, CardId, IdSource, MachineId, OperationId, TurnId, TurnSeq, TurnState};
use cs_record::{CardFilter, Send, SendTo};

use crate::board::{AGENT, Board};
use crate::os::SystemIds;

/// What a process said: its runs with their epochs, by operation.
type Said = BTreeMap<String, Vec<(String, String)>>;

/// Fills a record, lets two processes work it, and checks every row of it.
pub(crate) async fn check(url: &str, cards: usize) -> Result<()> {
    let board = Board::open(url).await;
    for number in 0..cards {
        board.people.send(&new_card(number)?).await?;
    }
    let machines = [(); 2].map(|()| MachineId::from_uuid(SystemIds.uuid_v7()));
    let working = machines.map(|machine| {
        Command::new(std::env::current_exe().expect("Linux tells"))
            .args(["work", url, &machine.to_string()])
            .stdout(Stdio::piped())
            .spawn()
    });
    let mut runs = 0;
    for (machine, working) in machines.into_iter().zip(working) {
        let done = working?.wait_with_output()?;
        ensure!(done.status.success(), "a worker failed: {}", done.status);
        let said = said(&String::from_utf8(done.stdout)?)?;
        let had: usize = said.values().map(Vec::len).sum();
        ensure!(had > 0, "machine {machine} had nothing to do");
        check_journal(&board, machine, said).await?;
        ensure!(
            board.daemon.running_runs(machine).await?.is_empty(),
            "a run of {machine} is live"
        );
        runs += had;
    }
    ensure!(runs == cards, "{runs} runs of {cards} cards");
    check_cards(&board, cards).await
}

fn new_card(number: usize) -> Result<Send> {
    Ok(Send {
        turn: TurnId::from_uuid(SystemIds.uuid_v7()),
        to: SendTo::NewCard {
            card: CardId::from_uuid(SystemIds.uuid_v7()),
            title: format!("card {number}"),
            codebase: None,
            base: None,
            agent: AGENT.parse()?,
            opening: cs_model::Opening::Owner,
        },
        person: "Ada".parse()?,
        body: "please".to_owned(),
        plan: cs_record::Plan::default(),
        choice: cs_record::Choice::default(),
        attachments: Vec::new(),
    })
}

fn said(text: &str) -> Result<Said> {
    let mut said = Said::new();
    for line in text.lines() {
        let mut words = line.split(' ').map(str::to_owned);
        let mut word = || words.next().with_context(|| format!("half a line: {line}"));
        let (operation, run, epoch) = (word()?, word()?, word()?);
        said.entry(operation).or_default().push((run, epoch));
    }
    Ok(said)
}

/// The journal has each operation, with the receipt that the process got.
async fn check_journal(board: &Board, machine: MachineId, said: Said) -> Result<()> {
    for (operation, had) in said {
        let id: OperationId = operation.parse()?;
        let Reconciled::Completed { action, receipt } = board.claims.reconcile(machine, id).await? else {
            anyhow::bail!("operation {operation} was carried out and is cancelled on the record");
        };
        ensure!(action == Action::TakeTurns, "operation {operation} is {action:?}");
        let stored = receipt
            .runs
            .iter()
            .map(|run| (run.run.to_string(), run.epoch.to_string()));
        ensure!(
            stored.eq(had.iter().cloned()),
            "operation {operation} had {had:?}, the record: {receipt:?}"
        );
    }
    Ok(())
}

/// Every card has the turn of the person, settled, and one answer, by the one attempt that it ever had.
async fn check_cards(board: &Board, expected: usize) -> Result<()> {
    let cards = board.reads.cards(CardFilter::All).await?.all()?;
    ensure!(cards.len() == expected, "{} cards are there", cards.len());
    for summary in cards {
        let card = summary.card.id;
        let detail = board.reads.card(card).await?;
        let [run] = detail.runs.as_slice() else {
            anyhow::bail!("card {card} has {} runs", detail.runs.len());
        };
        ensure!(
            !run.state.is_live() && run.epoch.get() == 1,
            "card {card}: {run:?}"
        );
        let turns = board.reads.turns(card, TurnSeq::START, 10).await?;
        ensure!(turns.len() == 2, "card {card} has {} turns", turns.len());
        ensure!(
            turns.iter().all(|turn| turn.state == TurnState::Settled),
            "card {card}: {turns:?}"
        );
        ensure!(turns[1].author == Author::Agent(run.id), "card {card}: {turns:?}");
    }
    Ok(())
}

/// A schema of its own on the server under test, dropped with this.
pub(crate) struct Schema {
    server: String,
    name: String,
}

impl Schema {
    /// Makes an empty schema.
    pub(crate) fn new() -> Result<Self> {
        let server = std::env::var("CS_PANEL_TEST_POSTGRES")
            .context("this test needs a server: run it with `cargo xtask test --postgres`")?;
        let name = format!("load_{}", std::process::id());
        let schema = Self { server, name };
        schema.sql(&format!("create schema {}", schema.name))?;
        Ok(schema)
    }

    pub(crate) fn url(&self) -> String {
        format!("{}&options=-c%20search_path%3D{}", self.server, self.name)
    }

    fn sql(&self, text: &str) -> Result<()> {
        let mut psql = Command::new("psql");
        psql.args([
            "--no-psqlrc",
            "--quiet",
            "--set=ON_ERROR_STOP=1",
            "--command",
            text,
        ]);
        let done = psql.arg(&self.server).stdin(Stdio::null()).status()?;
        ensure!(done.success(), "{text}: {done}");
        Ok(())
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        // What is left goes with the server.
        let _ = self.sql(&format!("drop schema {} cascade", self.name));
    }
}
