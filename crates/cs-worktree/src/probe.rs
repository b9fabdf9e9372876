//! Finding git and what it must know of the user, once at start.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::ByteSlice;

use crate::disk;
use crate::error::{GitError, WorktreeError};
use crate::parse;
use crate::runner::{Call, Git, GitSetup, Identity, Inner, World};

/// The oldest git that works: the first with `merge-tree --write-tree`.
pub const GIT_NEEDED: &str = "2.38";

/// User settings that change what file content means; they are taken over into our own configuration.
const CONTENT_SETTINGS: &str = r"^core\.(autocrlf|eol|precomposeunicode|longpaths)$";

impl Git {
    /// Finds `git` in the given PATH, checks its version and reads the user's content settings.
    ///
    /// # Errors
    /// [`GitError::NotInstalled`], [`GitError::TooOld`], or the state directory cannot be written.
    pub async fn probe(setup: GitSetup) -> Result<Self, WorktreeError> {
        let program = find_program(&setup.path).ok_or(GitError::NotInstalled { needed: GIT_NEEDED })?;
        let state_dir = disk::real(&setup.state_dir);
        let dir = state_dir.join("git");
        let home = dir.join("home");
        let config = dir.join("config");
        fs::create_dir_all(&home).map_err(WorktreeError::io("make", &home))?;
        fs::write(&config, b"").map_err(WorktreeError::io("write", &config))?;
        let setup = GitSetup {
            state_dir,
            identity: setup.identity.or_fallback(),
            ..setup
        };
        let inner = Inner {
            setup,
            program,
            version: (0, 0),
            home,
            config,
            content_settings: Vec::new(),
        };
        let mut git = Self {
            inner: Arc::new(inner),
        };
        let version = git.version_of_program().await?;
        let content_settings = git.user_content_settings(&dir).await?;
        if let Some(inner) = Arc::get_mut(&mut git.inner) {
            inner.version = version;
            inner.content_settings = content_settings;
        }
        Ok(git)
    }

    /// The version of the git program, major and minor.
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        self.inner.version
    }

    /// The user's own file of what is ignored everywhere, as our world takes it.
    pub(crate) fn excludes(&self) -> PathBuf {
        self.inner.setup.state_dir.join("git/excludes")
    }

    /// Whether git can be told to take attributes from a commit; older ones cannot.
    pub(crate) async fn can_take_attributes(&self) -> Result<bool, GitError> {
        let ask = Call::new(World::Ours, "version").attributes_of("HEAD");
        Ok(self.run(ask.arg("version")).await?.code == 0)
    }

    /// Who our own commits are by.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.inner.setup.identity
    }

    async fn version_of_program(&self) -> Result<(u32, u32), GitError> {
        let out = self.ok(Call::new(World::Ours, "version").arg("version")).await?;
        let text = out.to_str_lossy().trim().to_owned();
        let version = parse::version(&text).ok_or(GitError::Unreadable {
            op: "version",
            what: "a version was expected",
        })?;
        if version < (2, 38) {
            return Err(GitError::TooOld {
                found: text.replace("git version ", ""),
                needed: GIT_NEEDED,
            });
        }
        Ok(version)
    }

    async fn user_content_settings(&self, dir: &Path) -> Result<Vec<OsString>, WorktreeError> {
        let list =
            Call::new(World::User, "config").args(["config", "--null", "--get-regexp", CONTENT_SETTINGS]);
        let mut settings = parse::config_settings(&self.run(list).await?.stdout);
        let ask =
            Call::new(World::User, "config").args(["config", "--null", "--type=path", "core.excludesFile"]);
        let answer = self.run(ask).await?;
        let named = parse::z_fields(&answer.stdout).next().map(parse::to_path);
        let setup = &self.inner.setup;
        let config_home = setup
            .xdg_config_home
            .clone()
            .unwrap_or_else(|| setup.home.join(".config"));
        let source = named.unwrap_or_else(|| config_home.join("git/ignore"));
        // An ignore file that cannot be read ignores nothing, as with git itself.
        let content = fs::read(source).unwrap_or_default();
        let excludes = dir.join("excludes");
        fs::write(&excludes, content).map_err(WorktreeError::io("write", &excludes))?;
        let mut setting = OsString::from("core.excludesFile=");
        setting.push(&excludes);
        settings.push(setting);
        Ok(settings)
    }
}

impl Identity {
    fn or_fallback(self) -> Self {
        let fallback = Self::default();
        let or = |value: String, other: String| if value.trim().is_empty() { other } else { value };
        Self {
            name: or(self.name, fallback.name),
            email: or(self.email, fallback.email),
        }
    }
}

fn find_program(path: &OsStr) -> Option<PathBuf> {
    let executable =
        |file: &Path| fs::metadata(file).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    let dirs = std::env::split_paths(path).filter(|dir| dir.is_absolute());
    dirs.map(|dir| dir.join("git")).find(|file| executable(file))
}
