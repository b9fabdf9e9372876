//! Where a card begins when the user's branch and the remote's differ, and what a remote calls its default branch.

use std::fs;
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
