//! The tests: how they are run, and how much time each part of them may take.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use cargo_metadata::MetadataCommand;

use crate::db;
use crate::tool::{Tool, is_writable, root, say};

/// A part of the tests and its share of the time.
struct Suite {
    name: &'static str,
    packages: &'static [&'static str],
    /// Minutes of the run. Tests run side by side, so each suite has as much of it as it has of the time of all tests.
    minutes: u64,
}

/// The whole takes at most 30 minutes, with [`LIVE_MINUTES`]; a suite that needs more takes it from another one here.
const SUITES: [Suite; 6] = [
    Suite {
        name: "rules",
        packages: &[
            "cs-model",
            "cs-fence",
            "cs-journal",
            "cs-settle",
            "cs-record",
            "cs-harness",
            "cs-testkit",
            "cs-tools",
            "cs-secrets",
            "cs-tracker",
        ],
        minutes: 3,
    },
    Suite {
        name: "simulation",
        packages: &["cs-sim"],
        minutes: 3,
    },
    Suite {
        name: "stores",
        packages: &["cs-sqlite", "cs-postgres"],
        minutes: 4,
    },
    Suite {
        name: "processes",
        packages: &["cs-supervise", "cs-worktree", "cs-acp", "cs-agent-script"],
        minutes: 5,
    },
    Suite {
        name: "end to end",
        packages: &["cs-daemon", "cs-panel"],
        minutes: 10,
    },
    Suite {
        name: "tools",
        packages: &["xtask"],
        minutes: 1,
    },
];

/// Minutes of the real agents that CI plays (`cargo xtask live --short`), which are no tests of a package.
pub(crate) const LIVE_MINUTES: u64 = 4;

/// The examples that run by themselves; each shows that its crate is useful alone.
const EXAMPLES: [(&str, &str); 12] = [
    ("cs-fence", "fence"),
    ("cs-journal", "claim_once"),
    ("cs-settle", "decide"),
    ("cs-record", "answer_a_card"),
    ("cs-supervise", "hold_and_stop"),
    ("cs-supervise", "in_process"),
    ("cs-worktree", "land_a_card"),
    ("cs-worktree", "save_a_tree"),
    ("cs-harness", "drive_a_command"),
    ("cs-acp", "lead_an_agent"),
    ("cs-tools", "list_tools"),
    ("cs-secrets", "redact"),
];

/// Where nextest writes its report, as `.config/nextest.toml` says.
const JUNIT: &str = "target/nextest/default/junit.xml";

#[cfg(test)]
const MINUTES: u64 = 30;

/// The crates whose tests start no process and need no disk.
const QUICK: [&str; 6] = [
    "cs-model",
    "cs-fence",
    "cs-settle",
    "cs-record",
    "cs-harness",
    "xtask",
];

/// Which tests there are beside those that need nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// No others.
    Plain,
    /// Those that need a Postgres too.
    Postgres,
}

/// Turns on the tests that need a Postgres. Without them nothing asks for one, and nothing is skipped.
pub(crate) const POSTGRES_FEATURES: &str = "cs-postgres/postgres-tests,cs-panel/postgres-tests";
/// Everything that is there to be built.
pub(crate) const ALL_FEATURES: &str = "cs-postgres/postgres-tests,cs-panel/postgres-tests,cs-panel/bwrap-tests,cs-panel/live-tests,cs-tools/conformance-tests";
/// Turns on what drives real agents: `cargo xtask live` installs them.
pub(crate) const LIVE_FEATURE: &str = "cs-panel/live-tests";
/// Turns on what plays the conformance suite: `cargo xtask conformance` installs it.
pub(crate) const CONFORMANCE_FEATURE: &str = "cs-tools/conformance-tests";
/// Where those tests find the server.
pub(crate) const POSTGRES_URL: &str = "CS_PANEL_TEST_POSTGRES";

/// Runs every test of the workspace.
pub(crate) fn test(scope: Scope) -> Result<()> {
    match scope {
        Scope::Plain => test_with(&with_sandbox(""), &|tool| tool),
        Scope::Postgres => db::with_server(|url| {
            test_with(&with_sandbox(POSTGRES_FEATURES), &|tool| {
                tool.with(POSTGRES_URL, url)
            })
        }),
    }
}

/// Turns on the tests that need bubblewrap.
const SANDBOX_FEATURE: &str = "cs-panel/bwrap-tests";

/// The features of the tests that this machine can run beside those that were asked for.
fn with_sandbox(features: &str) -> String {
    let probe = Tool::program(Path::new("bwrap")).args(&["--unshare-pid", "--ro-bind", "/", "/", "true"]);
    if probe.works() {
        return format!("{SANDBOX_FEATURE},{features}");
    }
    say(
        "NOT RUN: the tests of the sandbox. bubblewrap is not installed here, or may make no namespaces: install the package `bubblewrap`",
    );
    features.to_owned()
}

fn test_with(features: &str, given: &dyn Fn(Tool) -> Tool) -> Result<()> {
    let features: &[&str] = if features.is_empty() {
        &[]
    } else {
        &["--features", features]
    };
    let tests = |args: &[&str]| isolated(given(Tool::cargo(&[args, features].concat())));
    if !Tool::cargo(&["nextest", "--version"]).works() {
        tests(&["test", "--workspace", "--locked", "--no-fail-fast"]).run()?;
        return run_examples(features);
    }
    let report = root().join(JUNIT);
    if report.exists() {
        fs::remove_file(&report)?; // an old report must not pass for this run's
    }
    let outcome = tests(&["nextest", "run", "--workspace", "--locked", "--no-fail-fast"]).run();
    if let Ok(xml) = fs::read_to_string(&report) {
        say(&shares(&times_by_package(&xml), time_of_run(&xml)));
    }
    outcome?;
    tests(&["test", "--workspace", "--locked", "--doc", "--quiet"]).run()?;
    run_examples(features)
}

/// Runs every example. All are built at once: one by one, cargo would build what they share for each of them.
fn run_examples(features: &[&str]) -> Result<()> {
    let build = ["build", "--workspace", "--examples", "--locked", "--quiet"];
    Tool::cargo(&[&build, features].concat()).run()?;
    let built = MetadataCommand::new().current_dir(root()).no_deps().exec()?;
    for (_, example) in EXAMPLES {
        let program = built.target_directory.join("debug/examples").join(example);
        isolated(Tool::program(program.as_std_path())).run()?;
    }
    Ok(())
}

/// Runs the tests of the quick crates.
pub(crate) fn test_quick() -> Result<()> {
    let mut args = vec!["test", "--locked", "--lib", "--bins", "--quiet"];
    for package in QUICK {
        args.extend(["-p", package]);
    }
    isolated(Tool::cargo(&args)).run()
}

/// The same for everybody: no git identity or configuration of the developer, temporary files in memory where that exists.
pub(crate) fn isolated(mut tool: Tool) -> Tool {
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
        "EMAIL",
    ] {
        tool = tool.without(name);
    }
    tool = tool
        .with("GIT_CONFIG_GLOBAL", "/dev/null")
        .with("GIT_CONFIG_NOSYSTEM", "1")
        .with("INSTA_UPDATE", "no");
    let memory = "/dev/shm";
    if is_writable(Path::new(memory)) {
        tool.with("TMPDIR", memory)
    } else {
        tool
    }
}

/// Reads the time of each package's tests from nextest's JUnit report, whose suites are named `package` or `package::target`.
fn times_by_package(xml: &str) -> BTreeMap<String, Duration> {
    let mut times: BTreeMap<String, Duration> = BTreeMap::new();
    let mut package = "";
    for tag in xml.split('<') {
        if tag.starts_with("testsuite ") {
            let name = attribute(tag, "name").unwrap_or_default();
            package = name.split("::").next().unwrap_or_default();
        } else if tag.starts_with("testcase ") {
            let seconds = attribute(tag, "time")
                .and_then(|text| text.parse().ok())
                .unwrap_or(0.0);
            *times.entry(package.to_owned()).or_default() += Duration::from_secs_f64(seconds);
        }
    }
    times
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// Reads how long the whole run took, in seconds.
fn time_of_run(xml: &str) -> Option<f64> {
    let run = xml.split('<').find(|tag| tag.starts_with("testsuites "))?;
    attribute(run, "time")?.parse().ok()
}

/// A run of unknown length counts as one in which the tests ran one after another.
fn shares(times: &BTreeMap<String, Duration>, run: Option<f64>) -> String {
    let all: Duration = times.values().sum();
    let at_once = run.map_or(1.0, |run| all.as_secs_f64() / run).max(1.0);
    let mut lines = format!("\ntime of the run by suite (on average {at_once:.1} tests ran at once)");
    for Suite {
        name,
        packages,
        minutes,
    } in &SUITES
    {
        let tests: Duration = packages.iter().filter_map(|package| times.get(*package)).sum();
        let spent = tests.as_secs_f64() / at_once;
        let note = if Duration::from_secs_f64(spent) > Duration::from_secs(60 * minutes) {
            "  OVER ITS SHARE"
        } else {
            ""
        };
        lines.push_str(&format!(
            "\n  {name:<12} {spent:>7.1} s of {minutes:>2} min{note}"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_are_the_whole_and_every_package_has_one() {
        let tests: u64 = SUITES.iter().map(|suite| suite.minutes).sum();
        assert_eq!(tests + LIVE_MINUTES, MINUTES);
        let mut listed: Vec<&str> = SUITES.iter().flat_map(|suite| suite.packages).copied().collect();
        for entry in fs::read_dir(root().join("crates")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(listed.contains(&name.as_str()), "{name} is in no suite");
        }
        listed.sort_unstable();
        let count = listed.len();
        listed.dedup();
        assert_eq!(listed.len(), count, "a package is in two suites");
    }

    /// The one that is a program of the tests takes a script.
    #[test]
    fn every_example_is_run_and_fits_a_screen() {
        let mut found = Vec::new();
        for package in fs::read_dir(root().join("crates")).unwrap() {
            let package = package.unwrap();
            let Ok(examples) = fs::read_dir(package.path().join("examples")) else {
                continue;
            };
            for example in examples {
                let path = example.unwrap().path();
                let main = if path.is_dir() {
                    path.join("main.rs")
                } else {
                    path.clone()
                };
                let text = fs::read_to_string(&main).unwrap();
                let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
                let lines = text.lines().filter(is_code).count();
                assert!(lines <= 40, "{} has {lines} lines of code", main.display());
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                found.push((package.file_name().into_string().unwrap(), name));
            }
        }
        found.retain(|(package, _)| package != "cs-agent-script");
        found.sort_unstable();
        let mut listed = EXAMPLES.map(|(package, name)| (package.to_owned(), name.to_owned()));
        listed.sort_unstable();
        assert_eq!(found, listed);
    }

    #[test]
    fn the_example_with_a_store_of_its_own_fits_on_a_page() {
        let example = include_str!("../../crates/cs-journal/examples/claim_once.rs");
        assert!(example.lines().count() <= 40);
    }

    #[test]
    fn a_suite_over_its_share_is_named() {
        let xml = |time: &str| {
            format!(
                r#"<testsuites name="run" time="{time}"><testsuite name="cs-sqlite::laws" tests="2">
                <testcase name="a &lt; b" time="300.5"></testcase><testcase name="c" time="180.5"/></testsuite>
                <testsuite name="cs-model" tests="1"><testcase name="d" time="1"/></testsuite></testsuites>"#
            )
        };
        let times = times_by_package(&xml("1"));
        assert_eq!(times["cs-sqlite"], Duration::from_secs(481));
        let line = |time: &str, name: &str| {
            let report = shares(&times, time_of_run(&xml(time)));
            let line = report.lines().find(|line| line.contains(name));
            line.unwrap_or_else(|| panic!("{name} is not in {report}"))
                .to_owned()
        };
        // One after another, in a longer run, and without a time.
        for time in ["482", "600", ""] {
            assert!(line(time, "stores").ends_with("OVER ITS SHARE"), "{time}");
        }
        let two_at_once = line("241", "stores");
        assert!(two_at_once.contains("240.5 s of  4 min  OVER"), "{two_at_once}");
        let three_at_once = line("160", "stores");
        assert!(!three_at_once.contains("OVER"), "{three_at_once}");
        assert!(!line("482", "rules").contains("OVER"));
    }
}
