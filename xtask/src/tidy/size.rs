use std::collections::BTreeSet;

use syn::visit::{self, Visit};

use super::finding::Finding;
use super::source::Source;

/// Lines of code of a file; blank lines, comments, docs and tests are not counted.
const FILE_LINES_MAX: usize = 400;

/// Lines of code between the braces of a function.
const FUNCTION_LINES_MAX: usize = 60;

/// A file is one idea, a function fits a screen. Files of tests are not measured.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    if source.is_test_file() {
        return Vec::new();
    }
    let mut code_lines = BTreeSet::new();
    for token in &source.tokens {
        code_lines.extend(token.lines.clone().filter(|line| !source.is_test(*line)));
    }
    let mut findings = Vec::new();
    if code_lines.len() > FILE_LINES_MAX {
        let what = format!(
            "{} lines of code in one file; {FILE_LINES_MAX} are allowed",
            code_lines.len()
        );
        findings.push(source.finding(
            1,
            what,
            "a file is one idea: move the second one to a file of its own",
        ));
    }
    let mut functions = Functions {
        source,
        code_lines: &code_lines,
        findings: &mut findings,
    };
    functions.visit_file(&source.file);
    findings
}

struct Functions<'a> {
    source: &'a Source,
    code_lines: &'a BTreeSet<usize>,
    findings: &'a mut Vec<Finding>,
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.measure(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.measure(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.measure(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

impl Functions<'_> {
    fn measure(&mut self, signature: &syn::Signature, block: &syn::Block) {
        // A table is easiest to check when it stands in one place.
        if let [syn::Stmt::Expr(syn::Expr::Match(_), _)] = block.stmts.as_slice() {
            return;
        }
        let braces = block.brace_token.span;
        let (first, last) = (braces.open().start().line + 1, braces.close().start().line);
        let lines = if first < last {
            self.code_lines.range(first..last).count()
        } else {
            0
        };
        if lines > FUNCTION_LINES_MAX {
            let what = format!(
                "`{}` has {lines} lines of code; {FUNCTION_LINES_MAX} are allowed",
                signature.ident
            );
            let cure = "a function fits a screen: give its steps names of their own";
            self.findings.push(
                self.source
                    .finding(signature.ident.span().start().line, what, cure),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn found(text: &str) -> Vec<String> {
        let source = Source::parse("crates/cs-model/src/x.rs", text).unwrap();
        check(&source)
            .into_iter()
            .map(|finding| format!("{}: {}", finding.line, finding.what))
            .collect()
    }

    fn lines(line: &str, count: usize) -> String {
        format!("{line}\n").repeat(count)
    }

    #[test]
    fn a_file_over_the_limit_is_found_and_one_at_the_limit_is_not() {
        let at_limit = lines("const _: u8 = 1; // one", 400) + &lines("// words", 50) + &lines("", 50);
        assert_eq!(found(&at_limit), Vec::<String>::new());
        let over = at_limit.clone() + "const _: u8 = 1;";
        assert_eq!(
            found(&over),
            ["1: 401 lines of code in one file; 400 are allowed"]
        );
        let string = at_limit + "#[doc = \"x\"]\n/// docs\n#[cfg(test)]\nmod tests {\n fn x() {}\n}\n";
        assert_eq!(found(&string), Vec::<String>::new());
        assert_eq!(
            found(&format!("const X: &str = \"{}\";", lines("", 400))).len(),
            1
        );
    }

    #[test]
    fn a_function_over_the_limit_is_found_wherever_it_is() {
        let body = lines("g();", 61);
        let expected = |name: &str| [format!("1: `{name}` has 61 lines of code; 60 are allowed")];
        assert_eq!(found(&format!("fn f() {{\n{body}}}")), expected("f"));
        assert_eq!(found(&format!("impl X {{ fn f() {{\n{body}}} }}")), expected("f"));
        assert_eq!(
            found(&format!("trait X {{ fn f() {{\n{body}}} }}")),
            expected("f")
        );
        assert_eq!(
            found(&format!("fn f() {{ fn inner() {{\n{}}} }}", lines("g();", 60))),
            Vec::<String>::new()
        );
        assert_eq!(
            found(&format!("fn f() {{\n// why\n\n{}}}", lines("g();", 60))),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_total_match_may_be_long_and_a_test_too() {
        let arms = lines("1 => 1,", 80);
        assert_eq!(
            found(&format!("fn f() -> u8 {{\nmatch x {{\n{arms}}}\n}}")),
            Vec::<String>::new()
        );
        assert_eq!(
            found(&format!("fn f() -> u8 {{\nlet y = 1;\nmatch x {{\n{arms}}}\n}}")).len(),
            1
        );
        let test = format!(
            "#[cfg(test)]\nmod tests {{\n#[test]\nfn f() {{\n{}}}\n}}",
            lines("g();", 99)
        );
        assert_eq!(found(&test), Vec::<String>::new());
    }
}
