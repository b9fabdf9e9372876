//! Where this machine's checkouts of codebases are. Local paths stay here; the record only learns ids and names.

mod kept;

use std::path::{Path, PathBuf};
use std::time::Duration;

use cs_daemon::{AgentRules, LandingPolicy, Preparation, Sandbox, TreeError, VERIFY_LIMIT};
use cs_harness::Permissions;
use cs_model::{CodebaseId, LandMethod, LandingTarget, Publish};
use serde::{Deserialize, Serialize};

use crate::disk;
use crate::failure::Failure;

const VERSION: u32 = 1;

/// One codebase of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkout {
    /// The codebase.
    pub(crate) codebase: CodebaseId,
    /// The root of the working tree that was registered, absolute.
    pub(crate) path: PathBuf,
    /// The git directory that all working trees of the repository share, absolute: what makes it the same repository.
    pub(crate) common_dir: PathBuf,
    /// Patterns of files that git ignores and that every tree gets from the checkout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) bring: Vec<String>,
    /// The command that makes a tree ready for its agent, as a line for the shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) setup: Option<String>,
    /// What agents may do there.
    #[serde(default, skip_serializing_if = "AgentNote::says_nothing")]
    pub(crate) agents: AgentNote,
    /// What it means to land there.
    #[serde(default, skip_serializing_if = "LandingNote::says_nothing")]
    pub(crate) landing: LandingNote,
}

/// What is noted of what agents may do on a codebase; what is not noted is as [`AgentRules::default`] says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentNote {
    /// What is put around them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox: Option<SandboxNote>,
    /// What they may do without being asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) permissions: Option<Permissions>,
}

/// A sandbox, as it is noted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxNote {
    /// bubblewrap.
    Bwrap,
    /// A command of the person, as its arguments.
    Wrapper(Vec<String>),
}

impl AgentNote {
    fn says_nothing(&self) -> bool {
        *self == Self::default()
    }

    fn rules(self) -> AgentRules {
        AgentRules {
            sandbox: match self.sandbox {
                None => Sandbox::None,
                Some(SandboxNote::Bwrap) => Sandbox::Bubblewrap,
                Some(SandboxNote::Wrapper(argv)) => Sandbox::Wrapper(argv),
            },
            permissions: self.permissions,
        }
    }
}

/// What is noted of how work lands on a codebase; what is not noted is as [`LandingPolicy::default`] says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LandingNote {
    /// The command that has to succeed on the merged result, as a line for the shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verify: Option<String>,
    /// How many seconds setup and verify may take together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verify_limit_s: Option<u64>,
    /// How commits come onto the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) method: Option<LandMethod>,
    /// What moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<LandingTarget>,
    /// When the branch of a card goes to the remote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) publish: Option<Publish>,
    /// Branches that are never moved here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) protected: Vec<String>,
}

impl Checkout {
    /// One of which nothing is noted, not even where it is.
    fn new(codebase: CodebaseId) -> Self {
        Self {
            codebase,
            path: PathBuf::new(),
            common_dir: PathBuf::new(),
            bring: Vec::new(),
            setup: None,
            agents: AgentNote::default(),
            landing: LandingNote::default(),
        }
    }

    /// Whether a person has set anything of it.
    pub(crate) fn is_set(&self) -> bool {
        !self.bring.is_empty()
            || self.setup.is_some()
            || !self.agents.says_nothing()
            || !self.landing.says_nothing()
    }
}

impl LandingNote {
    fn says_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// What a landing means, with what is usual where nothing is noted.
    pub(crate) fn policy(self) -> LandingPolicy {
        LandingPolicy {
            verify: self.verify,
            verify_limit: self.verify_limit_s.map_or(VERIFY_LIMIT, Duration::from_secs),
            method: self.method.unwrap_or_default(),
            target: self.target,
            publish: self.publish.unwrap_or_default(),
            protected: self.protected,
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct CheckoutsFile {
    version: u32,
    checkouts: Vec<Checkout>,
}

/// A checkout as it was found or added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Noted {
    /// What is noted of it.
    pub(crate) checkout: Checkout,
    /// Where that is from.
    pub(crate) from: NotedFrom,
}

/// Where a note of a checkout is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotedFrom {
    /// It was in the list.
    List,
    /// It was here before, and what was set then is set again.
    Before,
    /// It is new, and nothing is set.
    New,
}

/// The file that holds them, and beside it what was last noted of each, for one that is added again. It is read anew each time, since
/// other commands add to it.
#[derive(Debug, Clone)]
pub(crate) struct Checkouts {
    file: PathBuf,
}

impl Checkouts {
    /// Uses a file, which need not be there.
    pub(crate) fn new(file: PathBuf) -> Self {
        Self { file }
    }

    /// Lists all, in the order in which they were added.
    ///
    /// # Errors
    /// The file cannot be read or is not ours.
    pub(crate) fn list(&self) -> Result<Vec<Checkout>, Failure> {
        let Some(bytes) = disk::read_if_there(&self.file)? else {
            return Ok(Vec::new());
        };
        let cure = "expected the checkouts of this machine as JSON; restore the file, or move it away and add each repository again with \
                    `cs-panel codebase add PATH`, which finds what was set of it";
        let not_ours = || format!("{} is not ours, {cure}", self.file.display());
        let file: CheckoutsFile =
            serde_json::from_slice(&bytes).map_err(|error| Failure::failed(error, not_ours()))?;
        if file.version != VERSION {
            return Err(Failure::plain(not_ours()));
        }
        Ok(file.checkouts)
    }

    /// Finds the codebase of a repository, or adds it: as `codebase`, of which that is set again which was set when it was last here, else
    /// under an id that `fresh` makes. Two commands at once agree on one id, and neither loses what the other added.
    ///
    /// # Errors
    /// The file cannot be read or written, or is not ours; then nothing was added.
    pub(crate) fn find_or_add(
        &self,
        path: &Path,
        common_dir: &Path,
        codebase: Option<CodebaseId>,
        fresh: impl FnOnce() -> CodebaseId,
    ) -> Result<Noted, Failure> {
        let _lock = disk::lock_dir(self.file.parent().unwrap_or(&self.file))?;
        let mut checkouts = self.list()?;
        let same = |known: &&mut Checkout| known.common_dir == common_dir;
        if let Some(known) = checkouts.iter_mut().find(same) {
            let is_there = known.path.is_dir();
            if !is_there {
                // The working tree that was registered is gone; this one is of the same repository.
                known.path = path.to_owned();
            }
            let checkout = known.clone();
            if !is_there {
                self.write(checkouts)?;
            }
            return Ok(Noted {
                checkout,
                from: NotedFrom::List,
            });
        }
        let kept = match codebase {
            Some(codebase) => kept::of(&self.kept(), codebase)?,
            None => None,
        };
        let from = match &kept {
            Some(_) => NotedFrom::Before,
            None => NotedFrom::New,
        };
        let added = Checkout {
            path: path.to_owned(),
            common_dir: common_dir.to_owned(),
            ..kept.unwrap_or_else(|| Checkout::new(codebase.unwrap_or_else(fresh)))
        };
        checkouts.push(added.clone());
        self.write(checkouts)?;
        Ok(Noted {
            checkout: added,
            from,
        })
    }

    /// What was noted of codebases that are not here any more and were the repository with this git directory.
    ///
    /// # Errors
    /// The file or a note cannot be read or is not ours.
    pub(crate) fn were(&self, common_dir: &Path) -> Result<Vec<Checkout>, Failure> {
        let here = self.list()?;
        if here.iter().any(|known| known.common_dir == common_dir) {
            return Ok(Vec::new());
        }
        let mut were = kept::at(&self.kept(), common_dir)?;
        were.retain(|kept| here.iter().all(|known| known.codebase != kept.codebase));
        Ok(were)
    }

    fn kept(&self) -> PathBuf {
        kept::dir_beside(&self.file)
    }

    /// Finds the checkout of a codebase.
    ///
    /// # Errors
    /// The file cannot be read or is not ours.
    pub(crate) fn find(&self, codebase: CodebaseId) -> Result<Option<Checkout>, Failure> {
        let mut all = self.list()?.into_iter();
        Ok(all.find(|checkout| checkout.codebase == codebase))
    }

    /// Changes what is noted of a codebase, and returns it as it is then; nothing when this machine has no checkout of it.
    ///
    /// # Errors
    /// As [`Self::find_or_add`]; then nothing was changed.
    pub(crate) fn change(
        &self,
        codebase: CodebaseId,
        make: impl FnOnce(&mut Checkout),
    ) -> Result<Option<Checkout>, Failure> {
        let _lock = disk::lock_dir(self.file.parent().unwrap_or(&self.file))?;
        let mut checkouts = self.list()?;
        let Some(known) = checkouts.iter_mut().find(|known| known.codebase == codebase) else {
            return Ok(None);
        };
        make(known);
        let changed = known.clone();
        kept::keep(&self.kept(), &changed)?;
        self.write(checkouts)?;
        Ok(Some(changed))
    }

    /// Forgets where a codebase is, and returns what was noted of it. What was set is kept beside, for when it is added again.
    ///
    /// # Errors
    /// As [`Self::find_or_add`]; then nothing was forgotten.
    pub(crate) fn remove(&self, codebase: CodebaseId) -> Result<Option<Checkout>, Failure> {
        let _lock = disk::lock_dir(self.file.parent().unwrap_or(&self.file))?;
        let mut checkouts = self.list()?;
        let Some(at) = checkouts.iter().position(|known| known.codebase == codebase) else {
            return Ok(None);
        };
        let removed = checkouts.remove(at);
        kept::keep(&self.kept(), &removed)?;
        self.write(checkouts)?;
        Ok(Some(removed))
    }

    fn write(&self, checkouts: Vec<Checkout>) -> Result<(), Failure> {
        let text = serde_json::to_vec_pretty(&CheckoutsFile {
            version: VERSION,
            checkouts,
        })
        .map_err(|error| {
            Failure::failed(
                error,
                "the path of a checkout cannot be noted, expected a path in UTF-8",
            )
        })?;
        disk::replace(&self.file, &text)
    }
}

impl cs_daemon::Checkouts for Checkouts {
    fn checkout(&self, codebase: CodebaseId) -> Option<PathBuf> {
        self.find_or_warn(codebase).map(|known| known.path)
    }

    fn preparation(&self, codebase: CodebaseId) -> Preparation {
        self.find_or_warn(codebase)
            .map_or_else(Preparation::default, |known| Preparation {
                bring: known.bring,
                setup: known.setup,
            })
    }

    fn rules(&self, codebase: CodebaseId) -> Result<AgentRules, TreeError> {
        let known = self.find_or_trouble(codebase)?;
        Ok(known.ok_or(TreeError::NoCheckout)?.agents.rules())
    }

    fn landing(&self, codebase: CodebaseId) -> Result<LandingPolicy, TreeError> {
        let found = self.find_or_trouble(codebase)?;
        // Of one that was removed nothing goes anywhere.
        Ok(found.map_or_else(
            || LandingPolicy {
                target: Some(LandingTarget::Local),
                ..LandingPolicy::default()
            },
            |known| known.landing.policy(),
        ))
    }

    fn codebases(&self) -> Vec<CodebaseId> {
        self.list_or_warn()
            .into_iter()
            .map(|known| known.codebase)
            .collect()
    }
}

impl Checkouts {
    fn find_or_trouble(&self, codebase: CodebaseId) -> Result<Option<Checkout>, TreeError> {
        self.find(codebase).map_err(|error| {
            tracing::error!(
                error = error.text(),
                "what is set for a codebase on this machine cannot be read"
            );
            TreeError::Checkouts(std::io::Error::other(error.text().unwrap_or_default()))
        })
    }

    fn find_or_warn(&self, codebase: CodebaseId) -> Option<Checkout> {
        let mut all = self.list_or_warn().into_iter();
        all.find(|known| known.codebase == codebase)
    }

    fn list_or_warn(&self) -> Vec<Checkout> {
        self.list().unwrap_or_else(|error| {
            tracing::error!(
                error = error.text(),
                "the checkouts of this machine cannot be read"
            );
            Vec::new()
        })
    }
}

/// Says whether the list of checkouts, which is text, can hold this path.
///
/// # Errors
/// It is no UTF-8 text.
pub(crate) fn check_path(path: &Path) -> Result<(), Failure> {
    if path.to_str().is_some() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "the path {} of the repository is no UTF-8 text, expected one that is; rename what is shown as \u{fffd} in it, or clone the \
         repository to another place",
        path.to_string_lossy()
    )))
}

#[cfg(test)]
mod tests {
    use cs_model::IdSource;

    use super::*;
    use crate::os::SystemIds;

    fn fresh() -> CodebaseId {
        CodebaseId::from_uuid(SystemIds.uuid_v7())
    }

    #[test]
    fn many_at_once_lose_nothing_and_agree() {
        let temp = tempfile::tempdir().expect("a directory");
        let checkouts = Checkouts::new(temp.path().join("checkouts.json"));
        std::thread::scope(|scope| {
            for at in 0..16 {
                let checkouts = &checkouts;
                scope.spawn(move || {
                    let dir = PathBuf::from(format!("/repo-{}", at % 8));
                    checkouts
                        .find_or_add(&dir, &dir.join(".git"), None, fresh)
                        .expect("added");
                });
            }
        });
        assert_eq!(checkouts.list().expect("readable").len(), 8);
    }

    #[test]
    fn another_working_tree_of_the_repository_is_the_same_codebase() {
        let temp = tempfile::tempdir().expect("a directory");
        let checkouts = Checkouts::new(temp.path().join("checkouts.json"));
        let (tree, common) = (temp.path().join("tree"), temp.path().join("main/.git"));
        std::fs::create_dir(&tree).expect("made");
        let first = checkouts.find_or_add(&tree, &common, None, fresh).expect("added");
        assert_eq!(first.from, NotedFrom::New);
        let first = first.checkout;
        let second = checkouts
            .find_or_add(&temp.path().join("main"), &common, None, fresh)
            .expect("found");
        assert_eq!((&first, NotedFrom::List), (&second.checkout, second.from));
        std::fs::remove_dir(&tree).expect("removed");
        let third = checkouts
            .find_or_add(&temp.path().join("main"), &common, None, fresh)
            .expect("found")
            .checkout;
        assert_eq!(third.codebase, first.codebase);
        assert_eq!(third.path, temp.path().join("main"));
    }

    #[test]
    fn what_is_noted_of_a_codebase_is_changed_and_forgotten() {
        let temp = tempfile::tempdir().expect("a directory");
        let checkouts = Checkouts::new(temp.path().join("checkouts.json"));
        let add = |name: &str| {
            let path = temp.path().join(name);
            let noted = checkouts.find_or_add(&path, &path, None, fresh).expect("added");
            noted.checkout
        };
        let (one, two) = (add("one"), add("two"));
        let set = |known: &mut Checkout| known.bring = vec![".env".to_owned()];
        let changed = checkouts.change(two.codebase, set).expect("written");
        assert_eq!(changed, checkouts.find(two.codebase).expect("readable"));
        assert_eq!(changed.expect("there").bring, [".env"]);
        assert_eq!(
            checkouts.remove(one.codebase).expect("written"),
            Some(one.clone())
        );
        assert_eq!(checkouts.remove(one.codebase).expect("readable"), None);
        assert_eq!(checkouts.change(one.codebase, |_| {}).expect("readable"), None);
        assert_eq!(checkouts.list().expect("readable").len(), 1);
    }

    #[test]
    fn what_landing_means_is_kept_and_what_is_not_noted_is_usual() {
        let temp = tempfile::tempdir().expect("a directory");
        let checkouts = Checkouts::new(temp.path().join("checkouts.json"));
        let one = checkouts
            .find_or_add(temp.path(), temp.path(), None, fresh)
            .expect("added")
            .checkout;
        let policy = |of: &Checkouts| cs_daemon::Checkouts::landing(of, one.codebase).expect("readable");
        assert_eq!(policy(&checkouts), LandingPolicy::default());
        let set = |known: &mut Checkout| {
            known.landing.verify = Some("make check".to_owned());
            known.landing.verify_limit_s = Some(60);
            known.landing.target = Some(LandingTarget::PullRequest);
        };
        checkouts.change(one.codebase, set).expect("written");
        let expected = LandingPolicy {
            verify: Some("make check".to_owned()),
            verify_limit: Duration::from_secs(60),
            target: Some(LandingTarget::PullRequest),
            ..LandingPolicy::default()
        };
        assert_eq!(policy(&checkouts), expected);
    }

    #[test]
    fn what_landing_means_is_never_guessed_where_it_cannot_be_read() {
        let temp = tempfile::tempdir().expect("a directory");
        let checkouts = Checkouts::new(temp.path().join("checkouts.json"));
        let one = checkouts
            .find_or_add(temp.path(), temp.path(), None, fresh)
            .expect("added")
            .checkout;
        std::fs::write(temp.path().join("checkouts.json"), "{").expect("written");
        let unread = cs_daemon::Checkouts::landing(&checkouts, one.codebase).expect_err("not known");
        assert_eq!(unread.class(), cs_worktree::ErrorClass::Transient, "{unread}");
        std::fs::remove_file(temp.path().join("checkouts.json")).expect("removed");
        let gone = cs_daemon::Checkouts::landing(&checkouts, one.codebase).expect("readable");
        assert_eq!(
            gone.target,
            Some(LandingTarget::Local),
            "nothing is pushed of what is not there"
        );
    }

    #[test]
    fn what_was_set_of_a_codebase_is_set_again_when_it_comes_back() {
        let temp = tempfile::tempdir().expect("a directory");
        let file = temp.path().join("checkouts.json");
        let checkouts = Checkouts::new(file.clone());
        let add = |codebase| {
            checkouts
                .find_or_add(temp.path(), &temp.path().join(".git"), codebase, fresh)
                .expect("added")
        };
        let one = add(None).checkout.codebase;
        let set = |known: &mut Checkout| known.landing.verify = Some("make check".to_owned());
        let changed = checkouts.change(one, set).expect("written").expect("there");
        checkouts.remove(one).expect("written");
        let were = |at: &str| checkouts.were(&temp.path().join(at)).expect("readable");
        assert_eq!((were(".git"), were("other")), (vec![changed.clone()], Vec::new()));
        let again = add(Some(one));
        assert_eq!((&again.checkout, again.from), (&changed, NotedFrom::Before));
        // The whole list is lost.
        std::fs::remove_file(&file).expect("removed");
        assert_eq!(add(Some(one)), again);
        // It is somewhere else now.
        std::fs::remove_file(&file).expect("removed");
        let moved = checkouts.find_or_add(temp.path(), &temp.path().join("other/.git"), Some(one), fresh);
        let moved = moved.expect("added");
        assert_eq!(moved.from, NotedFrom::Before);
        assert_eq!(moved.checkout.landing, changed.landing);
        assert_eq!(moved.checkout.common_dir, temp.path().join("other/.git"));
        // What cannot be read is not guessed.
        std::fs::remove_file(&file).expect("removed");
        let kept = temp.path().join(format!("checkouts.kept/{one}.json"));
        std::fs::write(&kept, "{").expect("written");
        let unread = checkouts.find_or_add(temp.path(), temp.path(), Some(one), fresh);
        assert!(unread.is_err() && !file.exists());
    }

    #[test]
    fn a_file_that_is_not_ours_is_left_alone() {
        let temp = tempfile::tempdir().expect("a directory");
        let file = temp.path().join("checkouts.json");
        std::fs::write(&file, "[]").expect("written");
        let checkouts = Checkouts::new(file.clone());
        let added = checkouts.find_or_add(temp.path(), temp.path(), None, fresh);
        assert!(added.is_err());
        assert_eq!(std::fs::read(&file).expect("there"), b"[]");
    }
}
