//! A store of one's own asks the fence before each write.
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use cs_fence::{Attempt, FenceRow, TokenSeed, Verdict, judge};
use cs_model::{Epoch, RunId, RunState};
use uuid::Uuid;

fn main() {
    let run = RunId::from_uuid(Uuid::from_u128(7));
    let attempt = |epoch: u32, secret: u8| Attempt {
        run,
        epoch: Epoch::new(epoch),
        token: TokenSeed::from_bytes([secret; 32]).for_run(run, Epoch::new(epoch)),
    };
    let (old, current) = (attempt(1, 1), attempt(2, 2));
    let row = FenceRow {
        epoch: current.epoch,
        token: current.token.hash(),
        state: RunState::Running,
    };
    for (who, attempt) in [("old", old), ("current", current)] {
        match judge(&row, &attempt) {
            Verdict::Running | Verdict::Asked => println!("the {who} attempt {attempt} may write"),
            Verdict::Over => println!("the run of the {who} attempt {attempt} is over"),
            Verdict::Stale => println!("the {who} attempt {attempt} is stale: nothing is written"),
        }
    }
}
