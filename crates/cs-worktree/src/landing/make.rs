//! The merge of a base and a card, and the commit of a merge or a squash.

use bstr::ByteSlice;

use super::plan::Landing;
use super::{LandMethod, LandingPlan, LandingSpec};
use crate::error::WorktreeError;
use crate::keys::Oid;
use crate::parse::{self, MergeTree};
use crate::store::Store;

/// The merge of two commits, as files.
#[derive(Debug)]
pub(super) enum Merge {
    /// Its tree.
    Clean(Oid),
    /// Both sides changed the same thing.
    Conflict(MergeTree),
}

impl Merge {
    /// Whether the merge is clean and is something else than this tree of the base.
    pub(super) fn adds_to(&self, base_tree: &Oid) -> bool {
        matches!(self, Self::Clean(tree) if tree != base_tree)
    }
}

/// What the making of the commits comes to.
pub(super) enum Made {
    Commit(Oid),
    Not(LandingPlan),
}

/// Merges two commits in the store; the inner error is for what git cannot merge at all.
pub(super) async fn merge(
    store: &Store,
    old: &Oid,
    head: &Oid,
) -> Result<Result<Merge, WorktreeError>, WorktreeError> {
    let call = store
        .call("merge-tree")
        .args(["merge-tree", "--write-tree", "-z", "--messages"]);
    let answer = store.git.run(call.args([old.as_str(), head.as_str()])).await?;
    if answer.code > 1 {
        return Ok(Err(answer.into_error("merge-tree").into()));
    }
    read(answer.code, &answer.stdout).map(Ok)
}

/// Reads what `merge-tree` wrote.
pub(super) fn read(code: i32, stdout: &[u8]) -> Result<Merge, WorktreeError> {
    let merged = parse::merge_tree(stdout)?;
    Ok(if code == 0 {
        Merge::Clean(merged.tree)
    } else {
        Merge::Conflict(merged)
    })
}

/// The lines by which a landing is known again.
pub(super) fn trailers(spec: &LandingSpec) -> String {
    format!(
        "Cs-Panel-Card: {}\nCs-Panel-Landing: {}\n",
        spec.tree.card, spec.landing
    )
}

/// A message with the lines of a landing at its end: in its last paragraph, where that consists of such lines already.
pub(super) fn with_trailers(message: &[u8], spec: &LandingSpec) -> Vec<u8> {
    let message = message.trim_ascii();
    let is_trailer = |line: &[u8]| {
        let name = line.split_str(": ").next().unwrap_or_default();
        let is_name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'-';
        name.len() < line.len() && !name.is_empty() && name.iter().all(is_name)
    };
    let last = message.rsplit_str("\n\n").next().unwrap_or_default();
    let continues = last.len() < message.len() && last.lines().all(is_trailer);
    let border: &[u8] = if continues { b"\n" } else { b"\n\n" };
    [message, border, trailers(spec).as_bytes()].concat()
}

/// Makes the commit of a merge or a squash, or finds that an earlier plan made it.
pub(super) async fn commit(landing: &Landing<'_>, tree: &Oid) -> Result<Oid, WorktreeError> {
    let (store, spec, old) = (landing.store, landing.spec, &landing.base.tip);
    let parents = match spec.method {
        LandMethod::Merge => vec![old, &spec.head],
        LandMethod::Squash | LandMethod::Rebase => vec![old],
    };
    let message = with_trailers(spec.message.as_bytes(), spec);
    if let Some(earlier) = &landing.earlier {
        let raw = store
            .call("cat-file")
            .args(["cat-file", "commit", earlier.as_str()]);
        // A commit that a power cut has taken is made again.
        let raw = store.git.run(raw).await?;
        if raw.code == 0 && is_same(&raw.stdout, tree, &parents, &message) {
            return Ok(earlier.clone());
        }
    }
    let mut call = store
        .call("commit-tree")
        .author(&spec.author)
        .args(["commit-tree", tree.as_str()]);
    for parent in parents {
        call = call.args(["-p", parent.as_str()]);
    }
    Ok(parse::oid(
        "commit-tree",
        &store.git.ok(call.stdin(message)).await?,
    )?)
}

fn is_same(raw: &[u8], tree: &Oid, parents: &[&Oid], message: &[u8]) -> bool {
    let parents: String = parents.iter().map(|p| format!("parent {p}\n")).collect();
    let Some(rest) = raw.strip_prefix(format!("tree {tree}\n{parents}author ").as_bytes()) else {
        return false;
    };
    rest.split_once_str("\n\n")
        .is_some_and(|(_, text)| text == message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{BranchName, CardKey, CodebaseKey, LandingKey};
    use crate::runner::Identity;
    use crate::tree::TreeSpec;

    #[test]
    fn the_lines_of_a_landing_join_those_that_are_there() {
        let (code, card) = (CodebaseKey::new("code").unwrap(), CardKey::new("c1").unwrap());
        let base = BranchName::new("main").unwrap();
        let spec = LandingSpec {
            landing: LandingKey::new("l1").unwrap(),
            tree: TreeSpec::new(code, card, "x", base.clone()),
            base,
            method: LandMethod::Merge,
            protected: Vec::new(),
            head: Oid::new("0".repeat(40)).unwrap(),
            message: String::new(),
            author: Identity::default(),
        };
        let ours = "Cs-Panel-Card: c1\nCs-Panel-Landing: l1\n";
        for (message, expected) in [
            ("Fix it\n", "Fix it\n\n"),
            ("Fix: it", "Fix: it\n\n"),
            ("Fix it\n\nThe text.\n", "Fix it\n\nThe text.\n\n"),
            (
                "Fix it\n\nSigned-off-by: A <a@b>\n",
                "Fix it\n\nSigned-off-by: A <a@b>\n",
            ),
            ("Fix it\n\nNote that: no\n", "Fix it\n\nNote that: no\n\n"),
        ] {
            let text = with_trailers(message.as_bytes(), &spec);
            assert_eq!(String::from_utf8(text).unwrap(), format!("{expected}{ours}"));
        }
    }
}
