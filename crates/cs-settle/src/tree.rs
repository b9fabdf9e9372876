//! What becomes of a working tree.

use cs_model::{CardState, Ending, OrphanTree, RunKind, RunState};

/// Whether the machine has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskSpace {
    /// There is enough.
    Enough,
    /// Trees that are kept only for convenience have to go.
    Short,
}

/// What decides about a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeFacts {
    /// What job the run does whose tree it is. An owner's tree is the card's.
    pub kind: RunKind,
    /// Where the run is; for a card's tree the owner's latest run.
    pub run: RunState,
    /// Where the card is.
    pub card: CardState,
    /// Whether the machine has room.
    pub space: DiskSpace,
}

/// What becomes of a tree. Salvage is a private ref that is read back; when it is doubtful the tree is kept (WT-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeFate {
    /// It stays as it is: its run is live, or nobody saw that run end.
    Keep,
    /// What is in it is saved, and it stays.
    SalvageThenKeep,
    /// What is in it is saved, then it goes to the trash.
    SalvageThenTrash,
}

/// Decides the fate of a tree. Salvage precedes every removal, and the tree of a live run is never touched. That the
/// execution is proven closed is the caller's to know: before that no tree has a fate but [`Keep`](TreeFate::Keep).
#[must_use]
pub const fn tree_fate(facts: &TreeFacts) -> TreeFate {
    let ending = match facts.run {
        RunState::Running | RunState::Asked => return TreeFate::Keep,
        RunState::Ended(ending) => ending,
    };
    match ending {
        Ending::Orphaned(OrphanTree::Dirty) => TreeFate::Keep,
        _ if is_over(facts.card) => TreeFate::SalvageThenTrash,
        Ending::Finished => match facts.kind {
            RunKind::Owner => TreeFate::SalvageThenKeep,
            RunKind::Launcher | RunKind::Worker | RunKind::Issue => TreeFate::SalvageThenTrash,
        },
        Ending::Blocked | Ending::Stopped => match facts.space {
            DiskSpace::Enough => TreeFate::SalvageThenKeep,
            DiskSpace::Short => TreeFate::SalvageThenTrash,
        },
        Ending::Failed | Ending::Interrupted | Ending::Capped(_) | Ending::Orphaned(OrphanTree::Clean) => {
            TreeFate::SalvageThenKeep
        }
    }
}

const fn is_over(card: CardState) -> bool {
    match card {
        CardState::Landed | CardState::Closed => true,
        CardState::Open | CardState::Failed | CardState::Stopped => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_tree_fates() {
        let mut table = String::new();
        for kind in [RunKind::Owner, RunKind::Worker] {
            for run in RunState::ALL {
                table += &format!("{kind} {run}:");
                for card in [CardState::Open, CardState::Failed, CardState::Landed] {
                    for space in [DiskSpace::Enough, DiskSpace::Short] {
                        let facts = TreeFacts {
                            kind,
                            run: *run,
                            card,
                            space,
                        };
                        table += &format!(" {:?}", tree_fate(&facts));
                    }
                }
                table += "\n";
            }
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn the_tree_of_a_live_run_is_never_touched() {
        for kind in RunKind::ALL {
            for card in CardState::ALL {
                for run in [RunState::Running, RunState::Asked] {
                    let facts = TreeFacts {
                        kind: *kind,
                        run,
                        card: *card,
                        space: DiskSpace::Short,
                    };
                    assert_eq!(tree_fate(&facts), TreeFate::Keep, "{facts:?}");
                }
            }
        }
    }
}
