//! Everything of this machine's cards that was saved or put away, under names that can be typed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use cs_model::{CardId, CodebaseId, Time};
use cs_record::{Card, CardFilter, Codebase};
use cs_worktree::{CardKey, CodebaseKey, SavedWork, Trashed, Worktrees};
use serde::Serialize;

use crate::app::Desk;
use crate::failure::Failure;

/// How many characters of a commit are its name, at least; more where two begin alike.
const NAME_CHARS: usize = 8;
/// How many characters of a commit find it, at least.
const GIVEN_CHARS_MIN: usize = 4;
/// Begins the name of a tree in the trash.
const TRASH: &str = "t-";

/// What is kept.
#[derive(Debug, Clone)]
pub(super) enum What {
    /// A snapshot of what was not committed.
    Snapshot(SavedWork),
    /// A whole tree, in the trash.
    Tree(Trashed),
}

/// One thing that is kept.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    /// The name to type.
    pub(super) name: String,
    /// The codebase.
    pub(super) codebase: CodebaseKey,
    /// What people call the codebase.
    pub(super) codebase_name: String,
    /// The card, where it is known.
    pub(super) card: Option<CardId>,
    /// Its title, where the record knows it.
    pub(super) title: Option<String>,
    /// What it is.
    pub(super) what: What,
}

/// One thing that is kept, as it is printed.
#[derive(Debug, Serialize)]
pub(super) struct KeptWire {
    pub(super) name: String,
    pub(super) kind: &'static str,
    #[serde(rename = "ref")]
    pub(super) reference: Option<String>,
    pub(super) commit: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) card: Option<CardId>,
    pub(super) title: Option<String>,
    pub(super) codebase: String,
    pub(super) run: Option<String>,
    pub(super) reason: String,
    pub(super) at: Time,
    /// The directory of a tree in the trash.
    pub(super) path: Option<PathBuf>,
    /// The commands that bring it back.
    pub(super) restore: Vec<String>,
}

/// The cards and codebases that what is kept is about.
#[derive(Debug)]
pub(super) struct Names {
    cards: BTreeMap<CardId, Card>,
    codebases: Vec<Codebase>,
}

impl Names {
    /// Reads them.
    pub(super) async fn read(desk: &Desk) -> Result<Self, Failure> {
        let cards = desk.ports.reads.cards(CardFilter::All).await?.rows;
        let cards = cards.into_iter().map(|summary| (summary.card.id, summary.card));
        Ok(Self {
            cards: cards.collect(),
            codebases: desk.ports.codebases.codebases().await?,
        })
    }

    /// Returns a card.
    pub(super) fn card(&self, card: CardId) -> Option<&Card> {
        self.cards.get(&card)
    }

    /// Lists the codebases with the names of their stores.
    pub(super) fn codebases(&self) -> impl Iterator<Item = (&Codebase, CodebaseKey)> {
        let key = |codebase: CodebaseId| CodebaseKey::new(codebase.to_string()).ok();
        self.codebases
            .iter()
            .filter_map(move |codebase| Some((codebase, key(codebase.id)?)))
    }

    /// Finds a codebase by its name.
    ///
    /// # Errors
    /// None is called so.
    pub(super) fn codebase(&self, name: &str) -> Result<CodebaseKey, Failure> {
        let found = self.codebases().find(|(codebase, _)| codebase.name == name);
        found.map(|(_, key)| key).ok_or_else(|| {
            Failure::plain(format!(
                "there is no codebase `{name}`; `cs-panel codebase list` lists them"
            ))
        })
    }
}

/// Finds all that is kept on this machine, the newest first.
pub(super) async fn all(worktrees: &Worktrees, names: &Names) -> Result<Vec<Kept>, Failure> {
    let mut found = Vec::new();
    let trashed = worktrees.trashed()?;
    for (codebase, key) in names.codebases() {
        let snapshots = worktrees.saved_work(&key).await?.into_iter().map(What::Snapshot);
        let trees = trashed.iter().filter(|tree| tree.spec.codebase == key).cloned();
        for what in snapshots.chain(trees.map(What::Tree)) {
            let card = what.card().and_then(card_of);
            found.push(Kept {
                name: String::new(),
                title: card
                    .and_then(|card| names.card(card))
                    .map(|card| card.title.clone()),
                codebase: key.clone(),
                codebase_name: codebase.name.clone(),
                card,
                what,
            });
        }
    }
    found.sort_by_key(|kept| std::cmp::Reverse(kept.what.at()));
    name(&mut found);
    Ok(found)
}

/// Finds the one thing that has this name, or whose ref or commit this is.
pub(super) fn find<'a>(all: &'a [Kept], given: &str) -> Result<&'a Kept, Failure> {
    let exact = |kept: &&Kept| kept.name == given || kept.what.reference() == Some(given);
    if let Some(found) = all.iter().find(exact) {
        return Ok(found);
    }
    let begins = |kept: &&Kept| match &kept.what {
        What::Snapshot(work) => given.len() >= GIVEN_CHARS_MIN && work.commit.as_str().starts_with(given),
        What::Tree(_) => false,
    };
    let mut like = all.iter().filter(begins);
    match (like.next(), like.next()) {
        (Some(found), None) => Ok(found),
        (None, _) => Err(Failure::plain(format!(
            "nothing is kept as {given}; `cs-panel salvage list` lists what is, give a name, a ref or four or more digits of a commit"
        ))),
        (Some(_), Some(_)) => Err(Failure::Usage(format!(
            "several things are kept whose commit begins with {given}; give more of its digits"
        ))),
    }
}

/// Gives each thing the shortest name that no other has.
fn name(found: &mut [Kept]) {
    let commits: Vec<String> = found.iter().filter_map(|kept| kept.what.commit()).collect();
    for kept in found {
        kept.name = match &kept.what {
            What::Snapshot(work) => shortest(work.commit.as_str(), &commits),
            What::Tree(tree) => trash_name(tree),
        };
    }
}

fn shortest(commit: &str, all: &[String]) -> String {
    let fits = |end: &usize| {
        let start = &commit[..*end];
        all.iter()
            .all(|other| other == commit || !other.starts_with(start))
    };
    let end = (NAME_CHARS.min(commit.len())..=commit.len()).find(fits);
    commit[..end.unwrap_or(commit.len())].to_owned()
}

/// The card's digits and the number of the tree among those of the card in the trash.
fn trash_name(tree: &Trashed) -> String {
    let dir = tree.path.file_name().unwrap_or_default().to_string_lossy();
    let number = dir.rsplit('-').next().unwrap_or_default();
    let card = tree.spec.card.as_str();
    let short = card_of(&tree.spec.card).map_or_else(|| card.to_owned(), |card| card.short());
    format!("{TRASH}{short}-{number}")
}

/// The card of a tree; a worker's tree belongs to the card of its owner.
fn card_of(key: &CardKey) -> Option<CardId> {
    let owner = key.as_str().split("--").next().unwrap_or_default();
    owner.parse().ok()
}

impl What {
    fn card(&self) -> Option<&CardKey> {
        match self {
            Self::Snapshot(work) => work.card.as_ref(),
            Self::Tree(tree) => Some(&tree.spec.card),
        }
    }

    fn at(&self) -> SystemTime {
        match self {
            Self::Snapshot(work) => work.at,
            Self::Tree(tree) => tree.at,
        }
    }

    /// The ref of a snapshot.
    pub(super) fn reference(&self) -> Option<&str> {
        match self {
            Self::Snapshot(work) => Some(&work.reference),
            Self::Tree(_) => None,
        }
    }

    fn commit(&self) -> Option<String> {
        match self {
            Self::Snapshot(work) => Some(work.commit.to_string()),
            Self::Tree(_) => None,
        }
    }

    fn reason(&self) -> &str {
        let reason = match self {
            Self::Snapshot(work) => &work.reason,
            Self::Tree(tree) => &tree.reason,
        };
        if reason.is_empty() { "not noted" } else { reason }
    }
}

impl Kept {
    /// When it was saved or put away.
    pub(super) fn at(&self) -> Time {
        let since = self
            .what
            .at()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Time::from_unix_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    /// The card's digits.
    pub(super) fn card_words(&self) -> String {
        self.card
            .map_or_else(|| "not known".to_owned(), |card| card.short())
    }

    /// Says what it is, for programs.
    pub(super) fn wire(&self) -> KeptWire {
        let (kind, run, parent, path) = match &self.what {
            What::Snapshot(work) => (
                "snapshot",
                Some(work.run.to_string()),
                work.parent.as_ref().map(ToString::to_string),
                None,
            ),
            What::Tree(tree) => ("tree", None, None, Some(tree.path.clone())),
        };
        KeptWire {
            name: self.name.clone(),
            kind,
            reference: match &self.what {
                What::Snapshot(work) => Some(work.reference.clone()),
                What::Tree(tree) => tree.reference.clone(),
            },
            commit: self.what.commit(),
            parent,
            card: self.card,
            title: self.title.clone(),
            codebase: self.codebase_name.clone(),
            run,
            reason: self.what.reason().to_owned(),
            at: self.at(),
            path,
            restore: self.ways_back(),
        }
    }

    /// The commands that bring it back.
    pub(super) fn ways_back(&self) -> Vec<String> {
        let restore = |how: &str| format!("cs-panel salvage restore {} {how}", self.name);
        match &self.what {
            What::Snapshot(_) => vec![restore("--to DIR"), restore("--branch NAME")],
            What::Tree(_) => vec![restore("--tree")],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_grows_until_no_other_commit_begins_so() {
        let all = [
            "aaaaaaaa11".to_owned(),
            "aaaaaaaa12".to_owned(),
            "bbbbbbbb11".to_owned(),
        ];
        let names: Vec<String> = all.iter().map(|commit| shortest(commit, &all)).collect();
        assert_eq!(names, ["aaaaaaaa11", "aaaaaaaa12", "bbbbbbbb"]);
    }

    #[test]
    fn a_workers_tree_belongs_to_the_card() {
        let id = "0197f3c2-7f4e-7a31-9c55-3d1f4f2a9c1b";
        let card = |key: &str| card_of(&CardKey::new(key).expect("a key"));
        assert_eq!(card(id), id.parse().ok());
        assert_eq!(card(&format!("{id}--2")), id.parse().ok());
        assert_eq!(card("other"), None);
    }
}
