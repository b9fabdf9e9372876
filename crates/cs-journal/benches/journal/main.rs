//! The ledger against raw writes of the same bytes, its rebuild, and a reconcile. `cargo xtask bench journal` runs it.
//!
//! It takes an empty directory and prints what it measures as lines of JSON, times in milliseconds.
#![expect(clippy::print_stdout, reason = "a bench stands at the edge")]

mod shelf;

use std::error::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cs_journal::pure::Event;
use cs_journal::{Deps, Journal, Task, Want};
use cs_model::{MachineId, RunId};
use serde_json::{Value, json};
use uuid::Uuid;

use shelf::{Shelf, World};

type Done<T = ()> = Result<T, Box<dyn Error>>;

/// Appends of one round, and rounds of each side.
const APPENDS: u32 = 50;
const ROUNDS: usize = 60;
/// Each gives four events: kept, prepared, registered, started.
const RUNS: usize = 25_000;
const PENDING: usize = 1_000;
/// A frame's length and checksum.
const FRAME_HEAD_BYTES: usize = 8;
const HEADER_BYTES: usize = 16;

fn main() -> Done {
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|given| given != "--bench")
        .collect();
    let [directory] = given.as_slice() else {
        return Err("give an empty directory: `cargo xtask bench journal` does".into());
    };
    let directory = Path::new(directory);
    println!("{}", appends(directory)?);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    println!("{}", runtime.block_on(rebuild(directory))?);
    println!("{}", runtime.block_on(reconcile(directory))?);
    Ok(())
}

fn open(path: &Path, shelf: &Arc<Shelf>) -> Done<Journal> {
    let deps = Deps {
        record: Arc::clone(shelf) as _,
        ids: Arc::new(World),
        clock: Arc::new(World),
        machine: MachineId::from_uuid(Uuid::from_u128(1)),
    };
    Ok(Journal::open(path, deps)?.0)
}

fn want(limit: usize) -> Done<Want> {
    Ok(Want {
        task: Task::Turns,
        limit: u32::try_from(limit)?,
        agents: vec!["mine".to_owned()],
    })
}

/// Rounds of the ledger and of raw writes take turns, so that whatever else the machine does hits both.
fn appends(directory: &Path) -> Done<Value> {
    let journal = open(&directory.join("appends"), &Arc::default())?;
    let raw = File::create(directory.join("raw"))?;
    let run = RunId::from_uuid(Uuid::from_u128(7));
    let session = |number: u32| format!("session-{number:08}");
    let event = Event::SessionKnown {
        run,
        session: session(0),
    };
    let frame = vec![b'x'; FRAME_HEAD_BYTES + serde_json::to_vec(&event)?.len()];
    let (mut ours, mut theirs, mut number, mut end) = (Vec::new(), Vec::new(), 0, 0);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        for _ in 0..APPENDS {
            number += 1;
            journal.know_session(run, &session(number))?;
        }
        ours.push(millis(begun));
        let begun = Instant::now();
        for _ in 0..APPENDS {
            raw.write_all_at(&frame, end)?;
            raw.sync_data()?;
            end += u64::try_from(frame.len())?;
        }
        theirs.push(millis(begun));
    }
    Ok(json!({"line": "appends", "of": APPENDS, "bytes": frame.len(), "ours": ours, "raw": theirs}))
}

/// The ledger is written in memory where there is such a place, and read from where the others are.
async fn rebuild(directory: &Path) -> Done<Value> {
    let memory = Path::new("/dev/shm");
    let home = if memory.is_dir() {
        tempfile::tempdir_in(memory)?
    } else {
        tempfile::tempdir()?
    };
    let shelf = Arc::<Shelf>::default();
    let path = home.path().join("ledger");
    let journal = open(&path, &shelf)?;
    for claimed in journal.claim(&want(RUNS)?).await?.adopt_all() {
        let run = claimed.row().run.to_string();
        let started = claimed
            .prepare(&run)?
            .registered("shim 4711")?
            .started("pid 4712")?;
        drop(started);
    }
    drop(journal);
    let there = directory.join("rebuild");
    std::fs::copy(&path, &there)?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let begun = Instant::now();
        let journal = open(&there, &shelf)?;
        times.push(millis(begun));
        assert_eq!(journal.runs_held(), RUNS, "nothing is missing");
    }
    Ok(json!({"line": "rebuild", "events": frames(&std::fs::read(&path)?), "times": times}))
}

async fn reconcile(directory: &Path) -> Done<Value> {
    let path = directory.join("reconcile");
    let shelf = Arc::<Shelf>::default();
    let journal = open(&path, &shelf)?;
    shelf.lose_answers(true);
    for _ in 0..PENDING {
        assert!(journal.claim(&want(1)?).await.is_err(), "its answer is lost");
    }
    drop(journal);
    shelf.lose_answers(false);
    let begun = Instant::now();
    let journal = open(&path, &shelf)?;
    let cleared = journal.reconcile_pending().await?;
    let recovered = journal.recover().claimed.len();
    let time = millis(begun);
    assert_eq!(
        (cleared, recovered),
        (PENDING, PENDING),
        "everything is found again"
    );
    Ok(json!({"line": "reconcile", "items": PENDING, "time": time}))
}

fn frames(file: &[u8]) -> usize {
    let (mut offset, mut count) = (HEADER_BYTES, 0);
    while let Some(length) = file.get(offset..offset + 4).and_then(|four| four.try_into().ok()) {
        offset += FRAME_HEAD_BYTES + usize::try_from(u32::from_le_bytes(length)).expect("it was read");
        count += 1;
    }
    count
}

fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1_000.0
}
