//! What a verify command said about the commit that landed, or did not.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::StoreError;

/// What the machine saw of a verify command. It is kept as JSON, in the ledger and with the landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The command that gave the exit, as a line for the shell: the verify command, or the setup command that failed before it.
    pub command: String,
    /// The commit that it ran on, hexadecimal.
    pub commit: String,
    /// How it ended.
    pub exit: VerifyExit,
    /// How long setup and verify took together.
    pub duration_ms: u64,
}

/// How a verify command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyExit {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It took too long and was ended.
    TimedOut,
    /// It wrote too much and was ended.
    TooMuchOutput,
}

impl VerifyExit {
    /// Says whether the commit may land.
    #[must_use]
    pub const fn is_passed(self) -> bool {
        match self {
            Self::Code(code) => code == 0,
            Self::Signal(_) | Self::TimedOut | Self::TooMuchOutput => false,
        }
    }
}

impl fmt::Display for VerifyExit {
    /// Says it to a person, as in `it ended with exit code 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::TimedOut => f.write_str("its time at an end"),
            Self::TooMuchOutput => f.write_str("more output than it may write"),
        }
    }
}

impl Evidence {
    /// Says to a person how long it took.
    #[must_use]
    pub fn took(&self) -> String {
        match self.duration_ms {
            0 => "less than 1 ms".to_owned(),
            ms @ 1..1_000 => format!("{ms} ms"),
            ms @ 1_000.. => format!("{} s", ms / 1_000),
        }
    }

    /// Returns the JSON text under which a store keeps it.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, StoreError> {
        serde_json::to_string(self)
            .map_err(|error| StoreError::Corrupt(format!("evidence of a verify cannot be stored: {error}")))
    }

    /// Reads what a store keeps.
    ///
    /// # Errors
    /// Corrupt when it is not what [`to_json`](Self::to_json) writes, or of a later version.
    pub fn from_json(text: &str) -> Result<Self, StoreError> {
        serde_json::from_str(text)
            .map_err(|error| StoreError::Corrupt(format!("evidence of a verify cannot be read: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_end_is_read_back_and_only_success_passes() {
        for (exit, stored, passed) in [
            (VerifyExit::Code(0), r#""exit":{"code":0}"#, true),
            (VerifyExit::Code(1), r#""exit":{"code":1}"#, false),
            (VerifyExit::Signal(9), r#""exit":{"signal":9}"#, false),
            (VerifyExit::TimedOut, r#""exit":"timed_out""#, false),
            (VerifyExit::TooMuchOutput, r#""exit":"too_much_output""#, false),
        ] {
            let evidence = Evidence {
                command: "make check".to_owned(),
                commit: "0123".to_owned(),
                exit,
                duration_ms: 7,
            };
            let text = evidence.to_json().expect("text");
            assert!(text.contains(stored), "{text}");
            assert_eq!(Evidence::from_json(&text).expect("readable"), evidence);
            assert_eq!(exit.is_passed(), passed);
        }
        assert!(
            Evidence::from_json(r#"{"command":"x","commit":"0","exit":"flew away","duration_ms":1}"#)
                .is_err()
        );
    }
}
