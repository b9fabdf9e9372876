//! Versions of agent programs, as they print them.

/// The longest word that is taken for a version.
const WORD_MAX_BYTES: usize = 60;

/// The first word of a line that is a version: numbers with a dot between them, and what some put after them (`0.171.0-alpha.3`).
pub(crate) fn word(line: &str) -> Option<&str> {
    let fits = |word: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-+_".contains(c);
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.contains('.')
            && word.len() <= WORD_MAX_BYTES
            && word.chars().all(plain)
    };
    let words = line.split_whitespace();
    words
        .map(|word| word.strip_prefix('v').unwrap_or(word))
        .find(fits)
}

/// The first three numbers of the first word that begins with one: `2.1.332 (Claude Code)`, `codex-cli 0.171.0`.
pub(crate) fn numbers(version: &str) -> Option<[u32; 3]> {
    let word = version
        .split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut numbers = word.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    let mut next = || numbers.next().and_then(Result::ok);
    Some([next()?, next().unwrap_or(0), next().unwrap_or(0)])
}
