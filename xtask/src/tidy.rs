//! `cargo xtask tidy`: the rules of the house that no other tool knows.
//!
//! Each rule is a pure function over sources or over the graph of the crates; this file finds the one and the other, and
//! prints what the rules found.

mod citations;
mod finding;
mod graph;
mod rules;
mod size;
mod source;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;

use crate::tool::{root, say};
use finding::Finding;
use source::Source;

/// Checks the workspace that xtask itself belongs to, and prints every finding.
pub(crate) fn check_workspace() -> Result<()> {
    say("\n$ cargo xtask tidy");
    let findings = check(&root())?;
    for finding in &findings {
        say(&finding.to_string());
    }
    match findings.len() {
        0 => Ok(()),
        count => bail!("tidy found {count} thing(s) to put right"),
    }
}

/// All findings of the workspace in `dir`, by file and line.
fn check(dir: &Path) -> Result<Vec<Finding>> {
    let metadata = MetadataCommand::new()
        .manifest_path(dir.join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cannot read the graph of the crates")?;
    let mut findings = graph::check(&graph::Package::all(&metadata, dir));
    let mut paths = Vec::new();
    for part in ["crates", "xtask", "tests"] {
        rust_files(&dir.join(part), &mut paths)?;
    }
    let mut cited = Vec::new();
    for path in &paths {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let relative = path
            .strip_prefix(dir)
            .expect("it was found below")
            .to_string_lossy()
            .into_owned();
        match Source::parse(&relative, &text) {
            Ok(source) => {
                findings.extend(rules::check(&source));
                findings.extend(size::check(&source));
                cited.extend(citations::find(&source));
            }
            Err(finding) => findings.push(finding),
        }
    }
    let architecture = dir.join(citations::ARCHITECTURE);
    let architecture = if architecture.exists() {
        fs::read_to_string(&architecture)
            .with_context(|| format!("cannot read {}", architecture.display()))?
    } else {
        String::new() // not every workspace has every part
    };
    findings.extend(citations::check(&architecture, &cited));
    findings.sort();
    Ok(findings)
}

fn rust_files(dir: &Path, found: &mut Vec<std::path::PathBuf>) -> Result<()> {
    if !dir.exists() {
        return Ok(()); // not every workspace has every part
    }
    for entry in fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, name: &str, text: &str) {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn workspace(model_dependencies: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        write(
            dir.path(),
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n",
        );
        for (name, dependencies) in [("cs-model", model_dependencies), ("cs-fence", "")] {
            let manifest = format!(
                "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\n{dependencies}\n"
            );
            write(dir.path(), &format!("crates/{name}/Cargo.toml"), &manifest);
            write(dir.path(), &format!("crates/{name}/src/lib.rs"), "//! Nothing.\n");
        }
        dir
    }

    #[test]
    fn a_real_workspace_with_a_forbidden_edge_fails() {
        let clean = workspace("");
        assert!(check(clean.path()).unwrap().is_empty());
        let bad = workspace("cs-fence = { path = \"../cs-fence\" }");
        let findings = check(bad.path()).unwrap();
        let [finding] = findings.as_slice() else {
            panic!("{findings:?}")
        };
        let said = finding.to_string();
        assert!(
            said.starts_with("crates/cs-model/Cargo.toml:") && said.contains("cs-fence"),
            "{said}"
        );
    }

    #[test]
    fn a_real_workspace_with_a_bad_file_fails() {
        let dir = workspace("");
        write(
            dir.path(),
            "crates/cs-fence/src/lib.rs",
            "//! X.\n\npub fn x() {\n    println!(\"x\");\n}\n",
        );
        write(dir.path(), "crates/cs-fence/src/broken.rs", "fn x( {\n");
        let said: Vec<String> = check(dir.path())
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0].starts_with("crates/cs-fence/src/broken.rs:1: "),
            "{said:?}"
        );
        assert!(said[1].starts_with("crates/cs-fence/src/lib.rs:4: "), "{said:?}");
    }

    #[test]
    fn a_real_workspace_with_an_invariant_that_nobody_holds_fails() {
        let dir = workspace("");
        write(
            dir.path(),
            citations::ARCHITECTURE,
            "## Invariants\n1. **A.** It holds.\n",
        );
        let findings = check(dir.path()).unwrap();
        let [finding] = findings.as_slice() else {
            panic!("{findings:?}")
        };
        assert!(
            finding.to_string().starts_with("docs/architecture.md:2: "),
            "{finding}"
        );
        write(
            dir.path(),
            "tests/it/x.rs",
            "/// Invariant 1.\n#[test]\nfn it_holds() {}\n",
        );
        assert!(check(dir.path()).unwrap().is_empty());
    }
}
