//! The operations of the record as pure functions: an aggregate, a command and the time go in, rows and a result come out.
//!
//! None of them knows a store. Ids come from an [`IdSource`](cs_model::IdSource), the time is the record's. What holds after
//! each of them:
//!
//! * A card has one owner run for its whole life; each take gives it the next epoch, and at most one attempt of it is live.
//! * A turn is pending, or leased to the run whose attempt is to answer it, or settled. An accepted settlement settles what
//!   was leased, an owner's final failure and a stop hand it back, and what a failed launcher holds waits for a person; so no
//!   turn is lost, and none is answered twice.
//! * A child is sent once, with a brief that never changes, by an attempt that runs; its parent reads it back when all have ended.
//! * An answer is news to the attempt whose claim found it (`given`), and stays news to the next one until an attempt settles.
//! * What a card is ready for is computed after every decision and stored with it.

mod answer;
mod answer_ask;
mod ask;
mod attach;
mod capped;
mod close;
mod dispatch;
mod give_up;
mod hand_back;
mod interrupt;
mod landing;
mod process;
mod retry;
mod send;
mod start;
mod stop;
mod take;
mod take_landing;
mod used;

pub use answer::answer;
pub use answer_ask::answer_ask;
pub use ask::{ask, settle_ask};
pub use attach::{attach, detach};
pub use capped::capped;
pub use close::close_card;
pub use dispatch::dispatch;
pub use give_up::give_up;
pub use hand_back::hand_back;
pub use interrupt::{hand_back_run, interrupt};
pub use landing::{
    GoesTo, RETURNS_MAX, accept_landing, goes_to, hand_back_landing, release_landing, settle_landing,
};
pub use process::{clear_process, forget_process, mark_incomplete, record_process};
pub use retry::retry_card;
pub use send::{send_existing, send_new};
pub use stop::stop_card;
pub use take::{Taker, take};
pub use take_landing::take_landing;
pub use used::used;

use crate::Refusal;

/// How long a turn or an answer may be.
pub const MAX_TURN_BYTES: usize = 1 << 20;
/// How long a title may be.
pub const MAX_TITLE_CHARS: usize = 200;
/// How long the name of a base branch may be.
pub const MAX_BASE_BYTES: usize = 200;
/// The longest name of a model or an effort, in bytes.
pub const MAX_CHOICE_BYTES: usize = 200;
/// How large a file may be that is attached to a card.
pub const MAX_ATTACHMENT_BYTES: u64 = 20 << 20;
/// How large all files of a card may be together.
pub const MAX_ATTACHED_BYTES: u64 = 100 << 20;
/// How many files a card may have.
pub const MAX_ATTACHMENTS: usize = 200;
/// How long the name of a file may be.
pub const MAX_ATTACHMENT_NAME_BYTES: usize = 255;
/// How long a standing rule may be.
pub const MAX_RULE_BYTES: usize = 64 << 10;
/// How long the name of a codebase may be.
pub const MAX_CODEBASE_NAME_CHARS: usize = 100;

/// Checks the words of a standing rule.
pub(crate) fn check_rule(body: &str) -> Result<(), Refusal> {
    if body.trim().is_empty() {
        return Err(Refusal::EmptyRule);
    }
    if body.len() > MAX_RULE_BYTES {
        return Err(Refusal::TooLong {
            what: "the rule",
            bytes: body.len(),
            limit_bytes: MAX_RULE_BYTES,
        });
    }
    Ok(())
}

/// Checks the words of a person.
fn check_body(what: &'static str, body: &str) -> Result<(), Refusal> {
    if body.trim().is_empty() {
        return Err(Refusal::EmptyTurn);
    }
    if body.len() > MAX_TURN_BYTES {
        return Err(Refusal::TooLong {
            what,
            bytes: body.len(),
            limit_bytes: MAX_TURN_BYTES,
        });
    }
    Ok(())
}
