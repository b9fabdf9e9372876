//! Settlement policy: facts in, decision out.
#![warn(clippy::wildcard_enum_match_arm)]

mod record;

pub use record::{Answer, Answered, GaveUp, GiveUp, NewAsk, Offer, SettleError, SettlementRecord, Usage};

/// How many tries a delivery has: endings that the agent caused since the last accepted settlement.
pub const MAX_TRIES: u32 = 3;
/// How many starts park a card, whatever ended them, since the last accepted settlement.
pub const MAX_STARTS: u32 = 10;
