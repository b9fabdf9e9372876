//! The command line without a daemon: what bad input gets, and that nothing is half-written. Status, standard output and
//! standard error are one snapshot.

#[path = "cli/bad_input.rs"]
mod bad_input;
#[path = "cli/desk.rs"]
mod desk;
#[path = "cli/documented.rs"]
mod documented;
#[path = "cli/plain_use.rs"]
mod plain_use;
#[path = "cli/secrets.rs"]
mod secrets;
#[path = "cli/walls.rs"]
mod walls;
