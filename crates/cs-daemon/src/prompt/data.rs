//! Words of others in a prompt, marked so that none of them can be taken for words of cs-panel.

/// The shortest line of tildes around such words.
const FENCE_MIN_CHARS: usize = 4;

/// Puts words between two lines of tildes that are longer than any run of them within, as in Markdown.
pub(super) fn fenced(words: &str) -> String {
    let (mut longest, mut run) = (0, 0);
    for c in words.chars() {
        run = if c == '~' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "~".repeat(FENCE_MIN_CHARS.max(longest + 1));
    let words = words.strip_suffix('\n').unwrap_or(words);
    format!("{fence}\n{words}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_words_end_their_own_fence() {
        for words in [
            "",
            "a\n~~~~\nb",
            "~~~~~~~~ ~~~~~",
            "~",
            "one\n",
            "\u{0}\r\n~~~~~\r\n",
        ] {
            let fenced = fenced(words);
            let fence = fenced.lines().next().expect("a line");
            assert!(
                fence.len() >= FENCE_MIN_CHARS && fence.chars().all(|c| c == '~'),
                "{fenced}"
            );
            assert!(!words.contains(fence), "{fenced}");
            assert_eq!(fenced.matches(fence).count(), 2, "{fenced}");
            let inner = fenced
                .strip_prefix(&format!("{fence}\n"))
                .and_then(|rest| rest.strip_suffix(fence));
            assert_eq!(
                inner,
                Some(&*format!("{}\n", words.strip_suffix('\n').unwrap_or(words)))
            );
        }
    }
}
