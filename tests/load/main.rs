//! Two processes work a thousand cards of one record, and every turn is answered exactly once. They claim and answer as a daemon
//! does and start no agent, so that the record is what is under load.
//!
//! The program is its own worker: `load work URL MACHINE`.

mod board;
#[expect(dead_code, reason = "the clock and the generator are what is used of it")]
#[path = "../../crates/cs-panel/src/os.rs"]
mod os;
mod proof;
mod worker;

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};

const CARDS: usize = 1_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [work, url, machine] = args.as_slice()
        && work == "work"
    {
        run(worker::work(url, machine.parse().expect("a machine's id")));
        return;
    }
    let mut trials = vec![Trial::test(
        "two_processes_answer_a_thousand_cards_of_one_file_exactly_once",
        || {
            let memory = Path::new("/dev/shm");
            let home = if memory.is_dir() {
                tempfile::tempdir_in(memory)
            } else {
                tempfile::tempdir()
            }?;
            check(&format!("sqlite:{}", home.path().join("record.db").display()))
        },
    )];
    if cfg!(feature = "postgres-tests") {
        trials.push(Trial::test(
            "two_processes_answer_a_thousand_cards_of_one_server_exactly_once",
            || {
                let schema = proof::Schema::new()?;
                check(&schema.url())
            },
        ));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn check(url: &str) -> Result<(), Failed> {
    run(proof::check(url, CARDS)).map_err(Failed::from)
}

fn run<T>(act: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be built").block_on(act)
}
