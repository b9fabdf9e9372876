//! A value that a person types at a terminal, which does not show it.

use std::io::{self, Read};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::out;

const INTERRUPT: u8 = 3;
const END: u8 = 4;
const CLEAR: u8 = 21;

/// The terminal as it was; it is so again when this is dropped.
struct Quiet {
    before: Termios,
}

impl Quiet {
    fn now() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        // What would end this program comes as a letter, so that the terminal never stays quiet.
        quiet
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
        Ok(Self { before })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // Nothing can be done where the terminal is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Asks for a line that is not shown.
pub(super) fn ask(question: &str) -> Result<Zeroizing<String>, Failure> {
    let failed = |error| Failure::failed(error, "the terminal cannot be read");
    let quiet = Quiet::now().map_err(failed)?;
    out::ask(question);
    let line = read_line(&mut io::stdin().lock());
    drop(quiet);
    out::ask("\n");
    let Some(line) = line.map_err(failed)? else {
        return Err(Failure::plain("nothing was set"));
    };
    let text = std::str::from_utf8(&line).map(str::to_owned);
    let text = text.map_err(|_| Failure::Usage("the value is no UTF-8 text, nothing was set".to_owned()))?;
    Ok(Zeroizing::new(text))
}

/// Reads up to the end of the line; nothing where the person gives up.
fn read_line(input: &mut impl Read) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let mut line = Zeroizing::new(Vec::new());
    let mut byte = [0];
    loop {
        if input.read(&mut byte)? == 0 {
            return Ok(Some(line));
        }
        match byte[0] {
            b'\n' | b'\r' | END => return Ok(Some(line)),
            INTERRUPT => return Ok(None),
            CLEAR => line.clear(),
            8 | 127 => while line.pop().is_some_and(|last| last & 0xc0 == 0x80) {},
            other => line.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_typed_with_corrections() {
        let typed = |keys: &[u8]| {
            let line = read_line(&mut &keys[..]).expect("it is read");
            line.map(|line| String::from_utf8(line.to_vec()).expect("text"))
        };
        assert_eq!(typed(b"abc\ndef"), Some("abc".to_owned()));
        assert_eq!(typed("abä\u{7f}\u{7f}c\r".as_bytes()), Some("ac".to_owned()));
        assert_eq!(typed(b"ab\x15cd\x04"), Some("cd".to_owned()));
        assert_eq!(typed(b"ab"), Some("ab".to_owned()));
        assert_eq!(typed(b"ab\x03"), None);
    }
}
