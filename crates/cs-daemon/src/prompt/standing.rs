//! How the branch of a card stands, as its agent is told.

use cs_worktree::PersonCommits;

/// How a card's branch stood when its tree was made ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BranchStanding {
    /// How many commits it has that its base has not; at most 200 are counted.
    pub(crate) ahead: usize,
    /// How many the base has that it has not.
    pub(crate) behind: usize,
    /// What became of commits that a person made on it.
    pub(crate) person: PersonCommits,
}

impl BranchStanding {
    /// A sentence for each thing that is not as it was made.
    pub(super) fn words(&self, base: &str) -> String {
        let mut words = String::new();
        if self.ahead > 0 {
            words.push_str(&format!(
                " The branch has {} that did not land yet.",
                commits(self.ahead)
            ));
        }
        if self.behind > 0 {
            words.push_str(&format!(
                " {base} has gone on by {} that the branch has not.",
                commits(self.behind)
            ));
        }
        match &self.person {
            PersonCommits::None => {}
            PersonCommits::Taken { count } => words.push_str(&format!(
                " cs-panel took in {} that a person made on the branch since your last start.",
                commits(*count)
            )),
            PersonCommits::Waiting { count } => words.push_str(&format!(
                " Not in the working directory yet: {} of a person on the branch; to be taken in, all that is in it has to be committed.",
                commits(*count)
            )),
            PersonCommits::Diverged => words.push_str(
                " A person made commits on the branch that do not follow yours: they are not in the working directory.",
            ),
        }
        words
    }
}

fn commits(count: usize) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} commit{s}")
}
