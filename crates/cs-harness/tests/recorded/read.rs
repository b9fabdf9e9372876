//! What an agent printed, read as it is read while it runs.

use cs_harness::{Event, Harness, Line};

/// The events of all lines; the last one may be cut.
pub(crate) fn events(harness: &dyn Harness, output: &[u8]) -> Vec<Event> {
    let lines = output.split_inclusive(|byte| *byte == b'\n');
    let lines = lines.map(|bytes| Line {
        bytes,
        dropped_bytes: 0,
    });
    lines.flat_map(|line| harness.events(&line)).collect()
}
