//! Landings by merge, squash and rebase, and cards whose work came to the base in another way (WT-8, P19).

use std::fs;

use cs_worktree::*;

use crate::bench::*;

const METHODS: [LandMethod; 3] = [LandMethod::Merge, LandMethod::Squash, LandMethod::Rebase];

/// A card with two commits, on a base that has gone on since.
async fn card(bench: &Bench) -> (Tree, Oid) {
    let tree = bench.prepare("c1").await;
    bench.agent_commits(&tree, "one", "1\n").await;
    fs::write(tree.path.join("two"), "2\n").unwrap();
    git(&tree.path, &["add", "-A"]).await;
    let commit = [
        "commit",
        "-q",
        "-m",
        "Write two\n\nText.\n\nSigned-off-by: Ann <ann@example.org>",
    ];
    let author = [
        "--author=Ann <ann@example.org>",
        "--date=2020-02-02T02:02:02+0200",
    ];
    git(&tree.path, &[&commit[..], &author[..]].concat()).await;
    let tip = bench.collect(&tree, "r1").await.tip;
    bench.user_commits("README", "the base goes on\n").await;
    (tree, tip)
}

fn spec(bench: &Bench, tree: &Tree, tip: &Oid, method: LandMethod) -> LandingSpec {
    LandingSpec {
        method,
        ..bench.landing_spec(tree, tip, "l1")
    }
}

async fn plan(bench: &Bench, spec: &LandingSpec) -> LandingPlan {
    bench
        .worktrees
        .plan_landing(&bench.repository, spec)
        .await
        .unwrap()
}

async fn ready(bench: &Bench, spec: &LandingSpec) -> Move {
    match plan(bench, spec).await {
        LandingPlan::Ready(ready) => ready,
        other => panic!("not ready: {other:?}"),
    }
}

async fn land(bench: &Bench, spec: &LandingSpec) -> Move {
    let ready = ready(bench, spec).await;
    let moved = bench.worktrees.execute_move(&ready).await.unwrap();
    assert_eq!(moved, MoveOutcome::Moved);
    ready
}

#[tokio::test]
async fn a_card_that_was_only_brought_to_its_base_has_nothing_to_land() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    bench.user_commits("README", "the user goes on\n").await;
    git(
        &tree.path,
        &["pull", "-q", "--ff-only", bench.user.to_str().unwrap(), "main"],
    )
    .await;
    let tip = bench.collect(&tree, "r1").await.tip;
    assert_eq!(git(&bench.user, &["rev-parse", "main"]).await, tip.as_str());
    assert_eq!(bench.plan(&tree, &tip, "l1").await, LandingPlan::NothingToLand);
    assert_eq!(work_in_base(&bench, &tree).await, WorkInBase::NoWork);
    // What it does from there is its own, also where a person brings it to the base by hand.
    bench.agent_commits(&tree, "one", "1\n").await;
    let tip = bench.collect(&tree, "r2").await.tip;
    git(&bench.user, &["merge", "-q", "--ff-only", tip.as_str()]).await;
    let plan = bench.plan(&tree, &tip, "l2").await;
    assert!(matches!(plan, LandingPlan::AlreadyLanded { .. }), "{plan:?}");
}

async fn work_in_base(bench: &Bench, tree: &Tree) -> WorkInBase {
    let (spec, base) = (&tree.spec, &tree.spec.base_branch);
    bench
        .worktrees
        .work_in_base(&bench.repository, spec, base)
        .await
        .unwrap()
}

#[tokio::test]
async fn each_method_brings_the_files_of_the_merge_and_leaves_a_clean_checkout() {
    for method in METHODS {
        let bench = Bench::new().await;
        let (tree, tip) = card(&bench).await;
        let landed = land(&bench, &spec(&bench, &tree, &tip, method)).await;
        assert_eq!(
            git(&bench.user, &["rev-parse", "main"]).await,
            landed.new.as_str()
        );
        for (file, content) in [("one", "1\n"), ("two", "2\n"), ("README", "the base goes on\n")] {
            assert_eq!(fs::read_to_string(bench.user.join(file)).unwrap(), content);
        }
        assert_eq!(
            git(&bench.user, &["status", "--porcelain"]).await,
            "",
            "{method:?}"
        );
        git(&bench.user, &["fsck", "--strict", "--connectivity-only"]).await;
        let trailers =
            "--format=%(trailers:key=Cs-Panel-Card,valueonly)%(trailers:key=Cs-Panel-Landing,valueonly)";
        assert_eq!(git(&bench.user, &["log", "-1", trailers]).await, "c1\nl1");
    }
}

#[tokio::test]
async fn a_squash_is_one_commit_of_the_person_with_the_given_message() {
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    let landed = land(&bench, &spec(&bench, &tree, &tip, LandMethod::Squash)).await;
    let shown = git(&bench.user, &["log", "-1", "--format=%P %an %cn %s"]).await;
    assert_eq!(shown, format!("{} Person cs-panel Land the card", landed.old));
}

#[tokio::test]
async fn a_rebase_keeps_authors_dates_and_messages_and_leaves_out_merges_and_empty_commits() {
    let bench = Bench::new().await;
    let (tree, _) = card(&bench).await;
    git(&tree.path, &["fetch", "-q", "origin"]).await;
    bench.prepare("c2").await;
    git(&tree.path, &["fetch", "-q", "origin"]).await;
    git(&tree.path, &["merge", "-q", "--no-edit", "origin/main"]).await;
    git(&tree.path, &["commit", "-q", "--allow-empty", "-m", "nothing"]).await;
    let tip = bench.collect(&tree, "r2").await.tip;
    let landed = land(&bench, &spec(&bench, &tree, &tip, LandMethod::Rebase)).await;
    let range = format!("{}..main", landed.old);
    let shown = git(&bench.user, &["log", "--reverse", "--format=%an|%cn|%s", &range]).await;
    assert_eq!(shown, "User|cs-panel|change one\nAnn|cs-panel|Write two");
    let last = git(&bench.user, &["log", "-1", "--format=%aI|%b"]).await;
    let lines = "Text.\n\nSigned-off-by: Ann <ann@example.org>\nCs-Panel-Card: c1\nCs-Panel-Landing: l1";
    assert_eq!(last, format!("2020-02-02T02:02:02+02:00|{lines}"));
}

/// P19, WT-8.
#[tokio::test]
async fn a_landing_that_is_repeated_lands_once_by_each_method() {
    for method in METHODS {
        let bench = Bench::new().await;
        let (tree, tip) = card(&bench).await;
        let spec = spec(&bench, &tree, &tip, method);
        let first = ready(&bench, &spec).await;
        assert_eq!(
            ready(&bench, &spec).await,
            first,
            "planned again it is the same commit"
        );
        let moved = bench.worktrees.execute_move(&first).await.unwrap();
        assert_eq!(moved, MoveOutcome::Moved);
        assert_eq!(
            bench.worktrees.execute_move(&first).await.unwrap(),
            MoveOutcome::Moved
        );
        let already = LandingPlan::AlreadyLanded {
            commit: first.new.clone(),
            how: LandedHow::ThisLanding,
        };
        assert_eq!(plan(&bench, &spec).await, already, "{method:?}");
        bench.user_commits("one", "changed since\n").await;
        bench.user_commits("two", "changed since\n").await;
        assert_eq!(
            plan(&bench, &spec).await,
            already,
            "{method:?}, when the base went on"
        );
        assert!(
            matches!(work_in_base(&bench, &tree).await, WorkInBase::There { .. }),
            "{method:?}"
        );
        // A machine that has lost its store knows it by the base alone.
        fs::remove_dir_all(bench.dir.path().join("state")).unwrap();
        let bench = Bench {
            worktrees: Bench::open(bench.dir.path()).await,
            ..bench
        };
        bench.prepare("c1").await;
        assert_eq!(plan(&bench, &spec).await, already, "{method:?}, with a new store");
        let count = git(
            &bench.user,
            &["log", "--grep=Cs-Panel-Landing: l1", "--format=%h", "main"],
        )
        .await;
        assert_eq!(count.lines().count(), 1);
    }
}

async fn check_outside(make: &[&[&str]], expected: LandedHow) {
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    let branch = tree.spec.branch.as_str().to_owned();
    let not_yet = work_in_base(&bench, &tree).await;
    assert_eq!(not_yet, WorkInBase::NotYet);
    for args in make {
        let args: Vec<String> = args.iter().map(|arg| arg.replace("BRANCH", &branch)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        git(&bench.user, &args).await;
    }
    let tip_of_base = git(&bench.user, &["rev-parse", "main"]).await;
    for later in [false, true] {
        if later && expected != LandedHow::AddsNothing {
            bench.user_commits("one", "the same lines, changed later\n").await;
        }
        for method in METHODS {
            let LandingPlan::AlreadyLanded { commit, how } =
                plan(&bench, &spec(&bench, &tree, &tip, method)).await
            else {
                panic!("{expected:?} was not seen by {method:?}, later: {later}");
            };
            assert_eq!(how, expected);
            let named = if how == LandedHow::Ancestor {
                tip.as_str()
            } else {
                &tip_of_base
            };
            assert_eq!(commit.as_str(), named);
        }
        let found = work_in_base(&bench, &tree).await;
        assert!(
            matches!(found, WorkInBase::There { how, .. } if how == expected),
            "{found:?}"
        );
    }
}

/// WT-8.
#[tokio::test]
async fn a_card_that_was_merged_outside_counts_as_landed() {
    check_outside(&[&["merge", "-q", "--no-edit", "BRANCH"]], LandedHow::Ancestor).await;
}

/// WT-8.
#[tokio::test]
async fn a_card_that_was_rebased_or_picked_outside_counts_as_landed() {
    check_outside(&[&["cherry-pick", "main..BRANCH"]], LandedHow::EachCommit).await;
}

/// WT-8.
#[tokio::test]
async fn a_card_that_was_squashed_outside_counts_as_landed() {
    let squash: [&[&str]; 2] = [
        &["merge", "-q", "--squash", "BRANCH"],
        &["commit", "-q", "-m", "all of it"],
    ];
    check_outside(&squash, LandedHow::Squashed).await;
}

/// WT-8.
#[tokio::test]
async fn a_card_whose_merge_would_change_nothing_counts_as_landed() {
    let other: [&[&str]; 4] = [
        &["checkout", "-q", "BRANCH", "--", "one"],
        &["commit", "-q", "-m", "half of it"],
        &["checkout", "-q", "BRANCH", "--", "two"],
        &["commit", "-q", "-m", "the other half, with more", "--allow-empty"],
    ];
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    let branch = tree.spec.branch.as_str().to_owned();
    for args in other {
        let args: Vec<&str> = args
            .iter()
            .map(|arg| if *arg == "BRANCH" { &branch } else { *arg })
            .collect();
        if args[0] == "commit" {
            fs::write(bench.user.join(format!("beside-{}", args.len())), "x").unwrap();
            git(&bench.user, &["add", "-A"]).await;
        }
        git(&bench.user, &args).await;
    }
    let expected = LandingPlan::AlreadyLanded {
        commit: Oid::new(git(&bench.user, &["rev-parse", "main"]).await).unwrap(),
        how: LandedHow::AddsNothing,
    };
    assert_eq!(
        plan(&bench, &spec(&bench, &tree, &tip, LandMethod::Merge)).await,
        expected
    );
}

#[tokio::test]
async fn half_of_a_card_in_the_base_is_not_all_of_it() {
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    git(&bench.user, &["cherry-pick", &format!("{tip}~1")]).await;
    assert_eq!(work_in_base(&bench, &tree).await, WorkInBase::NotYet);
    let landed = land(&bench, &spec(&bench, &tree, &tip, LandMethod::Rebase)).await;
    let range = format!("{}..main", landed.old);
    assert_eq!(
        git(&bench.user, &["log", "--format=%s", &range]).await,
        "Write two"
    );
}

#[tokio::test]
async fn a_card_whose_commits_change_nothing_has_nothing_to_land() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    git(&tree.path, &["commit", "-q", "--allow-empty", "-m", "nothing"]).await;
    let tip = bench.collect(&tree, "r1").await.tip;
    for method in METHODS {
        assert_eq!(
            plan(&bench, &spec(&bench, &tree, &tip, method)).await,
            LandingPlan::NothingToLand
        );
    }
    assert_eq!(work_in_base(&bench, &tree).await, WorkInBase::NoWork);
}

#[tokio::test]
async fn another_branch_than_the_base_of_the_card_can_be_landed_on() {
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    git(&bench.user, &["branch", "release/1", "main~1"]).await;
    let before = git(&bench.user, &["rev-parse", "main"]).await;
    let onto = LandingSpec {
        base: BranchName::new("release/1").unwrap(),
        ..spec(&bench, &tree, &tip, LandMethod::Squash)
    };
    let landed = land(&bench, &onto).await;
    assert_eq!(
        git(&bench.user, &["rev-parse", "release/1"]).await,
        landed.new.as_str()
    );
    assert_eq!(git(&bench.user, &["rev-parse", "main"]).await, before);
    assert_eq!(work_in_base(&bench, &tree).await, WorkInBase::NotYet);
    let base = &onto.base;
    let there = bench
        .worktrees
        .work_in_base(&bench.repository, &tree.spec, base)
        .await
        .unwrap();
    assert!(matches!(there, WorkInBase::There { .. }), "{there:?}");
}

#[tokio::test]
async fn a_protected_branch_is_refused_with_what_to_do() {
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    let patterns = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| BranchPattern::new(*text).unwrap())
            .collect()
    };
    let protected = LandingSpec {
        protected: patterns(&["release/*", "ma*"]),
        ..spec(&bench, &tree, &tip, LandMethod::Merge)
    };
    let LandingPlan::Refused(refusal) = plan(&bench, &protected).await else {
        panic!("not refused")
    };
    let text = refusal.to_string();
    assert!(
        text.contains("main is protected") && text.contains("\"ma*\"") && text.contains("lift the rule"),
        "{text}"
    );
    let other = LandingSpec {
        protected: patterns(&["release/*"]),
        ..protected
    };
    land(&bench, &other).await;
}

#[tokio::test]
async fn a_conflict_shows_both_sides_and_a_rebase_names_the_commit() {
    let bench = Bench::new().await;
    let (tree, tip) = card(&bench).await;
    bench.user_commits("two", "of the user\n").await;
    for method in METHODS {
        let LandingPlan::Conflict(conflict) = plan(&bench, &spec(&bench, &tree, &tip, method)).await else {
            panic!("no conflict")
        };
        assert_eq!(conflict.files, [RepoPath::from_bytes(*b"two")]);
        let ConflictText::Regions { text, is_cut: false } = &conflict.shown[0].text else {
            panic!("{:?}", conflict.shown)
        };
        let (card, at) = match method {
            LandMethod::Rebase => (format!("commit {} of the card", tip.short()), Some("Write two")),
            LandMethod::Merge | LandMethod::Squash => ("the card".to_owned(), None),
        };
        let expected = format!("<<<<<<< main\nof the user\n=======\n2\n>>>>>>> {card}\n");
        assert_eq!(*text, expected, "{method:?}");
        assert_eq!(conflict.at.as_ref().map(|at| at.subject.as_str()), at);
    }
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    fs::write(tree.path.join("image"), [0, 1, 2]).unwrap();
    fs::remove_file(tree.path.join("src/a.txt")).unwrap();
    bench.agent_commits(&tree, "x", "x").await;
    let tip = bench.collect(&tree, "r1").await.tip;
    fs::write(bench.user.join("image"), [0, 3, 4]).unwrap();
    bench.user_commits("src/a.txt", "changed\n").await;
    let LandingPlan::Conflict(conflict) = plan(&bench, &spec(&bench, &tree, &tip, LandMethod::Merge)).await
    else {
        panic!("no conflict")
    };
    let texts: Vec<&ConflictText> = conflict.shown.iter().map(|file| &file.text).collect();
    assert_eq!(
        texts,
        [&ConflictText::Binary, &ConflictText::Whole],
        "{conflict:?}"
    );
}

/// A merge in the card that resolved a conflict is lost without it.
#[tokio::test]
async fn a_rebase_that_comes_to_other_files_than_the_merge_is_refused() {
    let bench = Bench::new().await;
    let (tree, _) = bench.card_with("c1", "one", "card\n").await;
    bench.user_commits("beside", "x\n").await;
    bench.prepare("c2").await;
    git(&tree.path, &["fetch", "-q", "origin"]).await;
    git(
        &tree.path,
        &["merge", "-q", "--no-edit", "--no-commit", "origin/main"],
    )
    .await;
    fs::write(tree.path.join("beside"), "only the merge says so\n").unwrap();
    git(&tree.path, &["commit", "-q", "-a", "--no-edit"]).await;
    let tip = bench.collect(&tree, "r2").await.tip;
    let refused = plan(&bench, &spec(&bench, &tree, &tip, LandMethod::Rebase)).await;
    assert_eq!(refused, LandingPlan::Refused(Refusal::RebaseDiffers));
    land(&bench, &spec(&bench, &tree, &tip, LandMethod::Squash)).await;
}
