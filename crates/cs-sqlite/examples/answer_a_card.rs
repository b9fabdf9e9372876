//! Puts a turn on a card, takes it, answers it, and shows that the same attempt cannot answer twice.
//!
//! `cargo run -p cs-sqlite --example answer_a_card`

use std::sync::Arc;

use cs_fence::TokenSeed;
use cs_journal::{Action, ClaimRecord, ClaimRequest};
use cs_model::{CardId, IdSource, MachineId, OperationId, TurnId};
use cs_record::{PeopleActs, Record, Send, SendTo};
use cs_settle::{Answer, SettlementRecord};
use cs_sqlite::SqliteStore;
use cs_testkit::{SeededIds, SetClock};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what happens")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scratch = tempfile::tempdir()?;
    let clock = Arc::new(SetClock::new());
    let ids = Arc::new(SeededIds::new(1, Arc::clone(&clock) as _));
    let store = SqliteStore::open(&scratch.path().join("record.db"), clock).await?;
    let record = Record::new(store, Arc::clone(&ids) as _);

    let (card, title) = (CardId::from_uuid(ids.uuid_v7()), "greet".to_owned());
    let (codebase, base, agent) = (None, None, "mine".parse()?);
    let to = SendTo::NewCard {
        card,
        title,
        codebase,
        base,
        agent,
    };
    let (turn, person, body) = (
        TurnId::from_uuid(ids.uuid_v7()),
        "Ada".parse()?,
        "say hello".to_owned(),
    );
    println!(
        "{:?}",
        record
            .send(&Send {
                turn,
                to,
                person,
                body
            })
            .await?
    );

    let seed = TokenSeed::from_bytes(ids.secret());
    let request = ClaimRequest {
        action: Action::TakeTurns,
        limit: 1,
        agents: vec!["mine".to_owned()],
        seed,
    };
    let (machine, operation) = (
        MachineId::from_uuid(ids.uuid_v7()),
        OperationId::from_uuid(ids.uuid_v7()),
    );
    let receipt = record.claim(machine, operation, &request).await?;
    println!("{receipt:?}");

    let answer = Answer {
        text: Some("hello".to_owned()),
        ask: None,
        usage: Default::default(),
    };
    let attempt = receipt.runs[0].attempt(&seed);
    println!("{:?}", record.answer(&attempt, &answer).await?);
    println!("{:?}", record.answer(&attempt, &answer).await?);
    Ok(())
}
