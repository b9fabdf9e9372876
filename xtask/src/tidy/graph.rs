//! The graph of the house: who may depend on whom, and who may use which outside crate.

use std::path::Path;

use cargo_metadata::{DependencyKind, Metadata};

use super::finding::Finding;

const TESTKIT: &str = "cs-testkit";

/// Every crate of the house, also those still to come, and what of ours it may depend on.
const EDGES: [(&str, &[&str]); 20] = [
    ("cs-model", &[]),
    ("cs-fence", &["cs-model"]),
    ("cs-journal", &["cs-model", "cs-fence"]),
    ("cs-settle", &["cs-model", "cs-fence"]),
    ("cs-record", &["cs-model", "cs-fence", "cs-journal", "cs-settle"]),
    (
        "cs-sqlite",
        &["cs-model", "cs-fence", "cs-journal", "cs-settle", "cs-record"],
    ),
    (
        "cs-postgres",
        &["cs-model", "cs-fence", "cs-journal", "cs-settle", "cs-record"],
    ),
    ("cs-supervise", &["cs-model"]),
    ("cs-worktree", &["cs-model", "cs-supervise"]),
    ("cs-harness", &["cs-model", "cs-supervise"]),
    ("cs-acp", &["cs-model", "cs-harness"]),
    ("cs-tracker", &["cs-model", "cs-supervise"]),
    ("cs-tools", &["cs-model"]),
    ("cs-secrets", &["cs-model"]),
    (
        "cs-daemon",
        &[
            "cs-model",
            "cs-fence",
            "cs-journal",
            "cs-settle",
            "cs-record",
            "cs-supervise",
            "cs-worktree",
            "cs-harness",
            "cs-tracker",
            "cs-tools",
            "cs-secrets",
        ],
    ),
    (
        "cs-panel",
        &[
            "cs-model",
            "cs-fence",
            "cs-journal",
            "cs-settle",
            "cs-record",
            "cs-sqlite",
            "cs-postgres",
            "cs-supervise",
            "cs-worktree",
            "cs-harness",
            "cs-acp",
            "cs-tracker",
            "cs-tools",
            "cs-secrets",
            "cs-daemon",
            "cs-agent-script",
        ],
    ),
    ("cs-agent-script", &[]),
    (
        TESTKIT,
        &[
            "cs-model",
            "cs-fence",
            "cs-journal",
            "cs-settle",
            "cs-record",
            "cs-secrets",
        ],
    ),
    (
        "cs-sim",
        &[
            "cs-model",
            "cs-fence",
            "cs-journal",
            "cs-settle",
            "cs-record",
            "cs-supervise",
            "cs-worktree",
            "cs-harness",
            "cs-secrets",
            "cs-daemon",
            "cs-testkit",
        ],
    ),
    ("xtask", &[]),
];

/// Outside crates with a home; `deny.toml` says the same of what comes in through others.
const HOMES: [(&[&str], &[&str]); 3] = [
    (
        &[
            "sqlx",
            "sqlx-core",
            "sqlx-sqlite",
            "sqlx-postgres",
            "rusqlite",
            "tokio-postgres",
        ],
        &["cs-sqlite", "cs-postgres"],
    ),
    (
        &[
            "axum",
            "warp",
            "actix-web",
            "tiny_http",
            "hyper",
            "hyper-util",
            "rmcp",
        ],
        &["cs-tools"],
    ),
    (
        &[
            "reqwest",
            "ureq",
            "octocrab",
            "isahc",
            "attohttpc",
            "minreq",
            "curl",
        ],
        &["cs-tracker"],
    ),
];

/// A crate of the workspace, as `cargo metadata` tells it.
#[derive(Debug, Clone)]
pub(super) struct Package {
    pub(super) name: String,
    /// Relative to the root of the workspace.
    pub(super) manifest: String,
    pub(super) dependencies: Vec<Dependency>,
}

#[derive(Debug, Clone)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) kind: DependencyKind,
    /// `None`: it is a path without a version.
    pub(super) version: Option<String>,
}

impl Package {
    pub(super) fn all(metadata: &Metadata, root: &Path) -> Vec<Self> {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let package = |package: &cargo_metadata::Package| {
            let manifest = package.manifest_path.as_std_path();
            let dependencies = package.dependencies.iter().map(|dependency| Dependency {
                name: dependency.name.clone(),
                kind: dependency.kind,
                version: match (&dependency.path, dependency.req.to_string().as_str()) {
                    (Some(_), "*") => None,
                    (_, version) => Some(version.to_owned()),
                },
            });
            Self {
                name: package.name.to_string(),
                manifest: manifest
                    .strip_prefix(&root)
                    .unwrap_or(manifest)
                    .to_string_lossy()
                    .into_owned(),
                dependencies: dependencies.collect(),
            }
        };
        metadata.workspace_packages().into_iter().map(package).collect()
    }
}

/// Whether cs-testkit may depend on this crate, so that the crate's own unit tests would see it twice.
pub(super) fn testkit_rests_on(package: &str) -> bool {
    allowed(TESTKIT).is_some_and(|below| below.contains(&package))
}

/// All findings about the graph.
pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let Some(below) = allowed(&package.name) else {
            let what = format!("the crate {} has no place in the house", package.name);
            findings.push(finding(
                package,
                what,
                "give it one in xtask's table of edges, with a reason in the commit",
            ));
            continue;
        };
        for dependency in &package.dependencies {
            findings.extend(check_edge(package, below, dependency));
        }
    }
    findings
}

fn check_edge(package: &Package, below: &[&str], dependency: &Dependency) -> Option<Finding> {
    let name = dependency.name.as_str();
    if name == TESTKIT && dependency.kind == DependencyKind::Development {
        dependency.version.as_ref()?;
        let what = format!("{} names a version of {TESTKIT}", package.name);
        return Some(finding(
            package,
            what,
            "a dev-dependency on it names its path only",
        ));
    }
    let is_ours = name.starts_with("cs-") || allowed(name).is_some();
    if is_ours && !below.contains(&name) {
        let what = format!("{} may not depend on {name}", package.name);
        return Some(finding(
            package,
            what,
            "let cs-daemon compose the two, or move what is shared to cs-model",
        ));
    }
    let home = HOMES
        .iter()
        .find(|(crates, _)| crates.contains(&name))
        .map(|(_, homes)| *homes)?;
    if home.contains(&package.name.as_str()) {
        return None;
    }
    let what = format!(
        "{} may not use {name}: its home is {}",
        package.name,
        home.join(" and ")
    );
    Some(finding(
        package,
        what,
        "ask the home crate for a method that does it",
    ))
}

fn allowed(package: &str) -> Option<&'static [&'static str]> {
    EDGES
        .iter()
        .find(|(name, _)| *name == package)
        .map(|(_, below)| *below)
}

fn finding(package: &Package, what: String, cure: &'static str) -> Finding {
    Finding {
        path: package.manifest.clone(),
        line: 1,
        what,
        cure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, kind: DependencyKind, dependency: &str, version: Option<&str>) -> Package {
        let version = version.map(str::to_owned);
        let dependency = Dependency {
            name: dependency.to_owned(),
            kind,
            version,
        };
        Package {
            name: name.to_owned(),
            manifest: "Cargo.toml".to_owned(),
            dependencies: vec![dependency],
        }
    }

    fn is_found(from: &str, kind: DependencyKind, to: &str, version: Option<&str>) -> bool {
        !check(&[package(from, kind, to, version)]).is_empty()
    }

    #[test]
    fn forbidden_edges_are_found_in_every_kind_of_dependency() {
        let forbidden = [
            ("cs-model", "cs-fence"),
            ("cs-worktree", "cs-harness"),
            ("cs-supervise", "cs-worktree"),
            ("cs-record", "cs-sqlite"),
            ("cs-daemon", "cs-panel"),
            ("cs-daemon", "cs-sqlite"),
            ("cs-agent-script", "cs-model"),
            ("cs-tools", "cs-record"),
            ("cs-model", "cs-new"),
            ("cs-model", "xtask"),
        ];
        for (from, to) in forbidden {
            for kind in [
                DependencyKind::Normal,
                DependencyKind::Build,
                DependencyKind::Development,
            ] {
                assert!(is_found(from, kind, to, None), "{from} -> {to}");
            }
        }
        assert!(!is_found(
            "cs-postgres",
            DependencyKind::Normal,
            "cs-record",
            None
        ));
        assert!(!is_found("cs-daemon", DependencyKind::Normal, "cs-tracker", None));
    }

    #[test]
    fn the_house_has_no_cycle() {
        let position = |name: &str| EDGES.iter().position(|(other, _)| *other == name).unwrap();
        let mut settled: Vec<&str> = Vec::new();
        while settled.len() < EDGES.len() {
            let ready = |(name, below): &&(&'static str, &[&str])| {
                !settled.contains(name) && below.iter().all(|other| settled.contains(other))
            };
            let next = EDGES
                .iter()
                .find(ready)
                .expect("a cycle, or an edge to a crate that is not in the table");
            settled.push(EDGES[position(next.0)].0);
        }
    }

    #[test]
    fn cs_testkit_is_a_dev_dependency_by_path() {
        assert!(!is_found(
            "cs-record",
            DependencyKind::Development,
            "cs-testkit",
            None
        ));
        assert!(is_found(
            "cs-record",
            DependencyKind::Development,
            "cs-testkit",
            Some("^0.1")
        ));
        assert!(is_found("cs-daemon", DependencyKind::Normal, "cs-testkit", None));
    }

    #[test]
    fn databases_and_http_stay_at_home() {
        let kind = DependencyKind::Normal;
        let any = Some("^1");
        assert!(is_found("cs-record", kind, "sqlx", any) && !is_found("cs-sqlite", kind, "sqlx", any));
        assert!(is_found("cs-daemon", kind, "axum", any) && !is_found("cs-tools", kind, "axum", any));
        assert!(is_found("cs-tools", kind, "reqwest", any) && !is_found("cs-tracker", kind, "reqwest", any));
        assert!(!is_found("cs-record", kind, "serde", any));
    }

    #[test]
    fn a_crate_without_a_place_is_found() {
        assert!(is_found("cs-extra", DependencyKind::Normal, "serde", None));
    }
}
