//! An end without any clean-up, for tests of what survives it.

use rustix::process::{Signal, getpid, kill_process};

/// Ends this process as a crash would: at once, without running anything more.
pub fn kill_this_process() -> ! {
    loop {
        // The signal cannot be refused by its own process; until it is delivered there is nothing else to do.
        let _unreached = kill_process(getpid(), Signal::KILL);
        std::hint::spin_loop();
    }
}
