//! The borders between the steps of a tree's life, and a way to end the process at one of them, so that a test can show that
//! what follows on after it loses nothing and ends the same.

/// A border between two steps. Each name says what has just been done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Border {
    /// The store is made beside its place.
    StoreHalf,
    /// The store is in its place, without the user's branches.
    StoreMade,
    /// The user's branches are in the store.
    BranchesFetched,
    /// The base of a new card is noted, not where the card stands.
    BaseNoted,
    /// Where a new card stands is noted; it has no tree.
    CardNoted,
    /// The clone is made beside the tree's place, without files.
    CloneMade,
    /// The clone has its files.
    FilesMade,
    /// The clone knows whose tree it is.
    TreeNamed,
    /// The tree is in its place.
    TreeMade,
    /// A tree that was there has the files of the person's commits; its branch has not moved.
    FilesBrought,
    /// A tree that was there stands at the person's commits; the card does not.
    TreeMoved,
    /// Everything that an attempt committed is in the store.
    CommitsGathered,
    /// The card stands at the attempt's tip; the user's branch does not.
    CardMoved,
    /// The card's commits are in the user's repository, on no branch.
    CommitsShown,
    /// The card's branch in the user's repository has moved.
    BranchMoved,
    /// What is uncommitted is known; nothing of it is saved.
    Looked,
    /// The repositories inside the tree are saved, on refs of their own.
    InsideSaved,
    /// The snapshot is made and nothing points at it.
    SnapshotMade,
    /// The snapshot has its ref, and no manifest.
    SnapshotKept,
    /// What is staged only is saved, on a ref of its own.
    IndexSaved,
    /// The manifest is written.
    ManifestWritten,
    /// The merge of a landing is made in the store, and nothing points at it.
    MergeMade,
    /// The merge has its ref in the store.
    MergeKept,
    /// The remote has the commits, and nobody was told.
    Published,
    /// The merge is in the user's repository, on no branch.
    MergeShown,
    /// The index of the working tree that has the base checked out is locked.
    IndexLocked,
    /// The base that is checked out has moved; its index is still locked, and old.
    BaseMoved,
    /// The base has moved, and nobody was told.
    MoveMade,
    /// The files that a half landing added are gone again.
    AddedRemoved,
    /// The index is what it was before a half landing.
    IndexPutBack,
    /// The files are what they were before a half landing.
    FilesPutBack,
    /// A snapshot is restored beside its place, as a clone without files.
    RestoreCloned,
    /// A snapshot is restored beside its place, with its files.
    RestoreFilled,
    /// A snapshot is restored in its place.
    RestoreMade,
    /// A snapshot is in the user's repository, on no branch.
    SnapshotShown,
    /// A snapshot is on a branch of the user's.
    BranchRestored,
    /// A trashed tree is back in its place, and still marked.
    TreePutBack,
    /// The tree is marked and still in its place.
    TreeMarked,
    /// The tree is in the trash.
    TreeTrashed,
    /// A trashed tree is about to be deleted.
    DeletionBegun,
    /// Half of a trashed tree is deleted.
    HalfDeleted,
    /// A store is about to be packed, and does not refuse it.
    UpkeepBegun,
    /// A store is packed, and does not refuse it yet again.
    UpkeepPacked,
}

impl Border {
    /// Every border, in the order of a tree's life.
    pub const ALL: &'static [Self] = &[
        Self::StoreHalf,
        Self::StoreMade,
        Self::BranchesFetched,
        Self::BaseNoted,
        Self::CardNoted,
        Self::CloneMade,
        Self::FilesMade,
        Self::TreeNamed,
        Self::TreeMade,
        Self::FilesBrought,
        Self::TreeMoved,
        Self::CommitsGathered,
        Self::CardMoved,
        Self::CommitsShown,
        Self::BranchMoved,
        Self::Looked,
        Self::InsideSaved,
        Self::SnapshotMade,
        Self::SnapshotKept,
        Self::IndexSaved,
        Self::ManifestWritten,
        Self::MergeMade,
        Self::MergeKept,
        Self::Published,
        Self::MergeShown,
        Self::IndexLocked,
        Self::BaseMoved,
        Self::MoveMade,
        Self::AddedRemoved,
        Self::IndexPutBack,
        Self::FilesPutBack,
        Self::RestoreCloned,
        Self::RestoreFilled,
        Self::RestoreMade,
        Self::SnapshotShown,
        Self::BranchRestored,
        Self::TreePutBack,
        Self::TreeMarked,
        Self::TreeTrashed,
        Self::DeletionBegun,
        Self::HalfDeleted,
        Self::UpkeepBegun,
        Self::UpkeepPacked,
    ];
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

    /// Comes to a border.
    pub(crate) fn reach(self, border: Border) {
        if self.crash_at == Some(border) {
            tracing::warn!(?border, "ending the process here, as a test asked");
            cs_supervise::kill_this_process();
        }
    }
}
