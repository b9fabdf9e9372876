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
mod record;
mod refusals;
#[path = "../it/whole_way.rs"]
mod whole_way;
