//! The clock and the generator of this machine.

use std::process::ExitCode;

use cs_model::{Clock, IdSource, Time};
use time::OffsetDateTime;
use uuid::Uuid;

/// The machine's wall clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemClock;

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
pub(crate) struct SystemIds;

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

/// Returns the name of this machine, as its kernel knows it.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the number of the user, for people without a login name.
pub(crate) fn user_number() -> u32 {
    rustix::process::getuid().as_raw()
}

/// Turns a number into an exit code.
pub(crate) fn exit_code(code: u8) -> ExitCode {
    ExitCode::from(code)
}
