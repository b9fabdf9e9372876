//! Simulation of cs-panel: real daemons, with their real ledgers and the real rules of the record, on fakes that fail.
//!
//! A simulation is one thread in which time passes as soon as nothing else happens, and one seed for every choice. Some machines
//! with a daemon each, agents that outlive their daemons, people, and a record that several of them share; requests get lost, come
//! twice or much later, answers get lost, the record goes away, daemons die at any call, machines start anew or lose their ledger,
//! or come back after nine days. After each change every invariant looks at all of it. Then the faults
//! stop, and everything must come to rest.
//!
//! What joins in later adds an actor (`actor::Actor`) or an invariant, each in a file of its own, to one list.
//!
//! It knows every crate and is known by none. Not simulated: the shim and the spool (an execution is a function of time here), git
//! (a base is a list of moves), SQL, and threads.

mod actor;
mod broken;
mod clock;
mod coverage;
mod dice;
mod execution;
mod host;
mod invariant;
mod ledger;
mod machine;
mod many;
mod people;
mod profile;
mod record;
mod report;
mod run;
mod trees;
mod weather;
mod world;

pub use broken::{BROKEN, Broken, Mutant};
pub use coverage::{Coverage, FLOOR_FROM};
pub use many::{Seen, simulate_all};
pub use profile::Kind;
pub use report::{Report, Totals, Violation};
pub use run::{Options, simulate};
