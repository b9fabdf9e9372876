//! Flags that take one of the stored texts of a closed enum.

use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Takes the text of one of these values, which are all of their kind.
pub(super) fn one_of<T>(all: &'static [T], text_of: fn(T) -> &'static str) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let names: Vec<&'static str> = all.iter().map(|value| text_of(*value)).collect();
    PossibleValuesParser::new(names).map(move |name| {
        let mut same = all.iter().filter(|value| text_of(**value) == name);
        *same.next().expect("the parser lets no other text through")
    })
}
