//! A look at an agent program without giving it work: whether it is there, which version it is, whether it is signed in.
//!
//! It is asked as it would be started, with nothing to read and not for long. It may hang, flood or say anything: then nothing is
//! known of it, which stands in nobody's way, and nothing of it stays.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::iter;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cs_harness::{
    AgentConfig, HarnessKind, Hindrance, SignIn, SignInMeans, is_too_old, sign_in_means, sign_in_told,
    version_in, version_question,
};
use cs_supervise::command::{CommandError, CommandSpec, Exit, Finished, run_swept};
use cs_worktree::plain;

/// How long an answer is waited for, where nothing else is said.
pub const PROBE_LIMIT: Duration = Duration::from_secs(3);
/// More than this is no answer.
const ANSWER_MAX_BYTES: usize = 64 * 1024;
/// The most that is read of a configuration.
const CONFIG_MAX_BYTES: u64 = 1024 * 1024;

/// What a look at an agent program found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probed {
    /// Its version, where it told one.
    pub version: Option<String>,
    /// Whether it is signed in.
    pub sign_in: SignIn,
    /// What keeps it from any work.
    pub hindrance: Option<Hindrance>,
}

impl Default for Probed {
    /// Nothing is known.
    fn default() -> Self {
        Self {
            version: None,
            sign_in: SignIn::CannotBeTold,
            hindrance: None,
        }
    }
}

impl From<Hindrance> for Probed {
    fn from(hindrance: Hindrance) -> Self {
        Self {
            hindrance: Some(hindrance),
            ..Self::default()
        }
    }
}

/// The program of an agent, and what it finds when it is started.
struct Program<'a> {
    agent: &'a AgentConfig,
    env: &'a [(OsString, OsString)],
    mark: &'a str,
    limit: Duration,
}

/// Looks at the program of an agent, and waits so long for each answer. `mark` is a word that no other look has had.
pub(crate) async fn probe(
    agent: &AgentConfig,
    env: &[(OsString, OsString)],
    (mark, limit): (&str, Duration),
) -> Probed {
    Program {
        agent,
        env,
        mark,
        limit,
    }
    .look()
    .await
}

impl Program<'_> {
    async fn look(&self) -> Probed {
        let kind = self.agent.kind();
        if kind.is_command() {
            return Probed::default();
        }
        if let Some(hindrance) = self.missing() {
            return hindrance.into();
        }
        let Some(question) = version_question(kind) else {
            return Probed::default();
        };
        let told = match self.ask(&[question]).await {
            Ok(told) => told,
            Err(CommandError::NotFound { .. }) => return self.not_installed().into(),
            Err(CommandError::NotExecutable { .. }) => return self.not_executable().into(),
            Err(error) => {
                tracing::warn!(
                    agent = self.agent.name(),
                    error = &error as &dyn std::error::Error,
                    "an agent could not be asked"
                );
                return Probed::default();
            }
        };
        let version = match told.exit {
            Exit::Code(0) => version_in(&String::from_utf8_lossy(&told.stdout)),
            // What shells and `env` say of a program, or an interpreter, that is not there.
            Exit::Code(126 | 127) => return self.not_executable().into(),
            Exit::Code(_) | Exit::Signalled(_) | Exit::TimedOut | Exit::OutputOverCap => None,
        };
        if let Some(version) = version.as_ref().filter(|version| is_too_old(kind, version)) {
            let hindrance = Hindrance::TooOld {
                version: version.clone(),
            };
            return Probed {
                version: Some(version.clone()),
                ..Probed::from(hindrance)
            };
        }
        let sign_in = match sign_in_means(kind, version.as_deref()) {
            Some(means) => self.sign_in(kind, &means).await,
            None => SignIn::CannotBeTold,
        };
        Probed {
            version,
            sign_in,
            hindrance: (sign_in == SignIn::NotSignedIn).then_some(Hindrance::NotSignedIn),
        }
    }

    async fn sign_in(&self, kind: HarnessKind, means: &SignInMeans) -> SignIn {
        let has_key = |name: &&str| self.variable(name).is_some_and(|value| !value.is_empty());
        if means.keys.iter().any(has_key) {
            return SignIn::SignedIn;
        }
        let home = self.home_of(means);
        let has_file = |home: &PathBuf| home.join(means.file).is_file();
        if home.as_ref().is_some_and(has_file) {
            return SignIn::SignedIn;
        }
        if self.may_use_another(means, home.as_deref()) {
            return SignIn::CannotBeTold;
        }
        let Some(question) = means.ask else {
            return SignIn::CannotBeTold;
        };
        match self.ask(question).await {
            Ok(Finished {
                exit: Exit::Code(code),
                stdout,
                ..
            }) => sign_in_told(kind, code, &String::from_utf8_lossy(&stdout)),
            Ok(_) | Err(_) => SignIn::CannotBeTold,
        }
    }

    /// Whether it may use a provider that wants no sign-in.
    fn may_use_another(&self, means: &SignInMeans, home: Option<&Path>) -> bool {
        let Some((file, words)) = means.other else {
            return false;
        };
        let mut text = Vec::new();
        if let Some(file) = home.and_then(|home| plain::open(&home.join(file)).ok()) {
            // What cannot be read of it says nothing.
            let _ = file.take(CONFIG_MAX_BYTES).read_to_end(&mut text);
        }
        let text = String::from_utf8_lossy(&text);
        let mut said = iter::once(text.as_ref()).chain(self.agent.argv().iter().map(String::as_str));
        said.any(|it| words.iter().any(|word| it.contains(word)))
    }

    /// Where it keeps what belongs to its sign-in.
    fn home_of(&self, means: &SignInMeans) -> Option<PathBuf> {
        let told = means.home_variable.and_then(|name| self.variable(name));
        match told {
            Some(told) => Some(told.into()),
            None => Some(Path::new(self.variable("HOME")?).join(means.dir)),
        }
    }

    async fn ask(&self, question: &[&str]) -> Result<Finished, CommandError> {
        let (program, arguments) = self.argv();
        let home = self.variable("HOME").map(PathBuf::from);
        let spec = CommandSpec {
            program: program.into(),
            args: arguments
                .iter()
                .map(OsString::from)
                .chain(question.iter().map(OsString::from))
                .collect(),
            env: self.env.to_vec(),
            cwd: home.filter(|home| home.is_dir()).unwrap_or_else(|| "/".into()),
            stdin: Vec::new(),
            timeout: self.limit,
            stdout_cap_bytes: ANSWER_MAX_BYTES,
            stderr_cap_bytes: 0,
        };
        run_swept(&spec, self.mark).await
    }

    /// Looks for the program without starting it. One that is looked for in the tree is not looked at: there is none yet.
    fn missing(&self) -> Option<Hindrance> {
        let (program, _) = self.argv();
        let path = Path::new(program);
        let candidates: Vec<PathBuf> = if path.is_absolute() {
            vec![path.to_owned()]
        } else if path.components().count() > 1 {
            return None;
        } else {
            let all = self.variable("PATH").unwrap_or_default();
            std::env::split_paths(all).map(|dir| dir.join(path)).collect()
        };
        let seen = candidates.iter().filter_map(|path| fs::metadata(path).ok());
        let seen: Vec<fs::Metadata> = seen.collect();
        if seen.is_empty() {
            return Some(self.not_installed());
        }
        let fits = |seen: &fs::Metadata| seen.is_file() && seen.permissions().mode() & 0o111 != 0;
        (!seen.iter().any(fits)).then(|| self.not_executable())
    }

    fn argv(&self) -> (&str, &[String]) {
        let argv = self.agent.argv();
        argv.split_first()
            .map_or(("", &[]), |(program, arguments)| (program, arguments))
    }

    fn not_installed(&self) -> Hindrance {
        Hindrance::NotInstalled { program: self.name() }
    }

    fn not_executable(&self) -> Hindrance {
        Hindrance::NotExecutable { program: self.name() }
    }

    /// The name of the program, which says nothing of the places of this machine.
    fn name(&self) -> String {
        let (program, _) = self.argv();
        let name = Path::new(program).file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.env.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing here takes so long, on any machine.
    const PATIENCE: Duration = Duration::from_secs(120);
    const CODEX: &str = "case $* in *--version) echo codex-cli 0.171.0 ;; *login*) exit 1 ;; esac";

    /// A home, and a Codex that says that it is not signed in.
    struct Home(tempfile::TempDir);

    impl Home {
        fn file(&self, name: &str, text: &str) {
            fs::create_dir_all(self.0.path().join(".codex")).expect("made");
            fs::write(self.0.path().join(".codex").join(name), text).expect("written");
        }

        async fn probed(&self, key: &str) -> Probed {
            self.probed_with(key, &[]).await
        }

        async fn probed_with(&self, key: &str, arguments: &[&str]) -> Probed {
            let argv = [&["sh", "-c", CODEX, "codex"], arguments].concat();
            let argv = argv.into_iter().map(str::to_owned).collect();
            let agent = AgentConfig::new("codex", argv, HarnessKind::Codex).expect("it is right");
            let env = [
                ("PATH".into(), "/usr/bin:/bin".into()),
                ("HOME".into(), self.0.path().into()),
                ("CODEX_API_KEY".into(), key.into()),
            ];
            let mark = self.0.path().display().to_string();
            probe(&agent, &env, (&mark, PATIENCE)).await
        }
    }

    #[tokio::test]
    async fn a_sign_in_is_where_the_program_keeps_it_or_a_key_or_what_it_says() {
        let home = Home(tempfile::tempdir().expect("a directory"));
        let none = home.probed("").await;
        assert_eq!(none.version.as_deref(), Some("0.171.0"));
        assert_eq!(none.hindrance, Some(Hindrance::NotSignedIn));
        assert_eq!(home.probed("a key").await.sign_in, SignIn::SignedIn);
        let local = home.probed_with("", &["--oss"]).await;
        assert_eq!(
            (local.sign_in, local.hindrance),
            (SignIn::CannotBeTold, None),
            "a model of this machine needs none"
        );
        home.file("config.toml", "model_provider = \"mine\"\n");
        let own = home.probed("").await;
        assert_eq!(
            (own.sign_in, own.hindrance),
            (SignIn::CannotBeTold, None),
            "it may need none"
        );
        home.file("auth.json", "{}");
        assert_eq!(home.probed("").await.sign_in, SignIn::SignedIn);
    }

    #[tokio::test]
    async fn a_program_that_is_looked_for_in_the_tree_and_a_command_of_a_person_are_not_looked_at() {
        for (program, kind) in [
            ("./agent", HarnessKind::Acp),
            ("nowhere-at-all", HarnessKind::Plain),
            ("nowhere-at-all", HarnessKind::JsonLines),
        ] {
            let agent = AgentConfig::new("a", vec![program.to_owned()], kind).expect("it is right");
            let env = [("PATH".into(), "/usr/bin:/bin".into())];
            assert_eq!(
                probe(&agent, &env, ("none", PATIENCE)).await,
                Probed::default(),
                "{program}"
            );
        }
        let agent = AgentConfig::new("a", vec!["nowhere-at-all".to_owned()], HarnessKind::Acp);
        let probed = probe(
            &agent.expect("it is right"),
            &[("PATH".into(), "/bin".into())],
            ("none", PATIENCE),
        )
        .await;
        let program = "nowhere-at-all".to_owned();
        assert_eq!(probed.hindrance, Some(Hindrance::NotInstalled { program }));
    }
}
