//! The identity of an attempt.

use std::fmt;
use std::str::FromStr;

use cs_model::{Epoch, LandingId, RunId};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Says why a text is no token, seed or hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {digits} hexadecimal digits of {what}")]
pub struct ParseTokenError {
    /// What was to be read.
    pub what: &'static str,
    /// How many digits it has.
    pub digits: usize,
}

/// The 128-bit secret of one attempt. It is never printed, and the record holds only its [hash](Token::hash).
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Token([u8; 16]);

impl Token {
    /// Wraps 16 bytes of a generator.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the SHA-256 of the token, the form that a record stores.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.0).into())
    }

    /// Returns the token as hexadecimal text, for a 0600 file and nothing else.
    #[must_use]
    pub fn reveal(&self) -> String {
        hex(&self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl From<Token> for String {
    fn from(token: Token) -> Self {
        token.reveal()
    }
}

impl TryFrom<String> for Token {
    type Error = ParseTokenError;
    fn try_from(text: String) -> Result<Self, ParseTokenError> {
        unhex(&text).map(Self).ok_or(ParseTokenError {
            what: "a token",
            digits: 32,
        })
    }
}

/// The secret of one claim, from which the tokens of all attempts that it takes follow.
///
/// The daemon makes it before the request leaves and keeps it in its ledger, so that a claim whose answer was lost can
/// be confirmed and its attempts adopted without any token on the record (docs/adr/0001).
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TokenSeed([u8; 32]);

impl TokenSeed {
    /// Wraps 32 random bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the token of the attempt that this claim gives to a run.
    #[must_use]
    pub fn for_run(&self, run: RunId, epoch: Epoch) -> Token {
        self.derive(b"run", run.as_uuid().as_bytes(), epoch)
    }

    /// Returns the token of the attempt that this claim gives to a landing.
    #[must_use]
    pub fn for_landing(&self, landing: LandingId, epoch: Epoch) -> Token {
        self.derive(b"landing", landing.as_uuid().as_bytes(), epoch)
    }

    fn derive(&self, kind: &[u8], id: &[u8; 16], epoch: Epoch) -> Token {
        let mut digest = Sha256::new();
        digest.update(self.0);
        digest.update(kind);
        digest.update(id);
        digest.update(epoch.get().to_be_bytes());
        let mut token = [0; 16];
        token.copy_from_slice(&digest.finalize()[..16]);
        Token(token)
    }
}

impl fmt::Debug for TokenSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSeed(..)")
    }
}

impl From<TokenSeed> for String {
    fn from(seed: TokenSeed) -> Self {
        hex(&seed.0)
    }
}

impl TryFrom<String> for TokenSeed {
    type Error = ParseTokenError;
    fn try_from(text: String) -> Result<Self, ParseTokenError> {
        unhex(&text).map(Self).ok_or(ParseTokenError {
            what: "a token seed",
            digits: 64,
        })
    }
}

/// The SHA-256 of a token: what a record stores and compares.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Wraps a stored hash.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenHash({})", &hex(&self.0)[..8])
    }
}

impl FromStr for TokenHash {
    type Err = ParseTokenError;
    fn from_str(text: &str) -> Result<Self, ParseTokenError> {
        unhex(text).map(Self).ok_or(ParseTokenError {
            what: "a token hash",
            digits: 64,
        })
    }
}

/// One process life of a run. Two attempts are the same only if all three parts are (AF-1).
///
/// It is captured once, at the claim, and carried to every write; it is never read from the row later (AF-2).
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The run.
    pub run: RunId,
    /// Which of its process lives.
    pub epoch: Epoch,
    /// The secret that only this attempt knows.
    pub token: Token,
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attempt({self})")
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.run.short(), self.epoch)
    }
}

/// One life of a landing: what [`Attempt`] is for a run.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingAttempt {
    /// The landing.
    pub landing: LandingId,
    /// Which of its lives.
    pub epoch: Epoch,
    /// The secret that only this life knows.
    pub token: Token,
}

impl fmt::Debug for LandingAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LandingAttempt({self})")
    }
}

impl fmt::Display for LandingAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.landing.short(), self.epoch)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != N * 2 {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = u8::try_from(high * 16 + low).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(number: u128) -> RunId {
        RunId::from_uuid(uuid::Uuid::from_u128(number))
    }

    proptest! {
        #[test]
        fn a_token_survives_its_text(bytes: [u8; 16]) {
            let token = Token::from_bytes(bytes);
            prop_assert_eq!(Token::try_from(token.reveal()), Ok(token));
        }

        #[test]
        fn tokens_of_one_seed_differ_by_run_and_epoch(seed: [u8; 32], a: u128, b: u128, e in 1_u32..9) {
            let seed = TokenSeed::from_bytes(seed);
            let (one, two) = (run(a), run(b));
            prop_assert_eq!(seed.for_run(one, Epoch::new(e)) == seed.for_run(two, Epoch::new(e)), a == b);
            prop_assert_ne!(seed.for_run(one, Epoch::new(e)), seed.for_run(one, Epoch::new(e + 1)));
        }
    }

    #[test]
    fn no_secret_is_printed() {
        let token = Token::from_bytes([0xab; 16]);
        let attempt = Attempt {
            run: run(7),
            epoch: Epoch::new(2),
            token,
        };
        let text = format!(
            "{token:?} {attempt:?} {attempt} {:?}",
            TokenSeed::from_bytes([0xab; 32])
        );
        assert!(!text.contains("abab"), "{text}");
    }

    #[test]
    fn a_token_of_a_landing_is_not_that_of_a_run() {
        let seed = TokenSeed::from_bytes([1; 32]);
        let id = uuid::Uuid::from_u128(5);
        let epoch = Epoch::new(1);
        assert_ne!(
            seed.for_run(RunId::from_uuid(id), epoch),
            seed.for_landing(LandingId::from_uuid(id), epoch)
        );
    }
}
