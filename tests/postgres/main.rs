//! End-to-end tests over a Postgres server: the real binary, real processes and real git, and several machines.
//!
//! `cargo xtask test --postgres` starts a server and names it in `CS_PANEL_TEST_POSTGRES`.

#[path = "../it/desk.rs"]
#[expect(
    dead_code,
    reason = "the desk of all end-to-end tests can do more than these need"
)]
mod desk;
mod machines;
#[path = "../../crates/cs-postgres/tests/conformance/own_server.rs"]
#[expect(
    dead_code,
    reason = "the tests of the store do more with a server of their own"
)]
mod own_server;
mod passwords;
mod record;
mod refusals;
mod restart;
#[path = "../it/whole_way.rs"]
mod whole_way;
