//! Puts a turn on a card, takes it, answers it, and shows that the same attempt cannot answer twice.
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::sync::Arc;

use cs_fence::TokenSeed;
use cs_journal::{ClaimRecord, ClaimRequest, Task};
use cs_model::{CardId, IdSource, MachineId, OperationId, TurnId};
use cs_record::{PeopleActs, Record, Send, SendTo};
use cs_settle::{Answer, SettlementRecord};
use cs_testkit::{MemoryStore, SeededIds, SetClock};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = Arc::new(SetClock::new());
    let ids = Arc::new(SeededIds::new(1, Arc::clone(&clock) as _));
    let record = Record::new(MemoryStore::new(clock), Arc::clone(&ids) as _);

    let card = CardId::from_uuid(ids.uuid_v7());
    let to = SendTo::new_card(card, "greet", "mine".parse()?);
    let turn = TurnId::from_uuid(ids.uuid_v7());
    let send = Send::new(turn, to, "Ada".parse()?, "say hello");
    println!("{:?}", record.send(&send).await?);

    let seed = TokenSeed::from_bytes(ids.secret());
    let request = ClaimRequest::one(Task::Turns, "mine", seed);
    let machine = MachineId::from_uuid(ids.uuid_v7());
    let operation = OperationId::from_uuid(ids.uuid_v7());
    let receipt = record.claim(machine, operation, &request).await?;
    println!("{receipt:?}");

    let attempt = receipt.runs[0].attempt(&seed);
    for _ in 0..2 {
        let answered = record.answer(&attempt, &Answer::words("hello")).await?;
        println!("{answered:?}");
    }
    Ok(())
}
