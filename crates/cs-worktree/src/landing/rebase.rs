//! A card's commits, one by one on top of the base, made in the store.

use bstr::ByteSlice;

use super::make::{self, Made, Merge};
use super::plan::Landing;
use super::{Conflict, LandingPlan, Refusal, conflict};
use crate::diff::CommitSummary;
use crate::error::{GitError, WorktreeError};
use crate::keys::Oid;
use crate::parse;
use crate::store::Store;

/// The first git that can be told what a commit is to be compared with.
const NEEDED: (u32, u32) = (2, 40);
const NEEDED_TEXT: &str = "2.40";
/// A card with more commits is merged or squashed.
const COMMITS_MAX: usize = 1_000;

/// A commit of the card on its way.
struct Step {
    commit: Oid,
    parent: Option<Oid>,
    /// Lines of its head that are kept, with their ends: who made it and when, and in which encoding.
    author_line: Vec<u8>,
    encoding: Vec<u8>,
    author: String,
    message: Vec<u8>,
}

/// What a replay comes to.
enum Replayed {
    /// The last commit, without the lines of the landing.
    Commits(Option<Last>),
    Not(LandingPlan),
}

/// The last commit that changes something.
struct Last {
    /// The bytes of its head, with all but the message.
    head: Vec<u8>,
    message: Vec<u8>,
    tree: Oid,
}

/// Replays the card's commits on the base. `merge` is what a merge of the card comes to: the files must be the same.
pub(super) async fn replay(landing: &Landing<'_>, merge: &Merge) -> Result<Made, WorktreeError> {
    let store = landing.store;
    let refused = |refusal| Ok(Made::Not(LandingPlan::Refused(refusal)));
    if store.git.inner.version < NEEDED {
        return refused(Refusal::RebaseNeedsGit {
            needed: NEEDED_TEXT.to_owned(),
        });
    }
    let steps = steps(store, &landing.base.tip, &landing.spec.head).await?;
    if steps.len() > COMMITS_MAX {
        return refused(Refusal::RebaseTooLong { max: COMMITS_MAX });
    }
    if let Some(root) = steps.iter().find(|step| step.parent.is_none()) {
        let commit = root.commit.clone();
        return refused(Refusal::RebaseOfRoot { commit });
    }
    let last = match chain(landing, &steps).await? {
        Replayed::Commits(last) => last,
        Replayed::Not(plan) => return Ok(Made::Not(plan)),
    };
    let is_merge = |last: &Last| matches!(merge, Merge::Clean(tree) if *tree == last.tree);
    let Some(last) = last.filter(is_merge) else {
        return refused(Refusal::RebaseDiffers);
    };
    if let Err(refusal) = &landing.base.way {
        return refused(refusal.clone());
    }
    let message = make::with_trailers(&last.message, landing.spec);
    Ok(Made::Commit(write(store, &last.head, &message).await?))
}

async fn steps(store: &Store, base: &Oid, head: &Oid) -> Result<Vec<Step>, WorktreeError> {
    let list = store
        .call("rev-list")
        .args(["rev-list", "--reverse", "--topo-order", "--no-merges"]);
    let list = list.arg("--parents").arg(format!("{base}..{head}"));
    let listed = store.git.ok(list).await?;
    let names: Vec<Vec<&[u8]>> = listed.lines().map(|line| line.split_str(" ").collect()).collect();
    let input: Vec<u8> = names.iter().flat_map(|line| [line[0], b"\n"].concat()).collect();
    let read = store.call("cat-file").args(["cat-file", "--batch"]).stdin(input);
    let out = store.git.ok(read).await?;
    let mut rest = out.as_slice();
    let mut steps = Vec::new();
    for line in names {
        let unreadable = GitError::Unreadable {
            op: "cat-file",
            what: "a commit was expected",
        };
        let raw = parse::next_object(&mut rest).ok_or(unreadable)?;
        let parent = line
            .get(1)
            .map(|parent| parse::oid("rev-list", parent))
            .transpose()?;
        steps.push(step(parse::oid("rev-list", line[0])?, parent, raw));
    }
    Ok(steps)
}

fn step(commit: Oid, parent: Option<Oid>, raw: &[u8]) -> Step {
    let (head, message) = raw.split_once_str("\n\n").unwrap_or((raw, b""));
    let lines = |name: &'static [u8]| head.lines().filter(move |line| line.starts_with(name));
    let author = lines(b"author ").next().unwrap_or_default();
    let name = author.strip_prefix(b"author ").unwrap_or_default();
    let name = name
        .split_str(" <")
        .next()
        .unwrap_or_default()
        .to_str_lossy()
        .into_owned();
    let encoding = lines(b"encoding ").next();
    Step {
        commit,
        parent,
        author_line: [author, b"\n"].concat(),
        encoding: encoding.map(|line| [line, b"\n"].concat()).unwrap_or_default(),
        author: name,
        message: message.to_vec(),
    }
}

/// Makes the commits on top of the base; those that change nothing there are left out.
async fn chain(landing: &Landing<'_>, steps: &[Step]) -> Result<Replayed, WorktreeError> {
    let store = landing.store;
    let committer = committer(landing).await?;
    let mut onto = landing.base.tip.clone();
    let mut last: Option<Last> = None;
    for step in steps {
        let tree = last.as_ref().map_or(&landing.base.tree, |last| &last.tree);
        let from = step.parent.as_ref().unwrap_or(&landing.base.tip);
        match merge_onto(store, from, &onto, &step.commit).await? {
            Merge::Clean(same) if same == *tree => {}
            Merge::Clean(tree) => {
                let head = step.head(&tree, &onto, &committer);
                onto = write(store, &head, &step.message).await?;
                let message = step.message.clone();
                last = Some(Last { head, message, tree });
            }
            Merge::Conflict(merged) => {
                let names = (
                    landing.spec.base.as_str(),
                    format!("commit {} of the card", step.commit.short()),
                );
                let names = [(&onto, names.0), (&step.commit, names.1.as_str())];
                let shown = conflict::show(store, merged, &names).await?;
                let at = Some(summary(step));
                return Ok(Replayed::Not(LandingPlan::Conflict(Conflict { at, ..shown })));
            }
        }
    }
    Ok(Replayed::Commits(last))
}

/// Applies the change from one commit to another on top of a third.
async fn merge_onto(store: &Store, from: &Oid, onto: &Oid, commit: &Oid) -> Result<Merge, WorktreeError> {
    let call = store
        .call("merge-tree")
        .args(["merge-tree", "--write-tree", "-z", "--messages"]);
    let call = call.arg(format!("--merge-base={from}"));
    let answer = store.git.run(call.args([onto.as_str(), commit.as_str()])).await?;
    if answer.code > 1 {
        return Err(answer.into_error("merge-tree").into());
    }
    make::read(answer.code, &answer.stdout)
}

fn summary(step: &Step) -> CommitSummary {
    let subject = step.message.lines().next().unwrap_or_default();
    CommitSummary {
        commit: step.commit.clone(),
        author: step.author.clone(),
        subject: subject.to_str_lossy().into_owned(),
    }
}

/// Who commits, and when. The time of an earlier plan on the same base is taken again, so that the same commits are made.
async fn committer(landing: &Landing<'_>) -> Result<Vec<u8>, WorktreeError> {
    let store = landing.store;
    if let Some(earlier) = &landing.earlier
        && matches!(store.is_ancestor(&landing.base.tip, earlier).await, Ok(true))
    {
        let raw = store
            .call("cat-file")
            .args(["cat-file", "commit", earlier.as_str()]);
        let raw = store.git.ok(raw).await?;
        if let Some(line) = raw.lines().find_map(|line| line.strip_prefix(b"committer ")) {
            return Ok(line.to_vec());
        }
    }
    let now = store.call("var").args(["var", "GIT_COMMITTER_IDENT"]);
    Ok(store.git.ok(now).await?.trim_ascii().to_vec())
}

impl Step {
    fn head(&self, tree: &Oid, parent: &Oid, committer: &[u8]) -> Vec<u8> {
        let mut head = format!("tree {tree}\nparent {parent}\n").into_bytes();
        for part in [
            &self.author_line,
            &b"committer "[..],
            committer,
            b"\n",
            &self.encoding,
            b"\n",
        ] {
            head.extend_from_slice(part);
        }
        head
    }
}

async fn write(store: &Store, head: &[u8], message: &[u8]) -> Result<Oid, WorktreeError> {
    let write = store
        .call("hash-object")
        .args(["hash-object", "-t", "commit", "-w", "--stdin"]);
    let made = store.git.ok(write.stdin([head, message].concat())).await?;
    Ok(parse::oid("hash-object", &made)?)
}
