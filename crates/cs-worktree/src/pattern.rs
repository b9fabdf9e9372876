//! Patterns of branch names, for rules about branches.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::keys::{BranchName, InvalidName};

/// A branch name in which `*` stands for any characters, also for none and for `/`: `main`, `release/*`, `*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BranchPattern(String);

impl BranchPattern {
    /// Checks the pattern: with a letter for each `*` it must be a branch name.
    ///
    /// # Errors
    /// It is not; the error names the rule.
    pub fn new(value: impl Into<String>) -> Result<Self, InvalidName> {
        let value = value.into();
        match BranchName::new(value.replace('*', "x")) {
            Ok(_) => Ok(Self(value)),
            Err(broken) => Err(InvalidName {
                what: "branch pattern",
                value,
                rule: broken.rule,
            }),
        }
    }

    /// The pattern as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the pattern names this branch.
    #[must_use]
    pub fn matches(&self, branch: &BranchName) -> bool {
        let mut parts = self.0.split('*');
        let Some(mut rest) = branch.as_str().strip_prefix(parts.next().unwrap_or_default()) else {
            return false;
        };
        let mut parts: Vec<&str> = parts.collect();
        let Some(last) = parts.pop() else {
            return rest.is_empty();
        };
        for part in parts {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

impl fmt::Display for BranchPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for BranchPattern {
    type Error = InvalidName;
    fn try_from(value: String) -> Result<Self, InvalidName> {
        Self::new(value)
    }
}

impl From<BranchPattern> for String {
    fn from(pattern: BranchPattern) -> String {
        pattern.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_patterns() {
        let cases = [
            ("main", "main", true),
            ("main", "mainline", false),
            ("main", "x/main", false),
            ("release/*", "release/1/2", true),
            ("release/*", "release", false),
            ("*", "anything/at-all", true),
            ("*-stable", "v1-stable", true),
            ("*-stable", "v1-stable-2", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("ab*b", "ab", false),
        ];
        for (pattern, branch, expected) in cases {
            let (parsed, branch) = (
                BranchPattern::new(pattern).unwrap(),
                BranchName::new(branch).unwrap(),
            );
            assert_eq!(parsed.matches(&branch), expected, "{pattern} {branch}");
        }
        for broken in ["", "a b", "-x", "a..b", "x?"] {
            assert!(BranchPattern::new(broken).is_err(), "{broken}");
        }
    }
}
