//! Interleavings of the tasks of one process, and of two machines: the production journal over the rules of the record, with
//! shuttle choosing who goes on at every wait, and which requests and answers are lost.

mod line;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use cs_journal::{Claimed, Deps, Journal, Registered, Task, Want};
use cs_model::{Epoch, RunId, RunState};
use cs_record::RowStore;
use cs_testkit::SetClock;
use shuttle::future::{JoinHandle, block_on, spawn, yield_now};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner};
use tempfile::TempDir;

use line::{Line, Tombstone, ids, machine};

/// The stack of a task that is played: the usual one of 60 KiB is too small for an assertion that fails and says so.
const STACK_BYTES: usize = 1 << 20;
/// How many cards wait.
const CARDS: usize = 3;
/// What is said of a play in which an attempt was started twice or not at all.
const STARTED_OTHERWISE: &str = "something was started twice, or not at all";

/// A machine: its journal, and what it has started.
#[derive(Clone)]
struct Machine {
    number: usize,
    journal: Journal,
    started: Arc<Mutex<Vec<Registered>>>,
}

impl Machine {
    fn new(number: usize, line: &Arc<Line>, home: &TempDir) -> Self {
        let deps = Deps {
            record: Arc::clone(line) as _,
            ids: ids(10 + number as u64),
            clock: Arc::new(SetClock::new()),
            machine: machine(number),
        };
        let ledger = home.path().join(format!("ledger-{number}"));
        let (journal, _) = Journal::open(&ledger, deps).expect("it is new");
        Self {
            number,
            journal,
            started: Arc::default(),
        }
    }

    /// Starts an attempt, and lets others go on in the middle of it.
    async fn start(&self, claimed: Claimed) {
        let prepared = claimed.prepare("dir").expect("nothing else of the run runs");
        yield_now().await;
        let registered = prepared.registered("shim").expect("it is written");
        self.started.lock().expect("no panic").push(registered);
    }

    /// A task that claims, as a pass or a call of the tools server does. It adopts one attempt and drops the window.
    async fn claim(self) {
        let want = Want {
            task: Task::Turns,
            limit: 2,
            agents: vec![line::AGENT.to_owned()],
        };
        if let Ok(mut window) = self.journal.claim(&want).await {
            let first = window.runs().first().map(|claimed| claimed.row().run);
            let first = first.and_then(|run| window.adopt(run));
            yield_now().await;
            drop(window);
            if let Some(claimed) = first {
                self.start(claimed).await;
            }
        }
    }

    /// A pass: it clears up what is pending, and starts what nobody holds.
    async fn pass(self) {
        for _ in 0..2 {
            // A failed reconcile ends the pass; the next one tries again.
            if self.journal.reconcile_pending().await.is_ok() {
                for claimed in self.journal.recover().claimed {
                    self.start(claimed).await;
                }
            }
            yield_now().await;
        }
    }

    fn attempts(&self) -> Vec<(RunId, Epoch)> {
        let started = self.started.lock().expect("no panic");
        started
            .iter()
            .map(|one| (one.attempt().run, one.attempt().epoch))
            .collect()
    }
}

/// So many machines with two claiming tasks and a pass each, and a network that brings late requests. CJ-8, CJ-21, CJ-22, CJ-24.
async fn play(machines: usize, tombstone: Tombstone) {
    let home = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("a directory");
    let line = Line::new(CARDS, tombstone).await;
    let machines: Vec<Machine> = (0..machines)
        .map(|number| Machine::new(number, &line, &home))
        .collect();
    let mut tasks: Vec<JoinHandle<()>> = Vec::new();
    for machine in &machines {
        tasks.push(spawn(machine.clone().claim()));
        tasks.push(spawn(machine.clone().claim()));
        tasks.push(spawn(machine.clone().pass()));
    }
    let network = Arc::clone(&line);
    tasks.push(spawn(async move { network.bring_late(3).await }));
    for task in tasks {
        task.await.expect("no task panics");
    }
    line.go_well();
    for machine in &machines {
        machine.journal.reconcile_pending().await.expect("all goes well");
        machine.clone().pass().await;
        assert_eq!(
            (machine.journal.pending().len(), machine.journal.windows_open()),
            (0, 0)
        );
    }
    line.bring_late(usize::MAX).await;
    every_attempt_runs_once(&line, &machines).await;
}

/// What the record gave to a machine is started there, once, and nothing else is. Invariant 1. Invariant 3. Invariant 4.
async fn every_attempt_runs_once(line: &Line, machines: &[Machine]) {
    for machine in machines {
        let runs = line
            .record
            .store()
            .machine_runs(line::machine(machine.number))
            .await
            .expect("memory");
        let given: BTreeSet<_> = runs
            .rows
            .iter()
            .filter(|run| run.state == RunState::Running)
            .map(|run| (run.id, run.epoch))
            .collect();
        let started = machine.attempts();
        assert_eq!(started.len(), given.len(), "{STARTED_OTHERWISE}");
        assert_eq!(started.into_iter().collect::<BTreeSet<_>>(), given);
    }
}

fn check(scheduler: impl Scheduler + 'static, play: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    Runner::new(scheduler, config).run(play);
}

#[test]
fn two_tasks_and_a_pass_start_everything_once_in_any_order() {
    check(RandomScheduler::new(1_500), || block_on(play(1, Tombstone::Kept)));
}

#[test]
fn two_machines_start_everything_once_in_any_order() {
    check(RandomScheduler::new(700), || block_on(play(2, Tombstone::Kept)));
}

#[test]
fn unlikely_orders_start_everything_once_too() {
    check(PctScheduler::new(3, 700), || block_on(play(2, Tombstone::Kept)));
}

/// Shows that the orders that are played find a fault.
#[test]
fn a_reconcile_without_a_tombstone_is_found() {
    let played = || {
        check(RandomScheduler::new(1_500), || {
            block_on(play(1, Tombstone::Forgotten));
        });
    };
    let found = catch_unwind(AssertUnwindSafe(played));
    let said = found.expect_err("a late request took work that nobody knows of, and nobody noticed");
    let said = said.downcast_ref::<String>().expect("a message of an assertion");
    assert!(said.contains(STARTED_OTHERWISE), "{said}");
}
