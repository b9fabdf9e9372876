//! One process: it claims what is ready, a few cards at a time, answers each, and says what it had.
#![expect(clippy::print_stdout, reason = "a worker tells its parent what it had")]

use cs_fence::{Fenced, TokenSeed};
use cs_journal::{ClaimRequest, Task};
use cs_model::{IdSource, MachineId, OperationId};
use cs_settle::{Answer, Used};

use crate::board::{AGENT, Board};
use crate::os::SystemIds;

/// As many as a machine with this number of free slots would take.
const SLOTS: u32 = 4;

/// Works until nothing is ready. Every line that it prints is an operation and a run with its epoch.
pub(crate) async fn work(url: &str, machine: MachineId) {
    let board = Board::open(url).await;
    loop {
        let operation = OperationId::from_uuid(SystemIds.uuid_v7());
        let request = ClaimRequest {
            task: Task::Turns,
            limit: SLOTS,
            agents: vec![AGENT.to_owned()],
            seed: TokenSeed::from_bytes(SystemIds.secret()),
        };
        let claimed = board.claims.claim(machine, operation, &request).await;
        let receipt = claimed.expect("the record answers");
        if receipt.is_empty() {
            return;
        }
        for run in &receipt.runs {
            println!("{operation} {} {}", run.run, run.epoch);
            let answer = Answer {
                text: Some(format!("Done by {machine}.")),
                ask: None,
                used: Used::default(),
            };
            let done = board
                .settlements
                .answer(&run.attempt(&request.seed), &answer)
                .await;
            let done = done.expect("the record answers");
            assert!(matches!(done, Fenced::Applied(_)), "nobody else had it: {done:?}");
        }
    }
}
