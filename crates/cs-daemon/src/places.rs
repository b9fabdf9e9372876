//! Places of this machine in texts that go to the record.

use std::ffi::OsStr;
use std::path::PathBuf;

use cs_model::CodebaseId;

use crate::context::Context;

/// Directories that many share: their names tell nothing of this machine.
const COMMON: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// The paths of this machine that a text may name, and what stands for each: the longest first, since one may be in another.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places(Vec<(String, &'static str)>);

impl Places {
    /// Each path as it is named, and as it is once links are followed.
    pub(crate) fn new(known: Vec<(PathBuf, &'static str)>) -> Self {
        let forms = known.into_iter().flat_map(|(path, name)| {
            let real = path.canonicalize().ok();
            [Some(path), real]
                .into_iter()
                .flatten()
                .map(move |path| (path, name))
        });
        // A root directory, or what is no absolute path, would be found in everything.
        let forms = forms.filter(|(path, _)| path.is_absolute() && path.parent().is_some());
        let mut forms: Vec<_> = forms
            .map(|(path, name)| (path.display().to_string(), name))
            .collect();
        forms.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        forms.dedup();
        Self(forms)
    }

    /// The state directory, the home of its person, and where temporary files go.
    pub(crate) fn of(cx: &Context) -> Vec<(PathBuf, &'static str)> {
        let set = |wanted: &str| {
            let found = cx.deps.agent_env.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| PathBuf::from(value))
        };
        let is_own = |path: &PathBuf| !COMMON.map(OsStr::new).contains(&path.as_os_str());
        let mut known = vec![(cx.state.root().to_path_buf(), "")];
        known.extend(set("HOME").map(|home| (home, "~")));
        known.extend(set("TMPDIR").filter(is_own).map(|dir| (dir, "/tmp")));
        known
    }

    /// The same, with the checkout of a codebase.
    pub(crate) fn of_work(cx: &Context, codebase: Option<CodebaseId>) -> Self {
        let mut known = Self::of(cx);
        let checkout = codebase.and_then(|codebase| cx.deps.checkouts.checkout(codebase));
        known.extend(checkout.map(|path| (path, ".")));
        Self::new(known)
    }

    /// The text without the paths.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (path, name)| {
            if text.contains(path.as_str()) {
                replaced(&text, path, name)
            } else {
                text
            }
        })
    }
}

/// A name that only begins like the path is another one.
fn replaced(text: &str, path: &str, name: &str) -> String {
    let mut hidden = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let after = &rest[at + path.len()..];
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
        hidden.push_str(&rest[..at]);
        hidden.push_str(if goes_on { path } else { name });
        rest = after;
    }
    hidden.push_str(rest);
    hidden
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_text_names_neither_the_home_nor_the_checkout_of_a_person() {
        let temp = tempfile::tempdir().expect("a directory");
        let home = temp.path().canonicalize().expect("there").join("home");
        fs::create_dir_all(home.join("src/app/.git")).expect("made");
        let link = home.with_file_name("link");
        std::os::unix::fs::symlink(home.join("src/app"), &link).expect("made");
        let places = Places::new(vec![
            (home.join(".state"), ""),
            (link.clone(), "."),
            (home.join("src/app/.git"), "."),
            (home.clone(), "~"),
            (PathBuf::from("/"), "~"),
        ]);
        let (home, link) = (home.display(), link.display());
        let text = format!(
            "{home}/.cargo/x {home}/.state/y {link}/a.rs {home}/src/app/b.rs {home}/src/app/.git/c /usr/d {home}, {home}s\n"
        );
        assert_eq!(
            places.hide(&text),
            format!("~/.cargo/x /y ./a.rs ./b.rs ./c /usr/d ~, {home}s\n")
        );
    }
}
