//! Who the user is to git.

use cs_worktree::{Git, GitSetup, Identity, OUTPUT_MAX_BYTES, Transport};

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test looks git up where its caller does"
)]
async fn the_email_is_read_from_the_users_configuration() {
    let home = tempfile::tempdir().expect("a directory");
    let setup = GitSetup {
        path: std::env::var_os("PATH").unwrap_or_default(),
        home: home.path().to_owned(),
        xdg_config_home: None,
        state_dir: home.path().join("state"),
        identity: Identity::default(),
        transport: Transport::default(),
        output_max_bytes: OUTPUT_MAX_BYTES,
    };
    let git = Git::probe(setup).await.expect("git is installed");
    assert_eq!(git.user_email().await.expect("git runs"), None);
    let config = "[user]\n\temail = ada@example.org\n";
    std::fs::write(home.path().join(".gitconfig"), config).expect("written");
    assert_eq!(
        git.user_email().await.expect("git runs").as_deref(),
        Some("ada@example.org")
    );
}
