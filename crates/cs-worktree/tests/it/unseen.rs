//! Work in places that a look at the files of a tree does not reach by itself: it is saved, or it keeps the tree (G1, G2, G15).

use std::fs;
use std::os::unix::fs::symlink;

use cs_worktree::*;

use crate::bench::*;

fn path(path: &str) -> RepoPath {
    RepoPath::from_bytes(path)
}

/// Salvages, and expects that exactly this keeps the tree.
async fn check_kept(bench: &Bench, tree: &Tree, expected: &[Special]) {
    let salvage = bench.salvage(tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Partial(expected.to_vec()));
    assert!(salvage.proof().is_none());
}

/// Salvages, expects that all of it was saved, and gives the content of a file of the snapshot.
async fn check_saved(bench: &Bench, tree: &Tree, file: &str) -> String {
    let salvage = bench.salvage(tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    let commit = salvage.commit.clone().unwrap();
    bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
    bench.in_store(&["show", &format!("{commit}:{file}")]).await
}

#[tokio::test]
async fn what_an_agent_leaves_beside_its_tree_keeps_it() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    git(
        &tree.path,
        &["worktree", "add", "-q", "-b", "feature", "../feature"],
    )
    .await;
    fs::write(tree.path.join("../feature/uncommitted"), "precious").unwrap();
    check_kept(&bench, &tree, &[Special::Beside(path("../feature"))]).await;
    fs::remove_dir_all(tree.path.join("../feature")).unwrap();
    fs::write(tree.path.join("../notes.md"), "precious").unwrap();
    check_kept(&bench, &tree, &[Special::Beside(path("../notes.md"))]).await;
}

#[tokio::test]
async fn a_git_directory_beside_its_tree_keeps_it() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    git(&tree.path, &["init", "-q", "--separate-git-dir=../elsewhere"]).await;
    let salvage = bench.salvage(&tree, "r1").await;
    let Completeness::Partial(reasons) = &salvage.completeness else {
        panic!("{:?}", salvage.completeness);
    };
    assert!(
        reasons.contains(&Special::Beside(path("../elsewhere"))),
        "{reasons:?}"
    );
}

/// Invariant 11.
#[tokio::test]
async fn what_came_beside_a_tree_after_its_salvage_keeps_it() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let salvage = bench.salvage(&tree, "r1").await;
    fs::write(tree.path.join("../notes.md"), "precious").unwrap();
    let refused = bench.worktrees.discard(salvage.proof().unwrap()).await;
    assert!(matches!(refused, Err(WorktreeError::TreeChanged)), "{refused:?}");
    fs::remove_file(tree.path.join("../notes.md")).unwrap();
    // What a death in the middle of a removal leaves is ours.
    fs::write(tree.path.join("../.tmp-Ab3dE6"), "{").unwrap();
    bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_tree_beside_which_a_process_works_is_not_discarded() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let salvage = bench.salvage(&tree, "r1").await;
    let staying = Staying::start(tree.path.parent().unwrap(), "sleep", &["600"]);
    let refused = bench.worktrees.discard(salvage.proof().unwrap()).await;
    staying.end().await;
    assert!(
        matches!(refused, Err(WorktreeError::TreeInUse { .. })),
        "{refused:?}"
    );
}

/// The state directory is reached by a link, as `/home` is on some systems.
#[tokio::test]
async fn a_process_is_seen_in_a_tree_that_is_reached_by_a_link() {
    let bench = Bench::new().await;
    let dir = bench.dir.path().canonicalize().unwrap();
    symlink(&dir, dir.join("link")).unwrap();
    let git = bench.worktrees.git().clone();
    let worktrees = Worktrees::new(dir.join("link/state"), git);
    let prepared = worktrees.prepare_tree(&bench.repository, &bench.spec("c1")).await;
    let tree = prepared.unwrap().tree;
    let salvage = worktrees.salvage(&tree, &run_key("r1"), "a test").await.unwrap();
    let staying = Staying::start(&tree.path, "sleep", &["600"]);
    let refused = worktrees.discard(salvage.proof().unwrap()).await;
    staying.end().await;
    assert!(
        matches!(refused, Err(WorktreeError::TreeInUse { .. })),
        "{refused:?}"
    );
}

/// A card whose head has a link to a commit at `lib`, which no clone of ours fills.
async fn with_link(bench: &Bench) -> Tree {
    let tree = bench.prepare("c1").await;
    let head = git(&tree.path, &["rev-parse", "HEAD"]).await;
    let entry = format!("160000,{head},lib");
    git(&tree.path, &["update-index", "--add", "--cacheinfo", &entry]).await;
    git(&tree.path, &["commit", "-q", "-m", "a link"]).await;
    fs::create_dir(tree.path.join("lib")).unwrap();
    assert_eq!(
        bench.salvage(&tree, "r0").await.completeness,
        Completeness::Nothing
    );
    tree
}

#[tokio::test]
async fn files_in_the_place_of_a_submodule_that_is_not_there_are_saved() {
    let bench = Bench::new().await;
    let tree = with_link(&bench).await;
    fs::create_dir(tree.path.join("lib/deep")).unwrap();
    fs::write(tree.path.join("lib/deep/precious"), "x").unwrap();
    assert_eq!(check_saved(&bench, &tree, "lib/deep/precious").await, "x");
}

#[tokio::test]
async fn files_of_a_committed_repository_whose_git_directory_is_gone_are_saved() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let lib = tree.path.join("lib");
    fs::create_dir(&lib).unwrap();
    fs::write(lib.join("code"), "x").unwrap();
    git(&lib, &["init", "-q"]).await;
    git(&lib, &["add", "-A"]).await;
    git(&lib, &["commit", "-q", "-m", "inside"]).await;
    git(&tree.path, &["add", "-A"]).await;
    git(&tree.path, &["commit", "-q", "-m", "a link"]).await;
    fs::remove_dir_all(lib.join(".git")).unwrap();
    assert_eq!(check_saved(&bench, &tree, "lib/code").await, "x");
}

#[tokio::test]
async fn a_file_or_a_link_in_the_place_of_a_submodule_is_saved() {
    let bench = Bench::new().await;
    let tree = with_link(&bench).await;
    fs::remove_dir(tree.path.join("lib")).unwrap();
    fs::write(tree.path.join("lib"), "a file").unwrap();
    assert_eq!(check_saved(&bench, &tree, "lib").await, "a file");

    let bench = Bench::new().await;
    let tree = with_link(&bench).await;
    fs::remove_dir(tree.path.join("lib")).unwrap();
    symlink("src", tree.path.join("lib")).unwrap();
    assert_eq!(check_saved(&bench, &tree, "lib").await, "src");
}

#[tokio::test]
async fn files_in_the_place_of_a_submodule_of_a_repository_inside_are_saved() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let inside = tree.path.join("inside");
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join("code"), "x").unwrap();
    git(&inside, &["init", "-q"]).await;
    git(&inside, &["add", "-A"]).await;
    let head = git(&tree.path, &["rev-parse", "HEAD"]).await;
    let entry = format!("160000,{head},lib");
    git(&inside, &["update-index", "--add", "--cacheinfo", &entry]).await;
    git(&inside, &["commit", "-q", "-m", "inside"]).await;
    fs::create_dir(inside.join("lib")).unwrap();
    fs::write(inside.join("lib/precious"), "x").unwrap();
    assert_eq!(check_saved(&bench, &tree, "inside/lib/precious").await, "x");
}

/// The person commits, on the card's branch, a path at which the agent's tree has something that git ignores.
async fn check_not_overwritten(of_agent: &str, of_person: &str) {
    let bench = Bench::new().await;
    let (tree, _) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    let put = |root: &std::path::Path, path: &str, text: &str| {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    put(&tree.path, of_agent, "of the agent");
    git(&bench.user, &["switch", "-q", tree.spec.branch.as_str()]).await;
    put(&bench.user, of_person, "of the person");
    git(&bench.user, &["add", "-f", of_person]).await;
    git(&bench.user, &["commit", "-q", "-m", "by the person"]).await;
    git(&bench.user, &["switch", "-q", "main"]).await;
    let prepared = bench.worktrees.prepare_tree(&bench.repository, &tree.spec).await;
    assert_eq!(prepared.unwrap().person, PersonCommits::Waiting { count: 1 });
    let text = fs::read_to_string(tree.path.join(of_agent)).unwrap();
    assert_eq!(text, "of the agent", "{of_agent} and {of_person}");
}

#[tokio::test]
async fn commits_of_the_person_never_overwrite_what_git_ignores_in_the_tree() {
    check_not_overwritten(".env", ".env").await;
    check_not_overwritten("x.ignored/file", "x.ignored").await;
    check_not_overwritten("x.ignored", "x.ignored/file").await;
    check_not_overwritten("deep/x.ignored/file", "deep/x.ignored").await;
}

#[tokio::test]
async fn a_directory_of_the_head_gives_way_to_a_file_of_the_person() {
    let bench = Bench::new().await;
    let (tree, _) = bench.card_with("c1", "README", "agent\n").await;
    git(&bench.user, &["switch", "-q", tree.spec.branch.as_str()]).await;
    git(&bench.user, &["rm", "-q", "-r", "src"]).await;
    fs::write(bench.user.join("src"), "a file now").unwrap();
    git(&bench.user, &["add", "src"]).await;
    git(&bench.user, &["commit", "-q", "-m", "by the person"]).await;
    git(&bench.user, &["switch", "-q", "main"]).await;
    let prepared = bench.worktrees.prepare_tree(&bench.repository, &tree.spec).await;
    assert_eq!(prepared.unwrap().person, PersonCommits::Taken { count: 1 });
    assert_eq!(fs::read_to_string(tree.path.join("src")).unwrap(), "a file now");
}

/// Salvages, and expects that a content is on a ref of the run though no file has it.
async fn check_index(bench: &Bench, tree: &Tree, below: &str, file: &str) {
    assert!(bench.collect(tree, "r0").await.dirty || below.contains("nested"));
    let salvage = bench.salvage(tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    assert_eq!(bench.salvage(tree, "r1").await.reference, salvage.reference);
    bench.worktrees.discard(salvage.proof().unwrap()).await.unwrap();
    let refs = ["for-each-ref", "--format=%(refname)", "refs/cs-panel/run/r1"];
    let refs = bench.in_store(&refs).await;
    let refs: Vec<&str> = refs.lines().filter(|name| name.contains(below)).collect();
    let [name] = refs.as_slice() else {
        panic!("{refs:?}")
    };
    assert_eq!(
        bench.in_store(&["show", &format!("{name}:{file}")]).await,
        "staged"
    );
    bench.in_store(&["fsck", "--strict"]).await;
}

#[tokio::test]
async fn what_is_staged_and_in_no_file_is_saved() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    fs::create_dir(tree.path.join("deep")).unwrap();
    fs::write(tree.path.join("deep/new"), "staged").unwrap();
    fs::write(tree.path.join("announced"), "x").unwrap();
    git(&tree.path, &["add", "deep/new"]).await;
    git(&tree.path, &["add", "-N", "announced"]).await;
    git(&tree.path, &["write-tree"]).await;
    fs::remove_file(tree.path.join("announced")).unwrap();
    fs::remove_dir_all(tree.path.join("deep")).unwrap();
    check_index(&bench, &tree, "/index/", "deep/new").await;
}

#[tokio::test]
async fn a_staged_version_that_differs_from_the_file_is_saved() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    fs::write(tree.path.join("README"), "staged").unwrap();
    git(&tree.path, &["add", "-A"]).await;
    fs::write(tree.path.join("README"), "in the file").unwrap();
    check_index(&bench, &tree, "/index/", "README").await;
}

#[tokio::test]
async fn what_is_staged_in_a_repository_inside_is_saved() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let inside = tree.path.join("inside");
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join("new"), "staged").unwrap();
    git(&inside, &["init", "-q"]).await;
    git(&inside, &["add", "-A"]).await;
    fs::write(inside.join("new"), "in the file").unwrap();
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(salvage.completeness, Completeness::Complete);
    let refs = [
        "for-each-ref",
        "--format=%(refname)",
        "refs/cs-panel/run/r1/nested",
    ];
    let refs = bench.in_store(&refs).await;
    let name = refs.lines().find(|name| name.contains("/index/")).unwrap();
    assert_eq!(bench.in_store(&["show", &format!("{name}:new")]).await, "staged");
}

#[tokio::test]
async fn a_staged_content_that_cannot_be_read_keeps_the_tree() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let entry = format!("100644,{},lost", "a".repeat(40));
    git(&tree.path, &["update-index", "--add", "--cacheinfo", &entry]).await;
    check_kept(&bench, &tree, &[Special::NotSaved(path("lost"))]).await;
}

#[tokio::test]
async fn a_damaged_object_of_the_store_is_never_taken_for_a_saved_file() {
    let bench = Bench::new().await;
    let (one, two) = (bench.prepare("c1").await, bench.prepare("c2").await);
    fs::write(one.path.join("new"), "precious").unwrap();
    fs::write(one.path.join("other"), "more").unwrap();
    bench.salvage(&one, "r1").await;
    let object = bench
        .in_store(&["rev-parse", "refs/cs-panel/run/r1/salvage/1:new"])
        .await;
    let file = bench
        .store()
        .join("objects")
        .join(&object[..2])
        .join(&object[2..]);
    // As an agent does that writes into the object of its own tree, which is the same file.
    let mut permissions = file.metadata().unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
    fs::set_permissions(&file, permissions).unwrap();
    fs::File::options()
        .write(true)
        .truncate(true)
        .open(&file)
        .unwrap();
    fs::write(two.path.join("new"), "precious").unwrap();
    fs::write(two.path.join("other"), "of the second").unwrap();
    let salvage = bench.salvage(&two, "r2").await;
    let damaged = Special::NotSaved(path("new"));
    assert_eq!(salvage.completeness, Completeness::Partial(vec![damaged]));
    assert!(salvage.proof().is_none());
}

#[tokio::test]
async fn an_index_that_is_a_link_is_named_and_never_written_through() {
    let bench = Bench::new().await;
    let tree = bench.prepare("c1").await;
    let elsewhere = bench.dir.path().canonicalize().unwrap().join("elsewhere");
    fs::rename(tree.path.join(".git/index"), &elsewhere).unwrap();
    symlink(&elsewhere, tree.path.join(".git/index")).unwrap();
    let before = fs::read(&elsewhere).unwrap();
    check_kept(&bench, &tree, &[Special::IndexUnreadable]).await;
    bench.collect(&tree, "r2").await;
    git(&bench.user, &["switch", "-q", tree.spec.branch.as_str()]).await;
    fs::write(bench.user.join("README"), "of the person").unwrap();
    git(&bench.user, &["commit", "-q", "-a", "-m", "by the person"]).await;
    let prepared = bench.worktrees.prepare_tree(&bench.repository, &tree.spec).await;
    assert_eq!(prepared.unwrap().person, PersonCommits::Waiting { count: 1 });
    assert_eq!(fs::read(&elsewhere).unwrap(), before);
}

#[tokio::test]
async fn a_repository_inside_does_not_hold_up_commits_of_the_person() {
    let bench = Bench::new().await;
    let (tree, _) = bench.card_with("c1", "src/a.txt", "agent\n").await;
    let inside = tree.path.join("inside");
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join("code"), "x").unwrap();
    git(&inside, &["init", "-q"]).await;
    git(&bench.user, &["switch", "-q", tree.spec.branch.as_str()]).await;
    for (file, expected) in [
        ("README", PersonCommits::Taken { count: 1 }),
        ("inside/code", PersonCommits::Waiting { count: 1 }),
    ] {
        fs::create_dir_all(bench.user.join("inside")).unwrap();
        fs::write(bench.user.join(file), "of the person").unwrap();
        git(&bench.user, &["add", "-A"]).await;
        git(&bench.user, &["commit", "-q", "-m", "by the person"]).await;
        let prepared = bench.worktrees.prepare_tree(&bench.repository, &tree.spec).await;
        assert_eq!(prepared.unwrap().person, expected, "{file}");
    }
    assert_eq!(fs::read_to_string(inside.join("code")).unwrap(), "x");
}

/// Two codebases of one card, of which one begins with the name of the other.
#[tokio::test]
async fn a_half_made_tree_of_another_codebase_is_left_alone() {
    let bench = Bench::new().await;
    let of = |code: &str| {
        let card = CardKey::new("c1").unwrap();
        TreeSpec::new(
            CodebaseKey::new(code).unwrap(),
            card,
            "A title",
            bench.base.clone(),
        )
    };
    let cards = bench.dir.path().canonicalize().unwrap().join("state/cards/c1");
    for (code, stays) in [("web-api", true), ("web", false)] {
        let half = cards.join(format!(".new-{code}.Ab3dE6"));
        fs::create_dir_all(half.join("work")).unwrap();
        let prepared = bench.worktrees.prepare_tree(&bench.repository, &of("web")).await;
        prepared.unwrap();
        assert_eq!(half.exists(), stays, "{code}");
    }
}
