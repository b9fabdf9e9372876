//! How much one salvage may hold: decided before anything is added.

use crate::plain;
use crate::special::Special;
use crate::status::Look;

/// More changed files than this are not saved.
pub(super) const FILES_MAX: usize = 20_000;
/// A larger file is not saved.
pub(crate) const FILE_MAX_BYTES: u64 = 50 << 20;
/// Once the saved files together are larger than this, the rest is not saved.
const TOTAL_MAX_BYTES: u64 = 1 << 30;

/// What is left of the limits, for a tree and the repositories inside it together.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    files: usize,
    bytes: u64,
}

/// Applies the limits, before anything is added.
pub(super) fn find_unsavable(look: &mut Look, budget: &mut Budget) {
    budget.files += look.entries.len();
    if budget.files > FILES_MAX {
        look.special.push(Special::TooMany { files: budget.files });
        // What is not saved takes nothing away from the others.
        budget.files -= look.entries.len();
        return;
    }
    let mut special = Vec::new();
    for path in look.present() {
        let file = path.below(&look.root);
        let Ok(meta) = file.symlink_metadata() else {
            continue;
        };
        if meta.len() > FILE_MAX_BYTES || budget.bytes + meta.len() > TOTAL_MAX_BYTES {
            special.push(Special::TooLarge(path.clone()));
        } else if meta.is_file() && plain::open(&file).is_err() {
            special.push(Special::Unreadable(path.clone()));
        } else {
            budget.bytes += meta.len();
        }
    }
    look.special.extend(special);
}
