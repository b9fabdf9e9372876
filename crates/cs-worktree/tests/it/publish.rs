//! Publishing by the person's transport, fast-forward only, and what a landing does with it (WT-15, WT-16).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use cs_worktree::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::bench::*;

const LIMIT: Duration = Duration::from_secs(60);

fn branch(name: &str) -> BranchName {
    BranchName::new(name).unwrap()
}

/// A user's repository with a bare remote beside it, to which `main` was pushed.
async fn with_remote(config: &str) -> Bench {
    let bench = Bench::with_config(config).await;
    bench.remote("origin").await;
    git(&bench.user, &["push", "-q", "-u", "origin", "main"]).await;
    bench
}

fn remote_dir(bench: &Bench) -> PathBuf {
    bench.user.with_file_name("origin.git")
}

async fn in_remote(bench: &Bench, args: &[&str]) -> String {
    git(&remote_dir(bench), args).await
}

/// A hook of the remote.
fn hook(bench: &Bench, name: &str, script: &str) {
    let file = remote_dir(bench).join("hooks").join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Everything in the user's repository but objects.
async fn of_user(bench: &Bench) -> (String, String) {
    let refs = git(&bench.user, &["for-each-ref"]).await;
    let config = fs::read_to_string(bench.user.join(".git/config")).unwrap();
    (refs, config)
}

fn card(tree: &Tree, commit: &Oid) -> Publish {
    Publish {
        codebase: tree.spec.codebase.clone(),
        commit: commit.clone(),
        to: PublishTo::Card {
            branch: tree.spec.branch.clone(),
            base: tree.spec.base_branch.clone(),
        },
        limit: LIMIT,
    }
}

fn base(planned: &Move) -> Publish {
    Publish {
        codebase: planned.codebase.clone(),
        commit: planned.new.clone(),
        to: PublishTo::Base {
            base: planned.base_branch.clone(),
        },
        limit: LIMIT,
    }
}

async fn publish(bench: &Bench, what: &Publish) -> Published {
    bench.worktrees.publish(&bench.repository, what).await.unwrap()
}

async fn outlook(bench: &Bench, what: &Publish) -> Outlook {
    bench.worktrees.outlook(&bench.repository, what).await.unwrap()
}

#[tokio::test]
async fn the_branch_of_a_card_is_published_forward_only_and_nothing_else_goes() {
    let config = "[push]\n\tfollowTags = true\n\tdefault = matching\n\tgpgSign = if-asked\n\tautoSetupRemote = true\n\
                  [remote]\n\tpushDefault = nowhere\n";
    let bench = with_remote(config).await;
    git(&bench.user, &["config", "remote.origin.push", "+refs/*:refs/*"]).await;
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    git(&bench.user, &["tag", "-a", "v1", "-m", "v1", tip.as_str()]).await;
    let before = of_user(&bench).await;
    let first = publish(&bench, &card(&tree, &tip)).await;
    let to = RemoteBranch {
        remote: "origin".into(),
        branch: tree.spec.branch.clone(),
    };
    assert_eq!(
        first,
        Published {
            to: Some(to),
            verdict: Verdict::Published
        }
    );
    assert_eq!(
        publish(&bench, &card(&tree, &tip)).await.verdict,
        Verdict::UpToDate
    );
    bench.agent_commits(&tree, "two", "2\n").await;
    let next = bench.collect(&tree, "r2").await.tip;
    let before_second = of_user(&bench).await;
    assert_eq!(
        publish(&bench, &card(&tree, &next)).await.verdict,
        Verdict::Published
    );
    let refs = in_remote(&bench, &["for-each-ref", "--format=%(refname)"]).await;
    assert_eq!(refs, format!("refs/heads/{}\nrefs/heads/main", tree.spec.branch));
    assert_eq!(
        in_remote(&bench, &["rev-parse", tree.spec.branch.as_str()]).await,
        next.as_str()
    );
    // Backwards: it is there already, and nothing moves.
    let back = publish(&bench, &card(&tree, &tip)).await.verdict;
    assert_eq!(back, Verdict::UpToDate);
    assert_eq!(
        in_remote(&bench, &["rev-parse", tree.spec.branch.as_str()]).await,
        next.as_str()
    );
    let (refs, config) = of_user(&bench).await;
    let others = |refs: &str| -> String {
        let lines = refs
            .lines()
            .filter(|line| !line.contains("refs/remotes/origin/cs/"));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        others(&refs),
        others(&before_second.0),
        "the one ref that follows the remote's"
    );
    let follows = format!("refs/remotes/origin/{}", tree.spec.branch);
    assert_eq!(git(&bench.user, &["rev-parse", &follows]).await, next.as_str());
    assert_eq!((&before.1, &before_second.1), (&config, &config));
}

#[tokio::test]
async fn a_base_is_published_as_the_branch_that_it_follows() {
    let bench = with_remote("").await;
    git(&bench.user, &["push", "-q", "-u", "origin", "main:trunk"]).await;
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    let planned = bench.ready(&tree, &tip, "l1").await;
    let published = publish(&bench, &base(&planned)).await;
    assert_eq!(published.to.unwrap().to_string(), "origin/trunk");
    assert_eq!(
        in_remote(&bench, &["rev-parse", "trunk"]).await,
        planned.new.as_str()
    );
    assert_eq!(
        in_remote(&bench, &["rev-parse", "main"]).await,
        planned.old.as_str()
    );
}

#[tokio::test]
async fn the_table_of_which_remote_belongs_to_a_base() {
    let cases: [(&[&str], Option<&str>, Option<&str>); 6] = [
        (&[], None, None),
        (&["only"], None, Some("only/main")),
        (&["a", "origin"], None, Some("origin/main")),
        (&["a", "b"], None, None),
        (&["a", "origin"], Some("a"), Some("a/trunk")),
        (&["a", "origin"], Some("gone"), Some("origin/main")),
    ];
    for (remotes, followed, expected) in cases {
        let bench = Bench::new().await;
        for remote in remotes {
            git(&bench.user, &["remote", "add", remote, "/nowhere"]).await;
        }
        if let Some(followed) = followed {
            git(&bench.user, &["config", "branch.main.remote", followed]).await;
            git(&bench.user, &["config", "branch.main.merge", "refs/heads/trunk"]).await;
        }
        let found = bench
            .repository
            .remote_of(bench.worktrees.git(), &branch("main"))
            .await
            .unwrap();
        assert_eq!(
            found.map(|to| to.to_string()).as_deref(),
            expected,
            "{remotes:?} {followed:?}"
        );
    }
}

/// Settings, remote-tracking refs, and where the branch `main` is published already.
type Followed = (
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
    Option<&'static str>,
);

#[tokio::test]
async fn a_branch_is_published_only_where_the_person_publishes_it() {
    const FOLLOWS: [(&str, &str); 2] = [
        ("branch.main.remote", "origin"),
        ("branch.main.merge", "refs/heads/main"),
    ];
    const OTHER: [(&str, &str); 2] = [
        ("branch.main.remote", "origin"),
        ("branch.main.merge", "refs/heads/trunk"),
    ];
    let cases: [Followed; 12] = [
        (&[], &[], None),
        (&[], &["origin/other", "fork/main"], None),
        (&[], &["origin/main"], Some("origin/main")),
        (&FOLLOWS, &[], Some("origin/main")),
        // It was made from another branch, as `git switch --create main origin/trunk` makes it.
        (&OTHER, &["origin/trunk"], None),
        (&OTHER, &["origin/trunk", "origin/main"], Some("origin/main")),
        (
            &[OTHER[0], OTHER[1], ("push.default", "upstream")],
            &[],
            Some("origin/trunk"),
        ),
        (
            &[FOLLOWS[0], FOLLOWS[1], ("remote.pushDefault", "fork")],
            &[],
            None,
        ),
        (
            &[FOLLOWS[0], FOLLOWS[1], ("remote.pushDefault", "fork")],
            &["fork/main"],
            Some("fork/main"),
        ),
        (
            &[
                ("remote.pushDefault", "fork"),
                ("branch.main.pushRemote", "origin"),
            ],
            &["origin/main"],
            Some("origin/main"),
        ),
        (
            &[FOLLOWS[0], FOLLOWS[1], ("branch.main.pushRemote", "no_push")],
            &["origin/main"],
            None,
        ),
        (
            &[
                ("branch.main.remote", "."),
                ("branch.main.merge", "refs/heads/other"),
            ],
            &[],
            None,
        ),
    ];
    for (settings, tracked, expected) in cases {
        let bench = Bench::new().await;
        for remote in ["origin", "fork"] {
            git(&bench.user, &["remote", "add", remote, "/nowhere"]).await;
        }
        for (name, value) in settings {
            git(&bench.user, &["config", name, value]).await;
        }
        for name in tracked {
            git(
                &bench.user,
                &["update-ref", &format!("refs/remotes/{name}"), "main"],
            )
            .await;
        }
        let main = branch("main");
        let found = bench.repository.followed(bench.worktrees.git(), &main).await;
        let found = found.unwrap().map(|to| to.to_string());
        assert_eq!(found.as_deref(), expected, "{settings:?} {tracked:?}");
    }
}

#[tokio::test]
async fn a_base_that_is_private_is_not_published_unless_that_is_asked_for() {
    let bench = Bench::new().await;
    bench.remote("origin").await;
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    let planned = bench.ready(&tree, &tip, "l1").await;
    let mut what = base(&planned);
    what.to = PublishTo::Followed {
        base: planned.base_branch.clone(),
    };
    assert_eq!(publish(&bench, &what).await.verdict, Verdict::NoRemote);
    assert_eq!(in_remote(&bench, &["for-each-ref"]).await, "");
    assert_eq!(publish(&bench, &base(&planned)).await.verdict, Verdict::Published);
}

#[tokio::test]
async fn a_base_that_moved_since_it_was_planned_on_says_so() {
    let bench = Bench::new().await;
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    let planned = bench.ready(&tree, &tip, "l1").await;
    assert!(!bench.worktrees.base_moved(&planned).await.unwrap());
    git(&bench.user, &["commit", "-q", "--allow-empty", "-m", "Mine"]).await;
    assert!(bench.worktrees.base_moved(&planned).await.unwrap());
    git(&bench.user, &["reset", "-q", "--hard", planned.old.as_str()]).await;
    bench.worktrees.execute_move(&planned).await.unwrap();
    git(&bench.user, &["commit", "-q", "--allow-empty", "-m", "Mine"]).await;
    assert!(
        !bench.worktrees.base_moved(&planned).await.unwrap(),
        "it holds the landing"
    );
}

/// One push to a remote in some state: the verdict has this name, and the remote's branches are what they were.
async fn check_refused<F: Future<Output = ()>>(make: impl FnOnce(PathBuf) -> F, name: &str, word: &str) {
    let bench = with_remote("").await;
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    let planned = bench.ready(&tree, &tip, "l1").await;
    make(remote_dir(&bench)).await;
    let before = (of_user(&bench).await, picture(&bench.user));
    for what in [card(&tree, &tip), base(&planned)] {
        let verdict = publish(&bench, &what).await.verdict;
        let value = serde_json::to_value(&verdict).unwrap();
        let found = value.as_object().and_then(|map| map.keys().next().cloned());
        let found = found.unwrap_or_else(|| value.as_str().unwrap_or_default().to_owned());
        assert_eq!(found, name, "{verdict:?}");
        assert!(verdict.to_string().contains(word), "{verdict}");
        assert!(
            !verdict.to_string().contains(bench.dir.path().to_str().unwrap()),
            "{verdict}"
        );
        assert!(!verdict.is_at_remote());
    }
    assert!(
        (of_user(&bench).await, picture(&bench.user)) == before,
        "something of the user's changed"
    );
}

#[tokio::test]
async fn a_rule_of_the_remote_is_told_in_its_words() {
    let make = async |remote: PathBuf| {
        let file = remote.join("hooks/pre-receive");
        fs::write(&file, "#!/bin/sh\necho 'only by pull request' >&2\nexit 1\n").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    };
    check_refused(make, "protected", "only by pull request").await;
}

#[tokio::test]
async fn a_branch_or_a_lock_in_the_way_is_told() {
    let make = async |remote: PathBuf| {
        git(&remote, &["update-ref", "refs/heads/cs", "refs/heads/main"]).await;
        fs::write(remote.join("refs/heads/main.lock"), "").unwrap();
    };
    check_refused(make, "ref_conflict", "lock").await;
}

#[tokio::test]
async fn a_remote_that_is_not_there_is_unreachable() {
    let make = async |remote: PathBuf| fs::rename(&remote, remote.with_extension("gone")).unwrap();
    check_refused(make, "unreachable", "git remote -v").await;
}

#[tokio::test]
async fn what_cannot_be_published_is_a_verdict_and_no_error() {
    let bench = Bench::new().await;
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    let published = publish(&bench, &card(&tree, &tip)).await;
    assert_eq!(
        published,
        Published {
            to: None,
            verdict: Verdict::NoRemote
        }
    );
    // WT-16: no store, no tree.
    bench.remote("origin").await;
    fs::remove_dir_all(bench.dir.path().join("state/repos")).unwrap();
    assert_eq!(
        publish(&bench, &card(&tree, &tip)).await.verdict,
        Verdict::NotHere
    );
}

/// Answers every request in one way, or none at all.
async fn server(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = async move {
        let mut open = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = socket.read(&mut request).await;
            if answer.is_empty() {
                open.push(socket);
            } else {
                let _ = socket.write_all(answer.as_bytes()).await;
            }
        }
    };
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(serve);
    // It serves until the test ends with its runtime.
    tasks.detach_all();
    port
}

async fn bench_at(url: &str) -> (Bench, Tree, Oid) {
    let bench = Bench::new().await;
    git(&bench.user, &["remote", "add", "origin", url]).await;
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    (bench, tree, tip)
}

#[tokio::test]
async fn a_remote_that_wants_a_password_is_told_without_the_one_in_its_url() {
    let refused = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let port = server(refused).await;
    let (bench, tree, tip) = bench_at(&format!("http://somebody:s3cr3t@127.0.0.1:{port}/x.git")).await;
    let verdict = publish(&bench, &card(&tree, &tip)).await.verdict;
    assert!(matches!(verdict, Verdict::Auth { .. }), "{verdict:?}");
    let all = format!(
        "{verdict} {verdict:?} {}",
        serde_json::to_string(&verdict).unwrap()
    );
    assert!(!all.contains("s3cr3t") && !all.contains("somebody"), "{all}");
}

#[tokio::test]
async fn a_remote_that_says_nothing_is_given_up() {
    let port = server("").await;
    let (bench, tree, tip) = bench_at(&format!("http://127.0.0.1:{port}/x.git")).await;
    let limit = Duration::from_millis(300);
    let what = Publish {
        limit,
        ..card(&tree, &tip)
    };
    let verdict = publish(&bench, &what).await.verdict;
    assert_eq!(verdict, Verdict::Timeout { limit: Some(limit) });
    assert!(verdict.may_pass());
}

/// Git reads a list of directories of objects, in which a colon and a quote mean something.
#[tokio::test]
async fn what_is_below_a_path_with_a_colon_and_a_quote_is_published() {
    let bench = with_remote("").await;
    let dir = bench.dir.path().canonicalize().unwrap();
    let remote = dir.join("origin.git");
    git(
        &bench.user,
        &["remote", "set-url", "origin", remote.to_str().unwrap()],
    )
    .await;
    let odd = dir.join("a:b \"c\"\n");
    fs::create_dir(&odd).unwrap();
    for name in ["user", "home"] {
        fs::rename(dir.join(name), odd.join(name)).unwrap();
    }
    let worktrees = Bench::open(&odd).await;
    let user = odd.join("user");
    let seen = Repository::inspect(worktrees.git(), &user).await.unwrap();
    let bench = Bench {
        user,
        worktrees,
        repository: seen.repository,
        ..bench
    };
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    // The merge is in the store only: git has to find it there.
    let planned = bench.ready(&tree, &tip, "l1").await;
    let verdict = publish(&bench, &base(&planned)).await.verdict;
    assert_eq!(verdict, Verdict::Published);
    let there = git(&remote, &["rev-parse", "main"]).await;
    assert_eq!(there, planned.new.as_str());
}

/// What cannot be looked through may point to contents that nobody uploads.
#[tokio::test]
async fn a_history_that_is_too_long_to_look_for_contents_of_lfs_in_is_not_published() {
    let bench = with_remote("").await;
    let (tree, _) = bench.card_with("c1", "one", "1\n").await;
    for n in 0..40 {
        bench
            .agent_commits(&tree, &format!("f{n}"), &format!("{n}\n"))
            .await;
    }
    let tip = bench.collect(&tree, "r2").await.tip;
    let dir = bench.dir.path().canonicalize().unwrap();
    let setup = GitSetup {
        output_max_bytes: 1024,
        ..GitSetup::new(search_path(), dir.join("home"), dir.join("state"))
    };
    let capped = Worktrees::new(dir.join("state"), Git::probe(setup).await.unwrap());
    let published = capped
        .publish(&bench.repository, &card(&tree, &tip))
        .await
        .unwrap();
    let Verdict::Other { words } = published.verdict else {
        panic!("{published:?}");
    };
    assert!(words.contains("git-lfs"), "{words}");
}

#[tokio::test]
async fn commits_that_point_to_new_contents_of_lfs_are_not_published() {
    let bench = with_remote("").await;
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 100\n",
        "ab".repeat(32)
    );
    bench.user_commits("old.bin", &pointer).await;
    git(&bench.user, &["push", "-q", "origin", "main"]).await;
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    let published = publish(&bench, &card(&tree, &tip)).await;
    assert_eq!(
        published.verdict,
        Verdict::Published,
        "what the remote has already does not count"
    );
    bench
        .agent_commits(&tree, "new.bin", &pointer.replace("abab", "cdcd"))
        .await;
    let next = bench.collect(&tree, "r2").await.tip;
    let verdict = publish(&bench, &card(&tree, &next)).await.verdict;
    assert_eq!(verdict, Verdict::Lfs { contents: 1 });
    assert_eq!(
        in_remote(&bench, &["rev-parse", tree.spec.branch.as_str()]).await,
        tip.as_str()
    );
    // Whoever pushes it with their own git has uploaded the contents.
    git(&bench.user, &["push", "-q", "origin", tree.spec.branch.as_str()]).await;
    assert_eq!(
        publish(&bench, &card(&tree, &next)).await.verdict,
        Verdict::UpToDate
    );
}

#[tokio::test]
async fn the_outlook_counts_the_users_own_commits_and_changes_nothing() {
    let bench = with_remote("").await;
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    for n in 0..2 {
        bench.user_commits("README", &format!("{n}\n")).await;
    }
    let planned = bench.ready(&tree, &tip, "l1").await;
    hook(&bench, "pre-receive", "echo it was asked in earnest >&2; exit 1");
    let before = (of_user(&bench).await, in_remote(&bench, &["for-each-ref"]).await);
    let seen = outlook(&bench, &base(&planned)).await;
    assert_eq!((seen.verdict, seen.unpushed), (Verdict::Published, 2));
    // A card's branch began before these.
    let seen = outlook(&bench, &card(&tree, &tip)).await;
    assert_eq!((seen.verdict, seen.unpushed), (Verdict::Published, 0));
    assert_eq!(
        (of_user(&bench).await, in_remote(&bench, &["for-each-ref"]).await),
        before
    );
    fs::remove_file(remote_dir(&bench).join("hooks/pre-receive")).unwrap();
    publish(&bench, &base(&planned)).await;
    let seen = outlook(&bench, &base(&planned)).await;
    assert_eq!((seen.verdict, seen.unpushed), (Verdict::UpToDate, 0));
}

/// What a push that was killed has left behind.
#[tokio::test]
async fn a_push_that_meets_the_lock_of_one_before_it_finds_what_that_has_brought() {
    let bench = with_remote("").await;
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    let planned = bench.ready(&tree, &tip, "l1").await;
    let store = bench.store().display().to_string();
    in_remote(&bench, &["fetch", "-q", &store, planned.new.as_str()]).await;
    let lock = remote_dir(&bench).join("refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    // The other one ends when ours has been refused once.
    let theirs = format!(
        "test -e began || {{ : >began; exit 0; }}\nrm '{}'\nunset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY\n\
         git update-ref refs/heads/main {}",
        lock.display(),
        planned.new
    );
    hook(&bench, "pre-receive", &theirs);
    assert_eq!(publish(&bench, &base(&planned)).await.verdict, Verdict::UpToDate);
}

#[tokio::test]
async fn what_is_pushed_already_is_found_below_what_somebody_pushed_on_top_of_it() {
    let bench = with_remote("").await;
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    let planned = bench.ready(&tree, &tip, "l1").await;
    assert_eq!(publish(&bench, &base(&planned)).await.verdict, Verdict::Published);
    git(&bench.user, &["clone", "-q", "../origin.git", "../other"]).await;
    let other = bench.user.with_file_name("other");
    git(&other, &["commit", "-q", "--allow-empty", "-m", "of another"]).await;
    git(&other, &["push", "-q", "origin", "main"]).await;
    let before = (of_user(&bench).await, in_remote(&bench, &["for-each-ref"]).await);
    assert_eq!(publish(&bench, &base(&planned)).await.verdict, Verdict::UpToDate);
    assert_eq!(outlook(&bench, &base(&planned)).await.verdict, Verdict::UpToDate);
    let after = (of_user(&bench).await, in_remote(&bench, &["for-each-ref"]).await);
    assert_eq!(after, before);
}

/// A process of git that a killed daemon left.
#[tokio::test]
async fn what_a_killed_process_has_left_of_a_push_does_not_outlive_the_limit_of_the_next() {
    let bench = with_remote("").await;
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    let planned = bench.ready(&tree, &tip, "l1").await;
    // A program of a hook has it, too.
    hook(&bench, "pre-receive", "echo \"$CS_PANEL_PUSH\" >mark");
    assert_eq!(publish(&bench, &base(&planned)).await.verdict, Verdict::Published);
    let mark = fs::read_to_string(remote_dir(&bench).join("mark")).unwrap();
    let of_other = mark.trim().replace("origin/main", "origin/other");
    let mut left = Staying::git_with(&bench.user, ("CS_PANEL_PUSH", mark.trim()));
    let mut other = Staying::git_with(&bench.user, ("CS_PANEL_PUSH", &of_other));
    let mut what = base(&planned);
    what.limit = Duration::ZERO;
    publish(&bench, &what).await;
    assert!(left.is_over() && !other.is_over());
    other.end().await;
}

/// A landing that is pushed: plan, push, move.
#[tokio::test]
async fn a_refused_push_leaves_the_base_where_it_was() {
    let bench = with_remote("").await;
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    // Somebody else pushed to the base.
    git(&bench.user, &["clone", "-q", "../origin.git", "../other"]).await;
    let other = bench.user.with_file_name("other");
    git(
        &other,
        &["commit", "-q", "--allow-empty", "-m", "of somebody else"],
    )
    .await;
    git(&other, &["push", "-q", "origin", "main"]).await;
    let planned = bench.ready(&tree, &tip, "l1").await;
    let before = (of_user(&bench).await, picture(&bench.user));
    assert_eq!(
        publish(&bench, &base(&planned)).await.verdict,
        Verdict::NonFastForward
    );
    assert!((of_user(&bench).await, picture(&bench.user)) == before);
    assert_eq!(
        git(&bench.user, &["rev-parse", "main"]).await,
        planned.old.as_str()
    );
}

/// After the push the landing is not planned again, whatever becomes of the local base.
#[tokio::test]
async fn after_a_push_the_local_base_follows_or_is_said_to_have_diverged() {
    let after =
        async |bench: &Bench, planned: &Move| bench.worktrees.local_after_publish(planned).await.unwrap();
    let bench = with_remote("").await;
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    let planned = bench.ready(&tree, &tip, "l1").await;
    for expected in [Verdict::Published, Verdict::UpToDate] {
        assert_eq!(publish(&bench, &base(&planned)).await.verdict, expected);
    }
    assert_eq!(
        after(&bench, &planned).await,
        LocalAfterPublish::Movable(planned.clone())
    );
    // Checked out elsewhere meanwhile: another way, the same commit.
    git(&bench.user, &["switch", "-q", "-c", "elsewhere"]).await;
    assert_eq!(
        bench.worktrees.execute_move(&planned).await.unwrap(),
        MoveOutcome::BaseMoved
    );
    let LocalAfterPublish::Movable(again) = after(&bench, &planned).await else {
        panic!("not movable")
    };
    assert_eq!((&again.new, &again.how), (&planned.new, &How::NotCheckedOut));
    git(&bench.user, &["switch", "-q", "main"]).await;
    bench.user_commits("README", "the user goes on\n").await;
    let local = git(&bench.user, &["rev-parse", "main"]).await;
    assert_eq!(
        bench.worktrees.execute_move(&planned).await.unwrap(),
        MoveOutcome::BaseMoved
    );
    let diverged = LocalAfterPublish::Diverged {
        tip: Oid::new(&*local).unwrap(),
        own: 1,
    };
    assert_eq!(after(&bench, &planned).await, diverged);
    assert_eq!(git(&bench.user, &["rev-parse", "main"]).await, local);
    git(&bench.user, &["pull", "-q", "--no-rebase", "--no-edit"]).await;
    assert_eq!(after(&bench, &planned).await, LocalAfterPublish::Holds);
}

#[tokio::test]
async fn no_hook_of_the_user_runs_at_a_push() {
    let bench = with_remote("").await;
    let fired = bench.user.with_file_name("fired");
    let hooks = bench.user.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let names: BTreeSet<&str> = [
        "pre-push",
        "reference-transaction",
        "post-index-change",
        "pre-auto-gc",
    ]
    .into();
    for name in names {
        let file = hooks.join(name);
        fs::write(
            &file,
            format!("#!/bin/sh\necho {name} >> '{}'\n", fired.display()),
        )
        .unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let (tree, tip) = bench.card_with("c1", "one", "1\n").await;
    let planned = bench.ready(&tree, &tip, "l1").await;
    for what in [card(&tree, &tip), base(&planned)] {
        assert_eq!(publish(&bench, &what).await.verdict, Verdict::Published);
    }
    assert!(!fired.exists(), "{}", fs::read_to_string(&fired).unwrap());
    // Control.
    git(&bench.user, &["push", "-q", "origin", "HEAD:refs/heads/control"]).await;
    assert!(fired.exists());
}
