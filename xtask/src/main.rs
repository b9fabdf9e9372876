//! Tasks of the contributors.
fn main() {}
