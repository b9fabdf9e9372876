//! Gives an agent a tree of its own, saves what it left there uncommitted, and puts the tree into the trash.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example stands at the edge"
)]

use std::{fs, process::Command};

use cs_worktree::{CardKey, CodebaseKey, Git, GitSetup, Repository, RunKey, TreeSpec, Worktrees};

/// What a person has: a repository with a commit.
const SCRATCH: &str = "git init -q -b main && git -c user.name=Ada -c user.email=ada@example.org commit -q \
    --allow-empty -m first";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scratch = tempfile::tempdir()?;
    let [user, state] = ["user", "state"].map(|name| scratch.path().join(name));
    fs::create_dir(&user)?;
    let made = Command::new("sh")
        .args(["-c", SCRATCH])
        .current_dir(&user)
        .status()?;
    assert!(made.success(), "a scratch repository can be made");

    let path = std::env::var_os("PATH").unwrap_or_default();
    let git = Git::probe(GitSetup::new(path, scratch.path(), &state)).await?;
    let seen = Repository::inspect(&git, &user).await?;
    let worktrees = Worktrees::new(state, git);
    let (code, card) = (CodebaseKey::new("code")?, CardKey::new("c1")?);
    let spec = TreeSpec::new(code, card, "Say hello", seen.base_branch);
    let tree = worktrees.prepare_tree(&seen.repository, &spec).await?.tree;
    fs::write(tree.path.join("hello.txt"), "hello\n")?;

    let salvage = worktrees
        .salvage(&tree, &RunKey::new("r1")?, "an example")
        .await?;
    println!("saved as {:?}", salvage.commit);
    let proof = salvage.proof().ok_or("something could not be saved")?;
    println!("the tree is in {}", worktrees.discard(proof).await?.display());
    Ok(())
}
