//! How often what goes wrong in a simulation, and what is broken on purpose.

use std::time::Duration;

use crate::dice::Dice;

/// Something that is broken on purpose, to see whether an invariant notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// The record takes the answer of any attempt as that of the present one.
    NoFence,
    /// The record forgets that it was asked about an operation that it does not know.
    NoTombstone,
    /// What the daemon wrote to its ledger last is not there after a crash.
    LedgerForgets,
    /// A daemon finds nothing of agents that another one started.
    AdoptionForgets,
    /// A landing whose end nobody saw counts as one that was not made, and the base moves whatever it holds.
    MoveForgets,
    /// The record takes work of an operation as often as it is asked.
    ClaimsTwice,
    /// What an agent said is gone when it is read after its end.
    SpoolForgets,
}

impl Mutant {
    /// Holds all of them.
    pub const ALL: &'static [Self] = &[
        Self::NoFence,
        Self::NoTombstone,
        Self::LedgerForgets,
        Self::AdoptionForgets,
        Self::MoveForgets,
        Self::ClaimsTwice,
        Self::SpoolForgets,
    ];
}

/// What a simulation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// All that can go wrong, as the seed chooses.
    Any,
    /// Agents leave behind what cannot be ended for a while, ledgers get lost, and no call takes any time.
    Leftovers,
}

/// The rates of one simulation, each in ten thousand calls.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    /// A request never arrives.
    pub(crate) lost: u32,
    /// A request is carried out and its answer is lost.
    pub(crate) unanswered: u32,
    /// A request arrives twice.
    pub(crate) twice: u32,
    /// A request arrives after its caller has given up.
    pub(crate) late: u32,
    /// The daemon dies before or after a call.
    pub(crate) crash: u32,
    /// Something local fails before or after it was done.
    pub(crate) local: u32,
    /// How long a call may take.
    pub(crate) slow: Duration,
    /// How long things go wrong.
    pub(crate) chaos: Duration,
    /// How many machines there are.
    pub(crate) machines: usize,
    /// How many cards people begin.
    pub(crate) cards: usize,
    /// How often, about, one of the actors does something.
    pub(crate) pace: Duration,
    /// How often the weather strikes when it could.
    pub(crate) storm: u32,
    /// How often people stop, close, hand back or pause instead of sending messages.
    pub(crate) unrest: u32,
    /// How often an agent leaves something behind that survives its end for a while.
    pub(crate) leaves: u32,
    /// How often a ledger is lost when it could be.
    pub(crate) ledger_lost: u32,
    /// Whether a machine is away for nine days, once.
    pub(crate) long_absence: bool,
}

impl Profile {
    /// Chooses the rates of a simulation.
    pub(crate) fn choose(dice: &Dice) -> Self {
        let base = *dice.pick(&[10, 60, 250, 700]).unwrap_or(&60);
        let rate = |share: &[u32]| base * dice.pick(share).unwrap_or(&1);
        let share = [0, 1, 1, 2];
        let (lost, unanswered, twice, late) = (rate(&share), rate(&share), rate(&share), rate(&share));
        let (crash, local) = (rate(&[0, 0, 1, 1]) / 2, rate(&share) / 2);
        Self {
            lost,
            unanswered,
            twice,
            late,
            crash,
            local,
            slow: Duration::from_millis(*dice.pick(&[0, 5, 50, 800]).unwrap_or(&5)),
            chaos: dice.span(Duration::from_secs(100), Duration::from_secs(450)),
            machines: 1 + dice.below(3),
            cards: 1 + dice.below(5),
            pace: Duration::from_millis(*dice.pick(&[1_000, 2_000, 5_000]).unwrap_or(&2_000)),
            storm: *dice.pick(&[100, 500, 2_000, 7_000]).unwrap_or(&500),
            unrest: *dice.pick(&[200, 1_000, 3_000, 7_000]).unwrap_or(&1_000),
            leaves: 200,
            ledger_lost: 3_000,
            long_absence: dice.chance(1_000),
        }
    }

    /// Makes these rates what a choice of the world asks for.
    pub(crate) const fn in_world_of(self, kind: Kind) -> Self {
        match kind {
            Kind::Any => self,
            Kind::Leftovers => Self {
                slow: Duration::ZERO,
                leaves: 7_000,
                ledger_lost: 10_000,
                storm: 7_000,
                ..self
            },
        }
    }
}
