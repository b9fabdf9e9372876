//! Lands what an agent committed on the user's branch: planned, written down, moved.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an edge")]

use std::{fs, path::Path, process::Command};

use cs_worktree::*;

/// Commits a file in a directory: as a person in their repository, or as an agent in its tree.
fn commit(dir: &Path, file: &str) -> std::io::Result<()> {
    let script =
        "git init -q; echo hello > $0; git add . && git -c user.name=A -c user.email=a@b commit -q -m $0";
    let status = Command::new("sh")
        .args(["-c", script, file])
        .current_dir(dir)
        .status()?;
    assert!(status.success());
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scratch = tempfile::tempdir()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let git = Git::probe(GitSetup::new(path, scratch.path(), scratch.path().join("state"))).await?;
    let user = scratch.path().join("user");
    fs::create_dir(&user)?;
    commit(&user, "first")?;
    let seen = Repository::inspect(&git, &user).await?;
    let (repository, trees) = (seen.repository, Worktrees::new(scratch.path().join("state"), git));
    let (code, card) = (CodebaseKey::new("code")?, CardKey::new("c1")?);
    let spec = TreeSpec::new(code, card, "Say hello", seen.base_branch);
    let tree = trees.prepare_tree(&repository, &spec).await?.tree;
    commit(&tree.path, "second")?;
    let head = trees.collect(&repository, &tree, &RunKey::new("r1")?).await?.tip;
    let landing = LandingSpec::merge(LandingKey::new("l1")?, spec, head, "Say hello");
    if let LandingPlan::Ready(planned) = trees.plan_landing(&repository, &landing).await? {
        println!("{:?}", trees.execute_move(&planned).await?);
    }
    Ok(())
}
