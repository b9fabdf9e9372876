//! The borders of the protocols at which a test ends the process, to prove that a crash there loses nothing.

/// A border: a point between two steps of the start protocol (P1 to P13), of what comes of a start (P14 to P26), of a landing (L1 to
/// L6), of the verify of its merge (V1 to V5), or of
/// its push (U1 to U3), or of a call of a tool (T1 to T4). [`Self::ALL`] says what lies between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table below says what each one is")]
pub enum Border {
    P1,
    P2,
    P3,
    P4,
    P5,
    P6,
    P7,
    P8,
    P9,
    P10,
    P11,
    P12,
    P13,
    P14,
    P15,
    P16,
    P17,
    P18,
    P20,
    P23,
    P25,
    P26,
    L1,
    L2,
    L3,
    L4,
    L5,
    L6,
    V1,
    V2,
    V3,
    V4,
    V5,
    U1,
    U2,
    U3,
    T1,
    T2,
    T3,
    T4,
}

impl Border {
    /// Holds every border with its name and what lies between.
    pub const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (Self::P1, "P1", "before the durable intent of a claim"),
        (Self::P2, "P2", "after the intent, before the request leaves"),
        (Self::P3, "P3", "the record committed, its answer is lost"),
        (Self::P4, "P4", "confirmed by the record, not yet in the ledger"),
        (Self::P5, "P5", "in the ledger, not adopted"),
        (Self::P6, "P6", "preparation open, nothing spawned"),
        (Self::P7, "P7", "the shim holds, not registered"),
        (Self::P8, "P8", "registered, before GO"),
        (Self::P9, "P9", "GO answered, not yet in the ledger"),
        (Self::P10, "P10", "the agent runs"),
        (Self::P11, "P11", "the agent ended, its outcome is not durable"),
        (
            Self::P12,
            "P12",
            "the outcome is durable, the record does not know it",
        ),
        (Self::P13, "P13", "the record has it, not acknowledged"),
        (
            Self::P14,
            "P14",
            "the record has the question, its process is still on the row, not acknowledged",
        ),
        (
            Self::P15,
            "P15",
            "a failure is durable, the record does not know it, so no retry can be claimed",
        ),
        (
            Self::P16,
            "P16",
            "a later attempt is claimed, nothing is prepared",
        ),
        (
            Self::P17,
            "P17",
            "a start failed and that is durable, the record does not know it",
        ),
        (
            Self::P18,
            "P18",
            "the record has the end of the run, its answer is lost",
        ),
        (
            Self::P20,
            "P20",
            "the record has the interruption, not acknowledged",
        ),
        (
            Self::P23,
            "P23",
            "the ledger makes up for what it lost, one run is taken in, the mark is not set",
        ),
        (
            Self::P25,
            "P25",
            "of the re-arms of one claim one is on its way, the others are not",
        ),
        (
            Self::P26,
            "P26",
            "turns are taken and adopted, none is on its way",
        ),
        (Self::T1, "T1", "a call of a tool came in, nothing of it is noted"),
        (
            Self::T2,
            "T2",
            "what an agent wants of people is noted, the record does not know it",
        ),
        (Self::T3, "T3", "the call has its effect, its answer is not kept"),
        (
            Self::T4,
            "T4",
            "the answer of the call is kept, the agent does not have it",
        ),
        (Self::L1, "L1", "a landing is claimed, nothing was done"),
        (Self::L2, "L2", "the merge is made, its plan is not in the ledger"),
        (
            Self::L3,
            "L3",
            "the plan is in the ledger, the base has not moved",
        ),
        (Self::L4, "L4", "the base has moved, the ledger does not know it"),
        (
            Self::L5,
            "L5",
            "the result is durable, the record does not know it",
        ),
        (Self::L6, "L6", "the record has the result, not acknowledged"),
        (
            Self::V1,
            "V1",
            "the verify is in the ledger, nothing of it is made",
        ),
        (Self::V2, "V2", "the clone is made and the shim holds, before GO"),
        (Self::V3, "V3", "the verify runs"),
        (
            Self::V4,
            "V4",
            "the verify has ended, the ledger does not know what it said",
        ),
        (
            Self::V5,
            "V5",
            "the ledger has what the verify said, the move is not in it",
        ),
        (
            Self::U1,
            "U1",
            "the push is in the ledger, the remote has nothing",
        ),
        (
            Self::U2,
            "U2",
            "the remote has what is to land, the ledger does not know it",
        ),
        (
            Self::U3,
            "U3",
            "the ledger knows of the push, the local base has not moved",
        ),
    ];

    fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(border, ..)| *border == self)
            .map_or("", |(_, name, _)| name)
    }
}

/// Says at which border the process is to be ended, if at any.
#[derive(Debug, Clone, Copy, Default)]
pub struct Borders {
    crash_at: Option<Border>,
}

impl Borders {
    /// Ends the process nowhere.
    #[must_use]
    pub const fn none() -> Self {
        Self { crash_at: None }
    }

    /// Ends the process with SIGKILL the first time that it comes to this border.
    #[must_use]
    pub const fn crash_at(border: Border) -> Self {
        Self {
            crash_at: Some(border),
        }
    }

    /// Finds a border by its name, such as `P7`.
    #[must_use]
    pub fn named(name: &str) -> Option<Border> {
        Border::ALL
            .iter()
            .find(|(_, known, _)| *known == name)
            .map(|(border, ..)| *border)
    }

    /// Comes to a border.
    pub(crate) fn reach(self, border: Border) {
        if self.crash_at == Some(border) {
            tracing::warn!(border = border.name(), "ending the process here, as a test asked");
            cs_supervise::kill_this_process();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_border_is_found_by_its_name() {
        for (border, name, _) in Border::ALL {
            assert_eq!(Borders::named(name), Some(*border));
        }
        assert_eq!(Borders::named("P0"), None);
    }
}
