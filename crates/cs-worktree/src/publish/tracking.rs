//! What the user's repository knows of a remote's branch, after a push: as if they had pushed themselves.

use bstr::ByteSlice;

use super::At;
use crate::collect;
use crate::error::WorktreeError;
use crate::parse;

impl At<'_> {
    /// Lets the branch by which the user's repository follows the remote's be what was pushed, where it follows it. What fails is no
    /// reason to say that nothing was pushed: their next fetch brings it.
    pub(super) async fn track(&self) {
        if let Err(error) = self.try_track().await {
            tracing::info!(to = %self.to, error = &error as &dyn std::error::Error, "the branch that follows the remote's stays behind");
        }
    }

    async fn try_track(&self) -> Result<(), WorktreeError> {
        let git = &self.store.git;
        let name = format!("remote.{}.fetch", self.to.remote);
        let ask = self.repository.call("config").reads_only();
        let answer = git.run(ask.args(["config", "-z", "--get-all", &name])).await?;
        let specs = parse::z_fields(&answer.stdout).map(|spec| spec.to_str_lossy().into_owned());
        let specs: Vec<String> = specs.collect();
        let Some(follows) = tracking(&specs, &self.to.branch.full_ref()) else {
            return Ok(());
        };
        let known = self.repository.commit_of(git, &follows).await?;
        if known.as_ref() == Some(&self.publish.commit) {
            return Ok(());
        }
        let refspec = format!("+{}:{follows}", self.publish.commit);
        collect::fetch_into(git, self.repository, self.store, &refspec).await
    }
}

/// Under which name a repository with these refspecs keeps a branch of the remote; nothing where it does not.
fn tracking(specs: &[String], branch: &str) -> Option<String> {
    let middle = |pattern: &str| -> Option<String> {
        match pattern.split_once('*') {
            None => (pattern == branch).then(String::new),
            Some((before, after)) => {
                let rest = branch.strip_prefix(before)?;
                rest.strip_suffix(after).map(str::to_owned)
            }
        }
    };
    let is_left_out = specs
        .iter()
        .filter_map(|spec| spec.strip_prefix('^'))
        .any(|left_out| middle(left_out).is_some());
    if is_left_out {
        return None;
    }
    specs.iter().find_map(|spec| {
        let (from, to) = spec.strip_prefix('+').unwrap_or(spec).split_once(':')?;
        let name = to.replacen('*', &middle(from)?, 1);
        name.starts_with("refs/remotes/").then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_what_follows_a_branch_of_a_remote() {
        let all = "+refs/heads/*:refs/remotes/origin/*";
        for (specs, expected) in [
            (&[all][..], Some("refs/remotes/origin/a/b")),
            (
                &["refs/heads/a/b:refs/remotes/o/one", all],
                Some("refs/remotes/o/one"),
            ),
            (&["refs/heads/main:refs/remotes/origin/main"], None),
            (&[all, "^refs/heads/a/*"], None),
            // What a mirror has there are the user's own branches.
            (&["+refs/*:refs/*"], None),
            (&["refs/heads/a/b"], None),
            (&[], None),
        ] {
            let specs: Vec<String> = specs.iter().map(|spec| (*spec).to_owned()).collect();
            assert_eq!(
                tracking(&specs, "refs/heads/a/b").as_deref(),
                expected,
                "{specs:?}"
            );
        }
    }
}
