//! How often what goes wrong in a simulation.

use std::time::Duration;

use crate::dice::Dice;

/// What a simulation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// All that can go wrong, as the seed chooses.
    Any,
    /// Agents leave behind what cannot be ended for a while, ledgers get lost, and no call takes any time.
    Leftovers,
    /// Machines are cut off from the record while people lead work from one to another, so that what is late comes from an attempt that
    /// another one has followed.
    Zombies,
    /// Every card has a codebase, agents offer, people accept and commit, and daemons die in the middle.
    Landings,
    /// People ask for more than there is: limits, pauses, full disks and cards that wait for others.
    Bounds,
}

impl Kind {
    /// What the simulation of a seed is about among many: all that can go wrong, and now and then one thing more than others.
    #[must_use]
    pub const fn of(seed: u64) -> Self {
        match seed % 10 {
            5 | 6 => Self::Leftovers,
            7 => Self::Zombies,
            3 | 8 => Self::Landings,
            9 => Self::Bounds,
            _ => Self::Any,
        }
    }
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
    /// How often a person who could sends a message to a card that is there.
    pub(crate) talk: u32,
    /// How many cards have a codebase.
    pub(crate) codebases: u32,
    /// Whether agents offer to land most of the time.
    pub(crate) offers: bool,
    /// How often a person who could stop, close, hand back or pause leads work away to another machine.
    pub(crate) led_away: u32,
    /// How often a person who begins a card makes it wait for another one or for a time.
    pub(crate) planned: u32,
    /// Whether ledgers are lost when that hurts most: when a card was stopped, and while a claim or the result of a landing is late.
    pub(crate) spite: bool,
    /// How often a person who could stop, close, hand back or pause sets a limit.
    pub(crate) limited: u32,
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
            talk: 4_000,
            codebases: 6_000,
            offers: false,
            led_away: 500,
            planned: 2_500,
            spite: false,
            limited: 500,
        }
    }

    /// Makes these rates what a choice of the world asks for.
    pub(crate) const fn in_world_of(self, kind: Kind) -> Self {
        match kind {
            Kind::Any => self,
            Kind::Leftovers => Self {
                lost: 200,
                unanswered: 200,
                twice: 200,
                late: 200,
                local: 100,
                crash: 100,
                slow: Duration::ZERO,
                leaves: 7_000,
                spite: true,
                ledger_lost: 10_000,
                storm: 7_000,
                ..self
            },
            Kind::Zombies => Self {
                machines: 3,
                codebases: 1_000,
                lost: 300,
                unanswered: 600,
                late: 1_500,
                local: 100,
                crash: 100,
                storm: 7_000,
                unrest: 6_000,
                led_away: 8_000,
                pace: Duration::from_secs(1),
                ..self
            },
            Kind::Landings => Self {
                cards: 8,
                talk: 700,
                codebases: 10_000,
                offers: true,
                spite: true,
                slow: Duration::from_millis(600),
                chaos: Duration::from_secs(500),
                unrest: 300,
                crash: 60,
                local: 100,
                lost: 100,
                twice: 100,
                late: 150,
                unanswered: 100,
                ledger_lost: 3_000,
                storm: 1_500,
                pace: Duration::from_secs(1),
                ..self
            },
            Kind::Bounds => Self {
                cards: 8,
                unrest: 6_000,
                limited: 2_500,
                planned: 7_000,
                slow: Duration::from_secs(3),
                crash: 60,
                local: 100,
                ..self
            },
        }
    }
}
