//! The only place that prints: results on standard output, things to notice on standard error.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

use crate::failure::Failure;
use crate::text;

/// The width of output that goes to no terminal and was given no `COLUMNS`: nothing is cut for a pipe.
const PIPE_COLUMNS: u16 = 160;

/// Prints for people, or JSON for programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Out {
    columns: u16,
}

impl Out {
    /// Prints as wide as `COLUMNS`, the terminal, or a pipe allows.
    pub(crate) fn new(columns: Option<u16>) -> Self {
        let columns = columns.or_else(terminal_columns).unwrap_or(PIPE_COLUMNS);
        Self {
            columns: columns.clamp(40, 400),
        }
    }

    /// Prints a line or a block of lines. Text of agents and people in it was made harmless by its caller, and is once more.
    ///
    /// # Errors
    /// Standard output is gone or full. A reader that left ends the command quietly.
    pub(crate) fn line(self, text: &str) -> Result<(), Failure> {
        let mut block = text::harmless(text).into_owned();
        if !block.ends_with('\n') {
            block.push('\n');
        }
        self.bytes(block.as_bytes())
    }

    /// Prints bytes as they are.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub(crate) fn bytes(self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                return Failure::Said(0);
            }
            Failure::failed(error, "standard output cannot be written")
        })
    }

    /// Prints a path on a line of its own: byte for byte where a program reads it, so that a shell can go there.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub(crate) fn path(self, path: &Path) -> Result<(), Failure> {
        if stdout_is_terminal() {
            return self.line(&path.to_string_lossy());
        }
        self.bytes(&[path.as_os_str().as_encoded_bytes(), b"\n"].concat())
    }

    /// Prints a value as one line of JSON.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub(crate) fn json(self, value: &impl Serialize) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(value)
            .map_err(|error| Failure::failed(error, "the result cannot be written as JSON"))?;
        line.push(b'\n');
        self.bytes(&line)
    }

    /// Prints rows in columns without borders. The last column takes what is left of the line.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub(crate) fn table(self, head: &[&str], rows: Vec<Vec<String>>) -> Result<(), Failure> {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(self.columns);
        table.set_header(head.to_vec());
        for row in rows {
            // A cell that goes on in the next line looks like another row.
            let cells = row.iter().map(|cell| cell.lines().collect::<Vec<_>>().join(" "));
            table.add_row(cells.map(|cell| text::harmless(&cell).into_owned()));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        self.line(&trimmed(&table.to_string()))
    }

    /// Says something that a person should notice, on standard error.
    pub(crate) fn said(self, text: &str) {
        let mut err = io::stderr().lock();
        // Nobody is left to tell when standard error is gone.
        let _ = writeln!(err, "{}", text::harmless(text));
    }
}

/// Takes the blanks from the ends of lines.
fn trimmed(block: &str) -> String {
    let lines: Vec<&str> = block.lines().map(str::trim_end).collect();
    lines.join("\n")
}

fn terminal_columns() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

/// Says whether standard output is a terminal.
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Says whether a person types at standard input.
pub(crate) fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Asks a person at a terminal something, on standard error: the answer comes behind it.
pub(crate) fn ask(text: &str) {
    let mut err = io::stderr().lock();
    // Nobody is there to answer when standard error is gone.
    let _ = write!(err, "{}", text::harmless(text)).and_then(|()| err.flush());
}
