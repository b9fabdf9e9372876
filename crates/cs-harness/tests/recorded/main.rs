//! What recorded runs of the real programs come to: every case of `tests/captures`, against a table that was checked by hand.
//!
//! A case is `CASE.jsonl`, the program's standard output as it was, with its paths and its system prompts shortened; `ends.txt`
//! says for each how the process ended (an exit code, or a signal as a negative number) and the last line of standard error.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its cases fails")]

mod opencode;
mod pi;
mod read;
mod table;
