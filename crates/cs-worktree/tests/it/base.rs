//! Where a card begins when the user's branch and the remote's differ, and what a remote calls its default branch.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use cs_worktree::*;

use crate::bench::*;

/// A user whose `main` came from a remote that has gone on by `behind` commits, and who has `ahead` commits of their own.
async fn user_of_remote(ahead: usize, behind: usize) -> Bench {
    let bench = Bench::new().await;
    git(&bench.user, &["clone", "-q", "--bare", ".", "../remote.git"]).await;
    git(&bench.user, &["remote", "add", "origin", "../remote.git"]).await;
    for n in 0..behind {
        let message = format!("pushed by another {n}");
        let make = ["commit-tree", "-p", "main", "-m", &message, "main^{tree}"];
        let remote = bench.user.with_file_name("remote.git");
        let commit = git(&remote, &make).await;
        git(&remote, &["update-ref", "refs/heads/main", &commit]).await;
    }
    for n in 0..ahead {
        git(
            &bench.user,
            &["commit", "-q", "--allow-empty", "-m", &format!("mine {n}")],
        )
        .await;
    }
    git(&bench.user, &["fetch", "-q", "origin"]).await;
    bench
}

/// What a new card begins at: the local or the remote's branch, and what is said about them.
async fn check(ahead: usize, behind: usize, from: BaseFrom, begins_at: &str, standing: Standing) {
    let bench = user_of_remote(ahead, behind).await;
    let expected = git(&bench.user, &["rev-parse", begins_at]).await;
    let spec = bench.spec("c1");
    let prepared = bench
        .worktrees
        .prepare_tree_from(&bench.repository, &spec, from)
        .await
        .unwrap();
    assert_eq!(prepared.head.as_str(), expected, "{standing:?}");
    assert_eq!(prepared.tree.base_commit.as_str(), expected);
    assert_eq!((prepared.base.standing, prepared.base.behind), (standing, 0));
    let upstream = prepared.base.upstream.unwrap();
    assert_eq!((upstream.ahead, upstream.behind), (ahead, behind));
    assert_eq!(upstream.name, "origin/main");
    let seen = Repository::inspect(bench.worktrees.git(), &bench.user)
        .await
        .unwrap();
    assert_eq!(seen.upstream, Some(upstream));
    // The same card keeps its base, whatever is said later.
    let again = bench.prepare("c1").await;
    assert_eq!(again.base_commit.as_str(), expected);
}

#[tokio::test]
async fn a_card_begins_at_the_branch_that_contains_the_other_or_at_the_one_that_the_person_names() {
    use BaseFrom::{Local, Newest, Remote};
    check(0, 0, Newest, "main", Standing::Same).await;
    check(2, 0, Newest, "main", Standing::Unpushed).await;
    check(0, 2, Newest, "origin/main", Standing::Behind).await;
    check(0, 2, Local, "main", Standing::Behind).await;
    check(1, 2, Newest, "main", Standing::Diverged).await;
    check(1, 2, Remote, "origin/main", Standing::Diverged).await;
}

#[tokio::test]
async fn a_card_from_the_remote_lands_on_the_local_branch_with_the_remotes_commits() {
    let bench = user_of_remote(0, 1).await;
    let (tree, tip) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    let ready = bench.ready(&tree, &tip, "l1").await;
    assert_eq!(
        bench.worktrees.execute_move(&ready).await.unwrap(),
        MoveOutcome::Moved
    );
    git(
        &bench.user,
        &["merge-base", "--is-ancestor", "origin/main", "main"],
    )
    .await;
    assert_eq!(
        fs::read_to_string(bench.user.join("src/a.txt")).unwrap(),
        "agent\n"
    );
}

#[tokio::test]
async fn a_remote_is_asked_for_its_default_branch_of_this_moment() {
    let bench = user_of_remote(0, 0).await;
    let ask = |remote: &'static str| {
        let (repository, git) = (bench.repository.clone(), bench.worktrees.git().clone());
        async move {
            let limit = Duration::from_secs(30);
            repository.default_branch(&git, remote, limit).await.unwrap()
        }
    };
    let named = |name: &str| BranchName::new(name).unwrap();
    assert_eq!(ask("origin").await, DefaultBranch::Live(named("main")));
    let remote = bench.user.with_file_name("remote.git");
    git(&remote, &["branch", "-m", "main", "trunk"]).await;
    assert_eq!(ask("origin").await, DefaultBranch::Live(named("trunk")));
    git(
        &bench.user,
        &[
            "symbolic-ref",
            "refs/remotes/origin/HEAD",
            "refs/remotes/origin/main",
        ],
    )
    .await;
    fs::rename(&remote, bench.dir.path().join("moved.git")).unwrap();
    let DefaultBranch::Remembered(branch, trouble) = ask("origin").await else {
        panic!("it cannot have answered");
    };
    assert_eq!(branch, named("main"));
    assert!(matches!(trouble, RemoteTrouble::Refused { .. }), "{trouble:?}");
    let none = ask("elsewhere").await;
    assert!(
        matches!(none, DefaultBranch::Unknown(RemoteTrouble::NoRemote { .. })),
        "{none:?}"
    );
    let dashed = ask("--upload-pack=touch x").await;
    assert!(
        matches!(dashed, DefaultBranch::Unknown(RemoteTrouble::NoRemote { .. })),
        "{dashed:?}"
    );
}

/// A server that accepts and says this, and its address.
async fn server(answer: &'static [u8]) -> (tokio::task::JoinSet<()>, u16) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 1024];
            if stream.read(&mut asked).await.is_ok() && !answer.is_empty() {
                drop(stream.write_all(answer).await);
            } else {
                open.push(stream);
            }
        }
    });
    (tasks, port)
}

async fn ask_server(answer: &'static [u8], limit: Duration) -> RemoteTrouble {
    let bench = Bench::new().await;
    let (mut tasks, port) = server(answer).await;
    let url = format!("http://127.0.0.1:{port}/x.git");
    git(&bench.user, &["remote", "add", "origin", &url]).await;
    let asked = bench
        .repository
        .default_branch(bench.worktrees.git(), "origin", limit)
        .await
        .unwrap();
    tasks.abort_all();
    match asked {
        DefaultBranch::Unknown(trouble) => trouble,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_remote_that_wants_a_password_is_said_and_nobody_is_asked() {
    let answer = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let trouble = ask_server(answer, Duration::from_secs(30)).await;
    assert!(matches!(trouble, RemoteTrouble::Refused { .. }), "{trouble:?}");
    let text = trouble.to_string();
    assert!(
        text.contains("origin") && text.contains("git fetch origin"),
        "{text}"
    );
}

#[tokio::test]
async fn a_remote_that_never_answers_is_given_up_in_time() {
    let trouble = ask_server(b"", Duration::from_secs(1)).await;
    assert!(matches!(trouble, RemoteTrouble::NoAnswer { .. }), "{trouble:?}");
    assert!(trouble.to_string().contains("origin did not answer within 1 s"));
}

/// A stand-in for ssh: it notes what it was called with, and does here what the other side would do.
fn stand_in(dir: &Path, name: &str) -> String {
    let place = dir.join(name);
    let script = "#!/bin/sh\n{ echo \"$0 $*\"; echo \"agent $SSH_AUTH_SOCK proxy $https_proxy dir $GIT_DIR\"; } >> \"$0.called\"\n\
        unset GIT_DIR\nfor last; do :; done\neval \"$last\"\n";
    fs::write(&place, script).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    place.to_str().unwrap().to_owned()
}

/// Asks a remote that is reached by ssh, and gives what the stand-in noted.
async fn ask_by_ssh(configured: Option<&str>, in_environment: &[(&str, &str)]) -> String {
    let bench = user_of_remote(0, 0).await;
    let dir = bench.dir.path().canonicalize().unwrap();
    let bin = dir.join("bin");
    fs::create_dir(&bin).unwrap();
    let ssh = stand_in(&bin, "ssh");
    let wrapper = stand_in(&bin, "wrapper");
    let fill = |text: &str| text.replace("SSH", &ssh).replace("WRAPPER", &wrapper);
    let url = format!("ssh://host.invalid{}", dir.join("remote.git").display());
    git(&bench.user, &["remote", "set-url", "origin", &url]).await;
    if let Some(configured) = configured {
        git(&bench.user, &["config", "core.sshCommand", &fill(configured)]).await;
    }
    let owned: Vec<(OsString, OsString)> = in_environment
        .iter()
        .map(|(name, value)| (name.into(), fill(value).into()))
        .collect();
    let mut path = bin.clone().into_os_string();
    path.push(":");
    path.push(search_path());
    let setup = GitSetup {
        transport: Transport::from_environment(owned.iter().map(|(name, value)| (name, value))),
        ..GitSetup::new(path, dir.join("home"), dir.join("state"))
    };
    let git = Git::probe(setup).await.unwrap();
    let asked = bench
        .repository
        .default_branch(&git, "origin", Duration::from_secs(60))
        .await
        .unwrap();
    assert_eq!(asked, DefaultBranch::Live(BranchName::new("main").unwrap()));
    let noted = |program: &str| fs::read_to_string(format!("{program}.called")).unwrap_or_default();
    noted(&ssh) + &noted(&wrapper)
}

#[tokio::test]
async fn a_remote_is_reached_by_ssh_as_the_persons_own_git_would_and_asks_nobody() {
    let ours = ask_by_ssh(
        None,
        &[("SSH_AUTH_SOCK", "/run/agent"), ("https_proxy", "http://proxy")],
    )
    .await;
    assert!(
        ours.contains("bin/ssh -oBatchMode=yes -oConnectTimeout=15"),
        "{ours}"
    );
    assert!(ours.contains("agent /run/agent proxy http://proxy dir"), "{ours}");
    let configured = ask_by_ssh(Some("SSH -i key"), &[]).await;
    assert!(
        configured.contains("bin/ssh -i key -oBatchMode=yes"),
        "{configured}"
    );
    let wrapped = ask_by_ssh(Some("SSH -i key"), &[("GIT_SSH_COMMAND", "WRAPPER --fast")]).await;
    assert!(wrapped.contains("bin/wrapper --fast"), "{wrapped}");
    assert!(
        !wrapped.contains("BatchMode") && !wrapped.contains("bin/ssh"),
        "{wrapped}"
    );
    let program = ask_by_ssh(None, &[("GIT_SSH", "WRAPPER")]).await;
    assert!(program.contains("bin/wrapper"), "{program}");
}

/// What a hook that starts cs-panel has in its environment leads nowhere.
#[tokio::test]
async fn no_repository_of_the_environment_is_passed_on_to_a_remote() {
    let noted = ask_by_ssh(None, &[("GIT_DIR", "/elsewhere"), ("GIT_ASKPASS", "/window")]).await;
    assert!(!noted.contains("/elsewhere"), "{noted}");
}
