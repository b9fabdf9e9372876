use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, Ident, Literal, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::finding::Finding;

/// One parsed source file.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) file: syn::File,
    /// Every token in reading order, with those of groups and macros; without doc comments.
    pub(super) tokens: Vec<Token>,
    test_lines: Vec<RangeInclusive<usize>>,
}

/// A token and where it stands.
pub(super) struct Token {
    /// First and last line, counted from 1.
    pub(super) lines: RangeInclusive<usize>,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Word(String),
    /// The source text of a literal, with its quotes.
    Literal(String),
    Mark(char),
}

impl Source {
    /// `path` is relative to the root of the workspace.
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, Finding> {
        let unreadable = |error: &syn::Error| Finding {
            path: path.to_owned(),
            line: error.span().start().line,
            what: format!("this is not Rust as tidy knows it: {error}"),
            cure: "make it compile, or bring xtask's syn up to date",
        };
        let stream: TokenStream = text
            .parse()
            .map_err(|error: proc_macro2::LexError| unreadable(&error.into()))?;
        let file = syn::parse2::<syn::File>(stream.clone()).map_err(|error| unreadable(&error))?;
        let mut tokens = Vec::new();
        flatten(stream, &mut tokens);
        let mut tests = TestItems::default();
        tests.visit_file(&file);
        Ok(Self {
            path: path.to_owned(),
            file,
            tokens,
            test_lines: tests.lines,
        })
    }

    /// The package that the file belongs to: the directory's name below `crates`, else the first part of the path.
    pub(super) fn package(&self) -> &str {
        let mut parts = self.path.split('/');
        match parts.next().unwrap_or_default() {
            "crates" => parts.next().unwrap_or_default(),
            other => other,
        }
    }

    /// Whether this is no product code: tests, benches and examples.
    pub(super) fn is_test_file(&self) -> bool {
        let below = self
            .path
            .strip_prefix("crates/")
            .and_then(|rest| rest.split_once('/'))
            .map(|(_, rest)| rest);
        let below = below.unwrap_or(&self.path);
        ["tests/", "benches/", "examples/"]
            .iter()
            .any(|dir| below.starts_with(dir))
            || below.ends_with("/tests.rs")
    }

    /// Whether the line belongs to a test: in a test file, or in an item under `#[cfg(test)]` or `#[test]`.
    pub(super) fn is_test(&self, line: usize) -> bool {
        self.is_test_file() || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    pub(super) fn finding(&self, line: usize, what: String, cure: &'static str) -> Finding {
        Finding {
            path: self.path.clone(),
            line,
            what,
            cure,
        }
    }
}

impl Token {
    pub(super) fn line(&self) -> usize {
        *self.lines.start()
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(&self.kind, Kind::Word(text) if text == word)
    }

    pub(super) fn is_mark(&self, mark: char) -> bool {
        matches!(self.kind, Kind::Mark(other) if other == mark)
    }
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let all: Vec<TokenTree> = stream.into_iter().collect();
    let mut rest = all.as_slice();
    while let [first, others @ ..] = rest {
        rest = others;
        if is_mark(first, '#') {
            let after = match others {
                [mark, after @ ..] if is_mark(mark, '!') => after,
                _ => others,
            };
            if let [attribute, after @ ..] = after
                && is_doc(attribute)
            {
                rest = after;
                continue;
            }
        }
        push(first, tokens);
    }
}

fn push(tree: &TokenTree, tokens: &mut Vec<Token>) {
    let kind = match tree {
        TokenTree::Ident(ident) => Kind::Word(Ident::to_string(ident)),
        TokenTree::Literal(literal) => Kind::Literal(Literal::to_string(literal)),
        TokenTree::Punct(punct) => Kind::Mark(punct.as_char()),
        TokenTree::Group(group) => {
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ('(', ')'),
                Delimiter::Brace => ('{', '}'),
                Delimiter::Bracket => ('[', ']'),
                Delimiter::None => return flatten(group.stream(), tokens),
            };
            let line = |span: proc_macro2::Span| span.start().line..=span.start().line;
            tokens.push(Token {
                lines: line(group.span_open()),
                kind: Kind::Mark(open),
            });
            flatten(group.stream(), tokens);
            let end = group.span_close().end().line;
            tokens.push(Token {
                lines: end..=end,
                kind: Kind::Mark(close),
            });
            return;
        }
    };
    tokens.push(Token {
        lines: tree.span().start().line..=tree.span().end().line,
        kind,
    });
}

fn is_mark(tree: &TokenTree, mark: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn is_doc(tree: &TokenTree) -> bool {
    let TokenTree::Group(group) = tree else {
        return false;
    };
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket
        && matches!(first, Some(TokenTree::Ident(ident)) if ident == "doc")
}

#[derive(Default)]
struct TestItems {
    lines: Vec<RangeInclusive<usize>>,
}

impl<'ast> Visit<'ast> for TestItems {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.note(&item.attrs, item);
        visit::visit_item_mod(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note(&item.attrs, item);
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.note(&item.attrs, item);
        visit::visit_item_impl(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note(&item.attrs, item);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.note(&item.attrs, item);
    }
}

impl TestItems {
    fn note(&mut self, attributes: &[syn::Attribute], item: &impl syn::spanned::Spanned) {
        let is_test = |attribute: &syn::Attribute| match &attribute.meta {
            syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
            syn::Meta::Path(path) => path.segments.last().is_some_and(|last| last.ident == "test"),
            syn::Meta::NameValue(_) => false,
        };
        if attributes.iter().any(is_test) {
            let span = item.span();
            self.lines.push(span.start().line..=span.end().line);
        }
    }
}
