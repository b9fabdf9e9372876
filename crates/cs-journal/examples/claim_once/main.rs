//! Takes a piece of work from a store of one's own, exactly once, and owns it until it is over.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example stands at the edge"
)]

mod shelf;

use std::sync::Arc;

use cs_journal::{Deps, Journal, Task, Want};
use cs_model::MachineId;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    let deps = Deps {
        record: Arc::<shelf::Shelf>::default(),
        ids: Arc::new(shelf::World),
        clock: Arc::new(shelf::World),
        machine: MachineId::from_uuid(uuid::Uuid::now_v7()),
    };
    let (journal, _) = Journal::open(&home.path().join("ledger"), deps.clone())?;
    let want = Want {
        task: Task::Turns,
        limit: 1,
        agents: vec!["mine".to_owned()],
    };
    let claimed = journal.claim(&want).await?.adopt_all().remove(0);
    let started = claimed.prepare("dir")?.registered("shim 1")?.started("pid 2")?;
    println!("attempt {} works, and now this process dies", started.attempt());
    drop((started, journal));

    let (journal, _) = Journal::open(&home.path().join("ledger"), deps)?;
    let started = journal.recover().started.remove(0);
    println!(
        "attempt {} was found again: {}",
        started.attempt(),
        started.agent()
    );
    started.outcome("done")?.acknowledged()?.closed()?;
    Ok(())
}
