//! How large the checked worlds are. Each is visited whole; what one leaves out another has.

use crate::act::Bounds;
use crate::state::Left;

/// A world and what must be possible in it, so that it is not empty by mistake.
pub(crate) struct World {
    pub(crate) name: &'static str,
    pub(crate) bounds: Bounds,
    pub(crate) wanted: &'static [&'static str],
}

const NOTHING: Left = Left {
    faults: 0,
    failures: 0,
    cuts: 0,
    turns: 0,
    stops: 0,
    hand_backs: 0,
};

const ALL: &[&str] = &["the last attempt answers everything"];

/// Three attempts; each machine dies once; one message is lost, late or doubled.
pub(crate) const CLAIMS: World = World {
    name: "claims",
    bounds: Bounds {
        attempts: 3,
        claims: 3,
        crashes: 1,
        left: Left { faults: 1, ..NOTHING },
    },
    wanted: ALL,
};

/// A person stops the card and says more.
pub(crate) const STOPPED: World = World {
    name: "a stop",
    bounds: Bounds {
        attempts: 2,
        claims: 2,
        crashes: 1,
        left: Left {
            turns: 1,
            stops: 1,
            ..NOTHING
        },
    },
    wanted: ALL,
};

/// What an ordinary test run visits.
const SMALL: &[World] = &[CLAIMS, STOPPED];

/// What `cargo xtask check --full` visits.
const FULL: &[World] = &[
    World {
        name: "claims, two crashes of each machine",
        bounds: Bounds {
            attempts: 3,
            claims: 3,
            crashes: 2,
            left: Left { faults: 1, ..NOTHING },
        },
        wanted: ALL,
    },
    World {
        name: "claims, two faults",
        bounds: Bounds {
            attempts: 2,
            claims: 2,
            crashes: 1,
            left: Left { faults: 2, ..NOTHING },
        },
        wanted: ALL,
    },
    World {
        name: "starts that fail, and executions that are cut short",
        bounds: Bounds {
            attempts: 3,
            claims: 3,
            crashes: 1,
            left: Left {
                faults: 1,
                failures: 1,
                cuts: 1,
                ..NOTHING
            },
        },
        wanted: ALL,
    },
    World {
        name: "a stop, and another turn",
        bounds: Bounds {
            attempts: 2,
            claims: 2,
            crashes: 1,
            left: Left {
                faults: 1,
                turns: 1,
                stops: 1,
                ..NOTHING
            },
        },
        wanted: ALL,
    },
    World {
        name: "two crashes of each machine, and a stop",
        bounds: Bounds {
            attempts: 3,
            claims: 3,
            crashes: 2,
            left: Left {
                faults: 1,
                stops: 1,
                ..NOTHING
            },
        },
        wanted: ALL,
    },
    World {
        name: "a card that is given to the other machine",
        bounds: Bounds {
            attempts: 2,
            claims: 2,
            crashes: 1,
            left: Left {
                faults: 1,
                hand_backs: 1,
                ..NOTHING
            },
        },
        wanted: &[
            "the last attempt answers everything",
            "the card goes to the other machine",
        ],
    },
];

/// The variable that chooses the full worlds.
const CHOICE: &str = "CS_CHECK";

/// The worlds to visit: the full ones when the environment asks for them.
#[expect(
    clippy::disallowed_methods,
    reason = "the size of a test is chosen from outside, as proptest's is"
)]
pub(crate) fn chosen() -> &'static [World] {
    match std::env::var(CHOICE).as_deref() {
        Ok("full") => FULL,
        _ => SMALL,
    }
}
