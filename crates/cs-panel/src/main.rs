//! `cs-panel` runs coding agents on your own machines.
fn main() {}
