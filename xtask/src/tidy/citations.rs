//! The invariants of `docs/architecture.md`: every one is cited by a test, and every citation names one.
//!
//! A citation is a sentence of a function's doc comment, in one form: `Invariant 3.`

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::finding::Finding;
use super::source::Source;

/// Where the invariants are numbered.
pub(super) const ARCHITECTURE: &str = "docs/architecture.md";

/// A law is the test of every store, though it is written as a function of a library.
const LAWS: &str = "crates/cs-testkit/src/laws/";

/// What a function's doc comment says of an invariant.
pub(super) struct Citation {
    path: String,
    line: usize,
    /// Nothing: it is not in the form.
    number: Option<u32>,
    by_test: bool,
}

/// All citations of one file.
pub(super) fn find(source: &Source) -> Vec<Citation> {
    let mut functions = Functions {
        source,
        found: Vec::new(),
    };
    functions.visit_file(&source.file);
    functions.found
}

/// All findings about the text of the architecture, empty where there is none, and the citations of all files.
pub(super) fn check(architecture: &str, citations: &[Citation]) -> Vec<Finding> {
    let invariants = numbered(architecture);
    let mut findings = Vec::new();
    for (line, number) in &invariants {
        let is_held = |citation: &Citation| citation.by_test && citation.number == Some(*number);
        if !citations.iter().any(is_held) {
            findings.push(Finding {
                path: ARCHITECTURE.to_owned(),
                line: *line,
                what: format!("no test cites invariant {number}"),
                cure: "write `Invariant N.` into the doc comment of the test that holds it, or write that test",
            });
        }
    }
    for citation in citations {
        let (what, cure) = match citation.number {
            Some(number) if invariants.iter().any(|(_, other)| *other == number) => continue,
            Some(number) => (
                format!("{ARCHITECTURE} has no invariant {number}"),
                "cite the number that it has now",
            ),
            None => (
                "an invariant is cited in a form of its own".to_owned(),
                "write `Invariant N.`, one sentence for each",
            ),
        };
        findings.push(Finding {
            path: citation.path.clone(),
            line: citation.line,
            what,
            cure,
        });
    }
    findings
}

/// Line and number of every item of the list below the heading.
fn numbered(architecture: &str) -> Vec<(usize, u32)> {
    let lines = architecture.lines().zip(1..);
    let below = lines.skip_while(|(text, _)| *text != "## Invariants").skip(1);
    below
        .take_while(|(text, _)| !text.starts_with("## "))
        .filter_map(|(text, line)| Some((line, text.split_once(". ")?.0.parse().ok()?)))
        .collect()
}

struct Functions<'a> {
    source: &'a Source,
    found: Vec<Citation>,
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        for attribute in &item.attrs {
            self.read(attribute);
        }
        visit::visit_item_fn(self, item);
    }
}

impl Functions<'_> {
    fn read(&mut self, attribute: &syn::Attribute) {
        let syn::Meta::NameValue(syn::MetaNameValue {
            path,
            value:
                syn::Expr::Lit(syn::ExprLit {
                    lit: syn::Lit::Str(text),
                    ..
                }),
            ..
        }) = &attribute.meta
        else {
            return;
        };
        if !path.is_ident("doc") {
            return;
        }
        let line = attribute.span().start().line;
        for after in text.value().split("Invariant").skip(1) {
            let number = after.strip_prefix(' ').and_then(|after| after.split_once('.'));
            self.found.push(Citation {
                path: self.source.path.clone(),
                line,
                number: number.and_then(|(number, _)| number.parse().ok()),
                by_test: self.source.is_test(line) || self.source.path.starts_with(LAWS),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "# A\n1. no invariant\n## Invariants\n\n1. **A.** Text\n   3. more\n2. **B.**\n## B\n3. no invariant\n";

    fn found(path: &str, text: &str) -> Vec<String> {
        let source = Source::parse(path, text).unwrap();
        let findings = check(TWO, &find(&source));
        findings
            .iter()
            .map(|one| format!("{}:{}", one.path, one.line))
            .collect()
    }

    #[test]
    fn an_invariant_that_no_test_cites_is_found_where_it_is_numbered() {
        let both = "/// Text (CJ-1). Invariant 1.\n/// Invariant 2.\n#[test]\nfn f() {}";
        let one = "/// Invariant 1.\n#[test]\nfn f() {}";
        let tests = "crates/cs-record/tests/x.rs";
        assert!(found(tests, both).is_empty());
        assert!(found("crates/cs-record/src/x.rs", both).is_empty());
        assert!(found("crates/cs-testkit/src/laws/x.rs", &both.replace("#[test]\n", "")).is_empty());
        assert_eq!(found(tests, one), ["docs/architecture.md:7"]);
    }

    #[test]
    fn what_is_no_test_holds_nothing() {
        let text = "/// Invariant 1. Invariant 2.\nfn f() {}\n// Invariant 1.\n#[test]\nfn g() {}";
        let both = ["docs/architecture.md:5", "docs/architecture.md:7"];
        assert_eq!(found("crates/cs-record/src/x.rs", text), both);
    }

    #[test]
    fn a_number_that_does_not_exist_and_another_form_are_found_where_they_are_written() {
        let good = "/// Invariant 1. Invariant 2.\n#[test]\nfn f() {}\n";
        for bad in [
            "Invariant 3.",
            "Invariant 0.",
            "Invariants 1 and 2.",
            "Invariant 1, 2.",
            "Invariant 1",
        ] {
            let text = format!("{good}/// {bad}\nfn g() {{}}");
            assert_eq!(found("tests/it/x.rs", &text), ["tests/it/x.rs:4"], "{bad}");
        }
    }
}
