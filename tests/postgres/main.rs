//! End-to-end tests over a Postgres server: the real binary, real processes and real git, and several machines.
//!
//! `cargo xtask test --postgres` starts a server and names it in `CS_PANEL_TEST_POSTGRES`.

#[path = "../it/crashes.rs"]
mod crashes;
#[path = "../it/desk.rs"]
mod desk;
#[path = "../it/limits.rs"]
mod limits;
mod machines;
#[path = "../../crates/cs-postgres/tests/conformance/own_server.rs"]
#[expect(
    dead_code,
    reason = "the tests of the store do more with a server of their own"
)]
mod own_server;
mod passwords;
#[path = "../it/pauses.rs"]
mod pauses;
#[path = "../it/plans.rs"]
mod plans;
mod record;
mod refusals;
mod restart;
mod siege;
#[path = "../it/stops.rs"]
mod stops;
#[path = "../it/whole_way.rs"]
mod whole_way;
