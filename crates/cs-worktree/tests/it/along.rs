//! Files that come along into a tree.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use cs_worktree::*;

use crate::bench::*;

fn patterns(list: &[&str]) -> Vec<String> {
    list.iter().map(|pattern| (*pattern).to_owned()).collect()
}

/// A user with ignored files of every kind.
async fn user_with_files(bench: &Bench) {
    let put = |path: &str, text: &str| {
        let file = bench.user.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    put(".gitignore", "*.ignored\n.env\n/packages/\n");
    git(&bench.user, &["commit", "-q", "-a", "-m", "ignore"]).await;
    put(".env", "SECRET=1\n");
    put("packages/bin/tool", "#!/bin/sh\n");
    fs::set_permissions(
        bench.user.join("packages/bin/tool"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    put("packages/we\nird -name", "x");
    symlink("bin/tool", bench.user.join("packages/inside")).unwrap();
    symlink("../../home", bench.user.join("packages/outside")).unwrap();
    put("notes.txt", "not ignored");
    put("other.ignored", "not asked for");
}

#[tokio::test]
async fn ignored_files_that_match_come_along_and_links_do_not_lead_out() {
    let bench = Bench::new().await;
    user_with_files(&bench).await;
    let tree = bench.prepare("c1").await;
    let wanted = patterns(&[".env", "/packages/", "notes.txt", "-leading"]);
    let brought = bench
        .worktrees
        .bring_along(&bench.repository, &tree, &wanted)
        .await
        .unwrap();
    assert_eq!((brought.made, brought.there), (4, 0), "{brought:?}");
    let left: Vec<_> = brought
        .left
        .iter()
        .map(|(path, why)| (path.to_string(), *why))
        .collect();
    let expected = [
        ("notes.txt".to_owned(), LeftBehind::NotIgnored),
        ("packages/outside".to_owned(), LeftBehind::LeadsOut),
    ];
    assert_eq!(left, expected);
    let read = |path: &str| fs::read_to_string(tree.path.join(path)).unwrap();
    assert_eq!(read(".env"), "SECRET=1\n");
    assert_eq!(read("packages/we\nird -name"), "x");
    assert_eq!(read("packages/inside"), "#!/bin/sh\n");
    let mode = fs::metadata(tree.path.join("packages/bin/tool")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(!tree.path.join("other.ignored").exists());
    let status = bench.worktrees.status(&tree).await.unwrap();
    assert!(status.is_clean(), "{status:?}");
    let salvage = bench.salvage(&tree, "r1").await;
    assert_eq!(
        salvage.completeness,
        Completeness::Nothing,
        "no secret goes into git"
    );
}

#[tokio::test]
async fn what_the_tree_has_stays_and_a_link_in_it_is_not_followed() {
    let bench = Bench::new().await;
    user_with_files(&bench).await;
    let tree = bench.prepare("c1").await;
    fs::write(tree.path.join(".env"), "SECRET=agent\n").unwrap();
    let elsewhere = bench.dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, tree.path.join("packages")).unwrap();
    let wanted = patterns(&[".env", "/packages/"]);
    let brought = bench
        .worktrees
        .bring_along(&bench.repository, &tree, &wanted)
        .await
        .unwrap();
    assert_eq!((brought.made, brought.there), (0, 1));
    assert!(
        brought.left.iter().all(|(_, why)| *why == LeftBehind::InTheWay),
        "{brought:?}"
    );
    assert_eq!(
        fs::read_to_string(tree.path.join(".env")).unwrap(),
        "SECRET=agent\n"
    );
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}
