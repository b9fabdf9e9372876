//! Whether a tool of the agent may be used: nobody is there to be asked.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use cs_harness::{Permissions, one_line};
use serde_json::{Value, json};

use crate::command::Command;
use crate::tools;

/// What is known of a tool call: its parts come in several messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) title: String,
    pub(crate) kind: String,
    pub(crate) places: Vec<String>,
    pub(crate) command: Option<Command>,
    /// Whether it is of the server of tools that the agent was given.
    pub(crate) is_ours: bool,
}

/// Of a call so many places are looked at. One with more is not allowed where places count.
const PLACES_MAX: usize = 100;

const PLACE_MAX_BYTES: usize = 4096;

/// Keys under which agents name a file in a tool's arguments.
const PLACE_KEYS: [&str; 5] = ["path", "file_path", "filePath", "absolute_path", "target_file"];

impl Call {
    /// Takes over what a message tells of the call.
    pub(crate) fn learn(&mut self, message: &Value) {
        let text = |key: &str| message.get(key).and_then(Value::as_str);
        if let Some(title) = text("title") {
            self.title = one_line(title);
        }
        if let Some(kind) = text("kind") {
            self.kind = one_line(kind);
        }
        self.is_ours |= tools::is_ours(message);
        let input = message.get("rawInput").unwrap_or(&Value::Null);
        for place in places(message, input) {
            if self.places.len() <= PLACES_MAX && !self.places.contains(&place) {
                self.places.push(place);
            }
        }
        if let Some(command) = Command::of(input) {
            self.command = Some(command);
        }
    }

    /// Takes the command from the title of a request, for an agent that is known to write it there, whole, and nowhere else.
    pub(crate) fn learn_from_title(&mut self, request: &Value) {
        let text = |key: &str| request.get(key).and_then(Value::as_str);
        let is_shell = text("toolCallId").is_some_and(|id| id.starts_with("run_shell_command"));
        if self.command.is_none() && is_shell {
            let title = request.get("title").unwrap_or(&Value::Null);
            self.command = Command::of(&json!({"command": title}));
        }
    }

    /// How much memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let places: usize = self.places.iter().map(String::len).sum();
        self.title.len() + self.kind.len() + places + self.command.as_ref().map_or(0, Command::bytes)
    }

    /// What it is, for people.
    pub(crate) fn phrase(&self) -> String {
        match (self.title.as_str(), self.kind.as_str()) {
            ("", "") => "a tool".to_owned(),
            ("", kind) => kind.to_owned(),
            (title, "") => title.to_owned(),
            (title, kind) => format!("{kind}: {title}"),
        }
    }

    /// Whether the call stays within the permissions.
    pub(crate) fn is_allowed(&self, permissions: Permissions, cwd: &str) -> bool {
        match permissions {
            Permissions::Full => true,
            Permissions::Edit => match self.kind.as_str() {
                "read" | "search" | "think" => true,
                "edit" | "delete" | "move" => self.is_inside(cwd),
                "execute" => self.command.as_ref().is_some_and(Command::is_for_a_commit),
                _ => false,
            },
        }
    }

    /// Whether it names places, and all of them lie in the directory, none in what git keeps there: its settings and hooks are programs.
    /// Links are not followed: this holds a careless agent, not one that means harm.
    fn is_inside(&self, cwd: &str) -> bool {
        let cwd = Path::new(cwd);
        let inside = |place: &String| {
            let place = place.strip_prefix("file://").unwrap_or(place);
            plain(&cwd.join(place))
                .and_then(|place| place.strip_prefix(cwd).map(Path::to_owned).ok())
                .is_some_and(|place| place != Path::new("") && !place.iter().any(is_of_git))
        };
        !self.places.is_empty() && self.places.len() <= PLACES_MAX && self.places.iter().all(inside)
    }
}

fn is_of_git(part: &OsStr) -> bool {
    part.eq_ignore_ascii_case(".git")
}

/// A path without `.` and `..`; nothing for one that leads above its root.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut all = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                if !all.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => all.push(part),
        }
    }
    Some(all)
}

fn places(message: &Value, input: &Value) -> Vec<String> {
    let list = |key: &str| message.get(key).and_then(Value::as_array).into_iter().flatten();
    let in_list = |item: &Value| item.get("path").and_then(Value::as_str).map(str::to_owned);
    let named = list("locations").chain(list("content")).filter_map(in_list);
    let given = PLACE_KEYS
        .iter()
        .filter_map(|key| input.get(*key)?.as_str())
        .map(str::to_owned);
    let all = named.chain(given).take(PLACES_MAX + 1);
    // No file has a longer name: such a place lies nowhere, and so outside.
    all.map(|place| {
        if place.len() > PLACE_MAX_BYTES {
            "/".to_owned()
        } else {
            place
        }
    })
    .collect()
}

/// What a request for permission is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Yes, and to all like it where there is no other yes.
    Allow,
    /// Yes, to this one call only: the next one like it may be about something else.
    AllowOnce,
    Reject,
}

/// The answer to choose among those that the agent offers; nothing where none fits.
pub(crate) fn option(options: &Value, verdict: Verdict) -> Option<String> {
    let kinds: &[&str] = match verdict {
        Verdict::Allow => &["allow_once", "allow_always"],
        Verdict::AllowOnce => &["allow_once"],
        Verdict::Reject => &["reject_once", "reject_always"],
    };
    let offered = options.as_array()?;
    let of_kind = |kind: &str| {
        let found = offered
            .iter()
            .find(|option| option.get("kind").and_then(Value::as_str) == Some(kind))?;
        found.get("optionId")?.as_str().map(str::to_owned)
    };
    kinds.iter().copied().find_map(of_kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit_allows(message: &Value) -> bool {
        let mut call = Call::default();
        call.learn(message);
        assert!(call.is_allowed(Permissions::Full, "/tree"));
        call.is_allowed(Permissions::Edit, "/tree")
    }

    #[test]
    fn edit_allows_changes_inside_the_tree_and_what_a_commit_needs() {
        let allowed = [
            json!({"kind": "read", "locations": [{"path": "/etc/passwd"}]}),
            json!({"kind": "search"}),
            json!({"kind": "edit", "locations": [{"path": "/tree/a"}, {"path": "/tree/b/../c"}]}),
            json!({"kind": "edit", "locations": [{"path": "a/b"}]}),
            json!({"kind": "edit", "content": [{"type": "diff", "path": "/tree/a", "newText": ""}]}),
            json!({"kind": "delete", "rawInput": {"file_path": "/tree/a"}}),
            json!({"kind": "execute", "rawInput": {"command": "git commit -m 'a b'"}}),
            json!({"kind": "execute", "rawInput": {"command": ["git", "status"]}}),
        ];
        for message in allowed {
            assert!(edit_allows(&message), "{message}");
        }
    }

    #[test]
    fn edit_allows_nothing_else() {
        let denied = [
            json!({}),
            json!({"kind": "other"}),
            json!({"kind": "fetch", "rawInput": {"url": "http://x"}}),
            json!({"kind": "edit"}),
            json!({"kind": "edit", "locations": [{"path": "/tree/a"}, {"path": "/etc/passwd"}]}),
            json!({"kind": "edit", "locations": [{"path": "/tree/../etc/passwd"}]}),
            json!({"kind": "edit", "locations": [{"path": "/trees/a"}]}),
            json!({"kind": "edit", "locations": [{"path": "/../../.."}]}),
            json!({"kind": "delete", "locations": [{"path": "/tree"}]}),
            json!({"kind": "edit", "locations": [{"path": "/tree/.git/config"}]}),
            json!({"kind": "edit", "locations": [{"path": "sub/.GIT/hooks/pre-commit"}]}),
            json!({"kind": "edit", "locations": [{"path": format!("/tree/{}", "x".repeat(PLACE_MAX_BYTES))}]}),
            json!({"kind": "execute", "rawInput": {"command": "git diff --output=/etc/x"}}),
            json!({"kind": "execute", "rawInput": {"command": "rm -r ."}}),
            json!({"kind": "execute", "rawInput": {"command": "git push"}}),
            json!({"kind": "execute", "rawInput": {"command": "git commit -m x; rm -r ."}}),
            json!({"kind": "execute", "rawInput": {"command": "git commit-tree x"}}),
            json!({"kind": "execute", "rawInput": {"command": "git add $(rm x)"}}),
            json!({"kind": "execute", "title": "git status"}),
        ];
        for message in denied {
            assert!(!edit_allows(&message), "{message}");
        }
    }

    #[test]
    fn a_command_is_read_from_a_title_only_where_that_is_known_to_be_the_command() {
        for (id, title, expected) in [
            ("run_shell_command__1", "git add -A", true),
            ("run_shell_command__1", "git add -A && rm -r .", false),
            ("run_shell_command__1", "git add -A\nrm -r .", false),
            ("other__1", "git add -A", false),
        ] {
            let request = json!({"toolCallId": id, "title": title, "kind": "execute"});
            let mut call = Call::default();
            call.learn(&request);
            assert!(!call.is_allowed(Permissions::Edit, "/tree"));
            call.learn_from_title(&request);
            assert_eq!(
                call.is_allowed(Permissions::Edit, "/tree"),
                expected,
                "{id} {title}"
            );
        }
    }

    #[test]
    fn an_answer_is_chosen_by_its_kind_and_once_before_always() {
        let offered = json!([
            {"optionId": "always", "kind": "allow_always"},
            {"optionId": "once", "kind": "allow_once"},
            {"optionId": "no", "kind": "reject_once"},
        ]);
        assert_eq!(option(&offered, Verdict::Allow).as_deref(), Some("once"));
        assert_eq!(option(&offered, Verdict::AllowOnce).as_deref(), Some("once"));
        assert_eq!(option(&offered, Verdict::Reject).as_deref(), Some("no"));
        let always = json!([{"optionId": "always", "kind": "allow_always"}]);
        assert_eq!(option(&always, Verdict::Allow).as_deref(), Some("always"));
        assert_eq!(option(&always, Verdict::AllowOnce), None);
        assert_eq!(
            option(&json!([{"optionId": "x", "kind": "odd"}]), Verdict::Allow),
            None
        );
        assert_eq!(option(&json!("odd"), Verdict::Reject), None);
    }
}
