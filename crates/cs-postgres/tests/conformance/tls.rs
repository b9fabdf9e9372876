//! What `sslmode` demands is kept, on a server with a certificate of an authority that nobody else knows.

use std::fs;
use std::path::PathBuf;

use cs_postgres::{OpenError, PostgresStore, Settings, migrate};
use cs_record::RowStore;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

use crate::own_server::OwnServer;
use crate::schema::server;

/// An authority, and what it has signed for `localhost`.
struct Authority {
    root: String,
    certificate: String,
    key: String,
}

fn authority() -> Authority {
    let (root_key, key) = (
        KeyPair::generate().expect("a key"),
        KeyPair::generate().expect("a key"),
    );
    let mut root = CertificateParams::new(Vec::new()).expect("no names");
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let signed = root.self_signed(&root_key).expect("it signs itself");
    let names = CertificateParams::new(vec!["localhost".to_owned()]).expect("a good name");
    let certificate = names
        .signed_by(&key, &Issuer::new(root, root_key))
        .expect("it signs");
    Authority {
        root: signed.pem(),
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    }
}

/// A server with TLS, with a record on it.
struct Secured {
    server: OwnServer,
    files: TempDir,
}

impl Secured {
    async fn new() -> Self {
        let (ours, other) = (authority(), authority());
        let mut server = OwnServer::new(&server(), "host all cs_panel 127.0.0.1/32 trust\n");
        server.write("server.crt", &ours.certificate);
        server.write("server.key", &ours.key);
        server.set("ssl=on");
        server.start();
        let files = TempDir::new().expect("a directory can be made");
        fs::write(files.path().join("ours.pem"), ours.root).expect("written");
        fs::write(files.path().join("other.pem"), other.root).expect("written");
        let settings: Settings = server.url().parse().expect("the URL is good");
        migrate(&settings).await.expect("it migrates");
        Self { server, files }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    fn settings(&self, host: &str, mode: &str, root: Option<&str>) -> Settings {
        let port = self.server.port();
        let root = root.map(|name| format!("&sslrootcert={}", self.file(name).display()));
        let url = format!(
            "postgres://cs_panel:verysecret@{host}:{port}/postgres?application_name=tried&sslmode={mode}{}",
            root.unwrap_or_default()
        );
        url.parse().expect("the URL is good")
    }

    /// Checks whether what goes over the wire is encrypted.
    async fn check_opens(&self, settings: &Settings, encrypted: bool) {
        let store = PostgresStore::open(settings)
            .await
            .unwrap_or_else(|error| panic!("{settings:?}: {error:?}"));
        store.codebases().await.expect("it answers");
        let sessions = "select bool_and(ssl), bool_or(ssl) from pg_stat_ssl join pg_stat_activity using (pid)
                        where application_name = 'tried'";
        let expected = if encrypted { "t|t" } else { "f|f" };
        assert_eq!(self.server.sql(sessions), expected, "{settings:?}");
        store.close().await;
    }

    async fn check_insecure(&self, settings: &Settings) {
        let error = PostgresStore::open(settings).await.expect_err("it is refused");
        assert!(matches!(error, OpenError::Insecure { .. }), "{error:?}");
        let said = error.to_string();
        assert!(
            said.contains("check sslmode and the file of sslrootcert"),
            "{said}"
        );
        assert!(said.contains(&self.server.port().to_string()), "{said}");
        let all = format!("{said} {error:?} {settings:?}");
        assert!(!all.contains("verysecret"), "a password is told: {all}");
    }
}

#[tokio::test]
async fn a_connection_is_as_secure_as_was_asked_for() {
    let it = Secured::new().await;
    for (host, mode, root, encrypted) in [
        ("127.0.0.1", "disable", None, false),
        ("127.0.0.1", "prefer", None, true),
        ("127.0.0.1", "require", None, true),
        ("127.0.0.1", "verify-ca", Some("ours.pem"), true),
        ("localhost", "verify-ca", Some("ours.pem"), true),
        ("localhost", "verify-full", Some("ours.pem"), true),
    ] {
        it.check_opens(&it.settings(host, mode, root), encrypted).await;
    }
    for (host, mode, root) in [
        ("127.0.0.1", "verify-full", Some("ours.pem")),
        ("localhost", "verify-full", Some("other.pem")),
        ("localhost", "verify-full", None),
        ("localhost", "verify-ca", Some("other.pem")),
        ("localhost", "verify-ca", None),
        ("localhost", "verify-full", Some("missing.pem")),
    ] {
        it.check_insecure(&it.settings(host, mode, root)).await;
    }
}

/// Over a wire on which the server offers no TLS, only the modes work that do not demand it.
#[tokio::test]
async fn a_server_without_tls_is_refused_by_who_demands_it() {
    let server = OwnServer::new(&server(), "host all cs_panel 127.0.0.1/32 trust\n");
    server.start();
    let settings: Settings = server.url().parse().expect("the URL is good");
    migrate(&settings).await.expect("it migrates");
    let it = Secured {
        server,
        files: TempDir::new().expect("a directory can be made"),
    };
    it.check_opens(&it.settings("127.0.0.1", "prefer", None), false)
        .await;
    for mode in ["require", "verify-ca", "verify-full"] {
        it.check_insecure(&it.settings("localhost", mode, None)).await;
    }
}
