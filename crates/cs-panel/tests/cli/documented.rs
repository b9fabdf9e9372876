//! docs/cli.md and the binary say the same.

use crate::desk::Desk;

/// Reads the names of the commands from a help text.
fn commands(help: &str) -> Vec<String> {
    let list = help.split("Commands:\n").nth(1).unwrap_or_default();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

fn help(desk: &Desk, args: &[&str]) -> String {
    let output = desk
        .command(&[args, &["--help"]].concat())
        .output()
        .expect("it runs");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn every_command_and_flag_is_in_the_documentation() {
    let docs = include_str!("../../../../docs/cli.md");
    let desk = Desk::new();
    let mut all = Vec::new();
    for name in commands(&help(&desk, &[])) {
        let inner = commands(&help(&desk, &[&name]));
        if inner.is_empty() {
            all.push(vec![name]);
        } else {
            all.extend(inner.into_iter().map(|inner| vec![name.clone(), inner]));
        }
    }
    assert!(all.len() >= 16, "{all:?}");
    for command in all {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let heading = format!("### `cs-panel {}", words.join(" "));
        assert!(docs.contains(&heading), "docs/cli.md has no {heading}");
        let help = help(&desk, &words);
        for flag in help.split_whitespace().filter_map(|word| word.strip_prefix("--")) {
            let flag: String = flag
                .chars()
                .take_while(|c| c.is_ascii_lowercase() || *c == '-')
                .collect();
            let flag = format!("--{flag}");
            assert!(
                flag == "--help" || docs.contains(&flag),
                "docs/cli.md does not know {flag} of {words:?}"
            );
        }
    }
}
