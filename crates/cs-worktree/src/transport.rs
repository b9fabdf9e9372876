//! How the person's own remotes are reached: as their git would reach them, but for anything that asks somebody.
//!
//! Only a call that goes to a remote of the user's repository gets this. It reads the user's configuration, never that of a tree.

use std::ffi::{OsStr, OsString};

use crate::error::GitError;
use crate::parse;
use crate::repository::Repository;
use crate::runner::Git;

/// What of an environment decides how a remote is reached. None of it makes git ask anybody, or run a program that the person
/// has not named; git's own command for ssh is apart, since it must not ask either.
const PASSED_ON: [&str; 18] = [
    "SSH_AUTH_SOCK",
    "GIT_SSH",
    "GIT_SSH_VARIANT",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "GIT_HTTP_PROXY_AUTHMETHOD",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_KEY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "KRB5CCNAME",
];
const SSH_COMMAND: &str = "GIT_SSH_COMMAND";
/// Makes ssh fail where it would ask, and where nobody answers.
const SSH_OPTIONS: &str = "-oBatchMode=yes -oConnectTimeout=15";

/// What of the person's environment counts when one of their remotes is asked: the agent of ssh, its command, proxies and
/// certificates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transport {
    passed_on: Vec<(OsString, OsString)>,
    ssh_command: Option<OsString>,
}

impl Transport {
    /// Picks it out of the variables of an environment. One that is empty counts as not set.
    #[must_use]
    pub fn from_environment<'a>(variables: impl IntoIterator<Item = (&'a OsString, &'a OsString)>) -> Self {
        let mut transport = Self::default();
        for (name, value) in variables {
            if value.is_empty() {
                continue;
            }
            if name == SSH_COMMAND {
                transport.ssh_command = Some(value.clone());
            } else if PASSED_ON.iter().any(|passed| name == *passed) {
                transport.passed_on.push((name.clone(), value.clone()));
            }
        }
        transport
    }

    fn names_program(&self) -> bool {
        self.passed_on.iter().any(|(name, _)| name == "GIT_SSH")
    }
}

/// The variables of one call that goes to a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) variables: Vec<(OsString, OsString)>,
}

/// The value of `GIT_SSH_COMMAND` for a call that goes to no remote by ssh.
pub(crate) fn own_ssh_command() -> OsString {
    OsString::from(format!("ssh {SSH_OPTIONS}"))
}

/// With which command ssh is to be run, in the order in which git looks: the environment's, the configured one, the program of the
/// environment, which is `None` here, and `ssh`. OpenSSH is told to ask nobody; what another command does is its own.
fn ssh_command(transport: &Transport, configured: Option<&OsStr>) -> Option<OsString> {
    let theirs = transport.ssh_command.as_deref().or(configured);
    match theirs {
        Some(command) if is_openssh(command) => {
            let mut command = command.to_owned();
            command.push(" ");
            command.push(SSH_OPTIONS);
            Some(command)
        }
        Some(command) => Some(command.to_owned()),
        None if transport.names_program() => None,
        None => Some(own_ssh_command()),
    }
}

/// Whether the command, a line for the shell, plainly begins with a program of that name.
fn is_openssh(command: &OsStr) -> bool {
    let text = command.to_string_lossy();
    let program = text.split_whitespace().next().unwrap_or_default();
    program.rsplit('/').next() == Some("ssh")
}

impl Repository {
    /// How this repository's remotes are reached.
    pub(crate) async fn reach(&self, git: &Git) -> Result<Reach, GitError> {
        let ask = self.call("config").reads_only();
        let answer = git.run(ask.args(["config", "-z", "core.sshCommand"])).await?;
        let configured = parse::z_fields(&answer.stdout).next().map(parse::to_path);
        let transport = &git.inner.setup.transport;
        let mut variables = transport.passed_on.clone();
        let command = ssh_command(transport, configured.as_deref().map(std::path::Path::as_os_str));
        variables.extend(command.map(|command| (SSH_COMMAND.into(), command)));
        // A credential manager with windows of its own asks in those.
        variables.push(("GCM_INTERACTIVE".into(), "never".into()));
        Ok(Reach { variables })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Transport {
        let owned: Vec<(OsString, OsString)> = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Transport::from_environment(owned.iter().map(|(name, value)| (name, value)))
    }

    #[test]
    fn only_what_decides_how_a_remote_is_reached_is_picked() {
        let all = [
            ("SSH_AUTH_SOCK", "/agent"),
            ("https_proxy", "http://proxy"),
            ("no_proxy", ""),
            ("GIT_DIR", "/elsewhere"),
            ("GIT_ASKPASS", "/window"),
            ("GIT_CONFIG_COUNT", "1"),
        ];
        let expected = of(&[("SSH_AUTH_SOCK", "/agent"), ("https_proxy", "http://proxy")]);
        assert_eq!(of(&all), expected);
        assert_eq!(expected.passed_on.len(), 2);
    }

    #[test]
    fn the_table_of_commands_for_ssh() {
        let ours = "ssh -oBatchMode=yes -oConnectTimeout=15";
        let program = ("GIT_SSH", "/opt/plink");
        let command = ("GIT_SSH_COMMAND", "/opt/wrapper --fast");
        type Case<'a> = (&'a [(&'a str, &'a str)], Option<&'a str>, Option<&'a str>);
        let cases: [Case<'_>; 7] = [
            (&[], None, Some(ours)),
            (&[program], None, None),
            (&[program], Some("plink -batch"), Some("plink -batch")),
            (&[], Some("assh -i key"), Some("assh -i key")),
            (
                &[command, program],
                Some("ssh -i key"),
                Some("/opt/wrapper --fast"),
            ),
            (
                &[],
                Some("/usr/bin/ssh -i key"),
                Some("/usr/bin/ssh -i key -oBatchMode=yes -oConnectTimeout=15"),
            ),
            (&[("GIT_SSH_COMMAND", "ssh")], Some("plink"), Some(ours)),
        ];
        for (variables, configured, expected) in cases {
            let found = ssh_command(&of(variables), configured.map(OsStr::new));
            assert_eq!(
                found.as_deref(),
                expected.map(OsStr::new),
                "{variables:?} {configured:?}"
            );
        }
    }
}
