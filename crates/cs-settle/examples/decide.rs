//! A scheduler of one's own asks the tables what follows a failure.
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use cs_model::FailureClass;
use cs_settle::{MAX_TRIES, Retry, RetryFacts, counts_as_try, final_reason, retry};

fn main() {
    for class in [
        FailureClass::Agent,
        FailureClass::Overloaded,
        FailureClass::Authentication,
    ] {
        let mut tries_before = 0;
        for starts in 1..=MAX_TRIES {
            let facts = RetryFacts {
                tries_before,
                starts,
                same_class_in_row: starts,
            };
            tries_before += u32::from(counts_as_try(class));
            match retry(class, &facts) {
                Retry::Again { wait, session } => println!("{class}: again in {wait:?}, session {session:?}"),
                Retry::Parked => println!("{class}: parked until a person has put it right"),
                Retry::Final(cause) => {
                    println!("{class}: {}", final_reason("it failed", cause, tries_before))
                }
            }
        }
    }
}
