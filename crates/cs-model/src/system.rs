//! The clock and the generator of this machine.

use time::OffsetDateTime;
use uuid::Uuid;

use crate::{Clock, IdSource, Time};

/// The machine's wall clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that everything else is given"
    )]
    fn now(&self) -> Time {
        OffsetDateTime::now_utc().into()
    }
}

/// Ids and secrets from the kernel's generator.
#[derive(Debug, Clone, Copy)]
pub struct SystemIds;

impl IdSource for SystemIds {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the generator that everything else is given"
    )]
    fn uuid_v7(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn secret(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        rustix::io::retry_on_intr(|| {
            rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        })
        .expect("the kernel gives up to 256 random bytes whole, once its generator is seeded");
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_and_no_secret_comes_twice_and_ids_come_in_order() {
        let (first, second) = (SystemIds.uuid_v7(), SystemIds.uuid_v7());
        assert!(first < second, "{first} {second}");
        assert_ne!(SystemIds.secret(), SystemIds.secret());
        assert!(SystemClock.now() <= SystemClock.now());
    }
}
