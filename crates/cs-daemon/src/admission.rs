//! May new work start? One function, asked before each claim and before each GO, that returns its reasons.

use cs_model::{CodebaseId, PauseKind};
use cs_record::{Pause, Scope};

/// What admission looks at.
#[derive(Debug, Clone, Default)]
pub struct AdmissionFacts {
    /// The pauses that cover this machine or its codebases. A drain closes nothing here: the take lets through what was begun.
    pub pauses: Vec<Pause>,
    /// The codebase that is asked about; nothing asks about the machine as a whole.
    pub codebase: Option<CodebaseId>,
    /// Free bytes in the state directory; nothing when it could not be asked.
    pub free_bytes: Option<u64>,
    /// Below this many free bytes no new work starts.
    pub min_free_bytes: u64,
    /// How many more files its disk can hold; nothing when it could not be asked.
    pub free_files: Option<u64>,
    /// How many more descriptors the daemon may open; nothing when it could not be asked.
    pub free_descriptors: Option<u64>,
}

/// So many files a tree and an execution may need.
const FREE_FILES_MIN: u64 = 1000;
/// So many descriptors the start of an agent may need.
const FREE_DESCRIPTORS_MIN: u64 = 32;

/// Whether new work may start, and if not, all reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// New work may start.
    Open,
    /// No new work starts; what runs goes on.
    Closed(Vec<ClosedBecause>),
}

/// A reason why no new work starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClosedBecause {
    /// A person paused everything.
    PausedEverywhere {
        /// Who, and why if said.
        by: String,
    },
    /// A person paused this machine.
    PausedHere {
        /// Who, and why if said.
        by: String,
    },
    /// A person paused the codebase.
    PausedCodebase {
        /// Who, and why if said.
        by: String,
    },
    /// The disk is nearly full.
    DiskFull {
        /// What is free, in bytes.
        free_bytes: u64,
        /// What is needed, in bytes.
        min_free_bytes: u64,
    },
    /// The disk can hold nearly no more files.
    FilesFull {
        /// How many more.
        free_files: u64,
    },
    /// The daemon may open nearly no more descriptors.
    DescriptorsUsedUp {
        /// How many more.
        free_descriptors: u64,
    },
}

impl ClosedBecause {
    /// Whether it is the machine that is short of something; no person has said so anywhere.
    pub(crate) const fn is_shortage(&self) -> bool {
        match self {
            Self::DiskFull { .. } | Self::FilesFull { .. } | Self::DescriptorsUsedUp { .. } => true,
            Self::PausedEverywhere { .. } | Self::PausedHere { .. } | Self::PausedCodebase { .. } => false,
        }
    }
}

impl std::fmt::Display for ClosedBecause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::PausedEverywhere { by } => {
                write!(f, "everything is paused by {by}; `cs-panel resume` ends it")
            }
            Self::PausedHere { by } => {
                write!(
                    f,
                    "this machine is paused by {by}; `cs-panel resume --machine` ends it"
                )
            }
            Self::PausedCodebase { by } => {
                write!(
                    f,
                    "its codebase is paused by {by}; `cs-panel resume --codebase NAME` ends it"
                )
            }
            Self::DiskFull {
                free_bytes,
                min_free_bytes,
            } => {
                let (free, need) = (free_bytes >> 20, min_free_bytes >> 20);
                write!(
                    f,
                    "only {free} MiB are free in the state directory, {need} MiB are needed; make room"
                )
            }
            Self::FilesFull { free_files } => write!(
                f,
                "the disk of the state directory can hold only {free_files} more files (inodes), {FREE_FILES_MIN} are needed; \
                 remove some"
            ),
            Self::DescriptorsUsedUp { free_descriptors } => write!(
                f,
                "the daemon may open only {free_descriptors} more files, {FREE_DESCRIPTORS_MIN} are needed; let it open more \
                 (`ulimit -n`, LimitNOFILE) and start it again, or give it fewer slots"
            ),
        }
    }
}

/// Decides whether new work may start.
#[must_use]
pub fn admission(facts: &AdmissionFacts) -> Admission {
    let mut reasons: Vec<_> = facts
        .pauses
        .iter()
        .filter_map(|pause| closes(facts, pause))
        .collect();
    if let Some(free_bytes) = facts.free_bytes
        && free_bytes < facts.min_free_bytes
    {
        reasons.push(ClosedBecause::DiskFull {
            free_bytes,
            min_free_bytes: facts.min_free_bytes,
        });
    }
    if let Some(free_files) = facts.free_files.filter(|free| *free < FREE_FILES_MIN) {
        reasons.push(ClosedBecause::FilesFull { free_files });
    }
    let descriptors = facts.free_descriptors;
    if let Some(free_descriptors) = descriptors.filter(|free| *free < FREE_DESCRIPTORS_MIN) {
        reasons.push(ClosedBecause::DescriptorsUsedUp { free_descriptors });
    }
    if reasons.is_empty() {
        Admission::Open
    } else {
        Admission::Closed(reasons)
    }
}

fn closes(facts: &AdmissionFacts, pause: &Pause) -> Option<ClosedBecause> {
    match pause.kind {
        PauseKind::Pause => {}
        PauseKind::Drain => return None,
    }
    let by = match &pause.reason {
        Some(reason) => format!("{} since {} ({reason})", pause.by, pause.at),
        None => format!("{} since {}", pause.by, pause.at),
    };
    match pause.scope {
        Scope::Everything => Some(ClosedBecause::PausedEverywhere { by }),
        Scope::Machine(_) => Some(ClosedBecause::PausedHere { by }),
        Scope::Codebase(codebase) if facts.codebase == Some(codebase) => {
            Some(ClosedBecause::PausedCodebase { by })
        }
        Scope::Codebase(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cs_model::Time;

    #[test]
    fn nothing_starts_where_files_or_descriptors_are_used_up_and_the_reason_says_what_helps() {
        let facts = |files, descriptors| AdmissionFacts {
            free_files: Some(files),
            free_descriptors: Some(descriptors),
            ..AdmissionFacts::default()
        };
        assert_eq!(
            admission(&facts(FREE_FILES_MIN, FREE_DESCRIPTORS_MIN)),
            Admission::Open
        );
        for (facts, words) in [
            (facts(999, u64::MAX), "only 999 more files (inodes)"),
            (facts(u64::MAX, 31), "`ulimit -n`"),
        ] {
            let Admission::Closed(reasons) = admission(&facts) else {
                panic!("it is open: {facts:?}");
            };
            assert!(
                reasons[0].is_shortage() && reasons[0].to_string().contains(words),
                "{reasons:?}"
            );
        }
    }

    fn pause(scope: Scope) -> Pause {
        let by = "Ada".parse().expect("a name");
        Pause {
            scope,
            kind: PauseKind::Pause,
            reason: Some("upgrade".to_owned()),
            by,
            at: Time::from_unix_micros(0),
        }
    }

    #[test]
    fn nothing_in_the_way_opens_admission() {
        let facts = AdmissionFacts {
            free_bytes: Some(10),
            min_free_bytes: 10,
            ..AdmissionFacts::default()
        };
        assert_eq!(admission(&facts), Admission::Open);
        assert_eq!(
            admission(&AdmissionFacts::default()),
            Admission::Open,
            "an unknown disk is no reason"
        );
    }

    #[test]
    fn all_reasons_are_named() {
        let facts = AdmissionFacts {
            pauses: vec![pause(Scope::Everything)],
            codebase: None,
            free_bytes: Some(1 << 20),
            min_free_bytes: 64 << 20,
            ..AdmissionFacts::default()
        };
        let Admission::Closed(reasons) = admission(&facts) else {
            panic!("closed")
        };
        let text: Vec<_> = reasons.iter().map(ToString::to_string).collect();
        assert_eq!(text.len(), 2);
        assert!(text[0].contains("Ada") && text[0].contains("upgrade"), "{text:?}");
        assert!(
            text[1].contains("1 MiB") && text[1].contains("64 MiB"),
            "{text:?}"
        );
    }

    #[test]
    fn a_paused_codebase_closes_only_itself_and_a_drain_closes_nothing() {
        let codebase = |number| CodebaseId::from_uuid(uuid::Uuid::from_u128(number));
        let drain = Pause {
            kind: PauseKind::Drain,
            ..pause(Scope::Everything)
        };
        let about = |codebase| AdmissionFacts {
            pauses: vec![drain.clone(), pause(Scope::Codebase(codebase))],
            codebase: Some(codebase),
            ..AdmissionFacts::default()
        };
        let here = about(codebase(1));
        assert!(matches!(admission(&here), Admission::Closed(reasons) if reasons.len() == 1));
        let elsewhere = AdmissionFacts {
            codebase: Some(codebase(2)),
            ..here.clone()
        };
        assert_eq!(admission(&elsewhere), Admission::Open);
        let whole = AdmissionFacts {
            codebase: None,
            ..here
        };
        assert_eq!(admission(&whole), Admission::Open);
    }
}
