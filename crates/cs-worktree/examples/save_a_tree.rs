//! Gives an agent a tree of its own, saves what it left uncommitted, and brings that back into a new directory.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an edge")]

use std::{fs, process::Command};

use cs_worktree::{CardKey, CodebaseKey, Git, GitSetup, Repository, RunKey, TreeSpec, Worktrees};

/// What a person has: a repository with a commit.
const SCRATCH: &str =
    "git init -q -b main && git -c user.name=Ada -c user.email=a@b commit -q --allow-empty -m first";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scratch = tempfile::tempdir()?;
    let [user, state, back] = ["user", "state", "back"].map(|name| scratch.path().join(name));
    fs::create_dir(&user)?;
    let mut shell = Command::new("sh");
    assert!(shell.args(["-c", SCRATCH]).current_dir(&user).status()?.success());

    let path = std::env::var_os("PATH").unwrap_or_default();
    let git = Git::probe(GitSetup::new(path, scratch.path(), &state)).await?;
    let seen = Repository::inspect(&git, &user).await?;
    let trees = Worktrees::new(state, git);
    let (code, card) = (CodebaseKey::new("code")?, CardKey::new("c1")?);
    let spec = TreeSpec::new(code.clone(), card, "Say hello", seen.base_branch);
    let tree = trees.prepare_tree(&seen.repository, &spec).await?.tree;
    fs::write(tree.path.join("hello.txt"), "hello\n")?;

    let run = RunKey::new("r1")?;
    let salvage = trees.salvage(&tree, &run, "an example").await?;
    let proof = salvage.proof().ok_or("something could not be saved")?;
    println!("the tree is in {}", trees.discard(proof).await?.display());
    let reference = salvage.reference.as_deref().unwrap_or_default();
    trees.restore_to_directory(&code, reference, &back).await?;
    println!("and back again: {}", fs::read_to_string(back.join("hello.txt"))?);
    Ok(())
}
