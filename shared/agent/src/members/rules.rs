//! Rules of members: the bounds of strings, numbers and lists.

use std::ops::RangeInclusive;

use contracts::id::ModeKey;
use serde_json::{Value, json};

use super::Rule;
use crate::fault::FaultCollector;

/// The maximum length of a tool's description.
pub(crate) const MAX_TOOL_DESCRIPTION_CHARS: usize = 4_000;
/// The names that providers accept, as a pattern.
pub(crate) const NAME_PATTERN: &str = "^[A-Za-z0-9_-]{1,64}$";
/// The maximum length of a name that providers accept.
pub(crate) const MAX_PROVIDER_NAME_CHARS: usize = 64;
/// The fault of a name that they don't accept.
pub(crate) const INVALID_NAME: &str = "needs a name of 1 to 64 ASCII letters, digits, `_` and `-`";
/// The maximum length of `Deprecated`.
const MAX_DEPRECATED_CHARS: usize = 400;

/// Sets a keyword of a schema.
fn set(schema: &mut Value, keyword: &str, value: impl Into<Value>) {
    if let Value::Object(keywords) = schema {
        keywords.insert(keyword.to_owned(), value.into());
    }
}

/// The length of a string, and its form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text {
    max_chars: usize,
    may_be_blank: bool,
    is_line: bool,
}

/// A text that isn't blank.
pub(crate) const fn text(max_chars: usize) -> Text {
    Text { max_chars, may_be_blank: false, is_line: false }
}

/// A text that isn't blank, without line breaks or other control characters.
pub(crate) const fn line(max_chars: usize) -> Text {
    Text { is_line: true, ..text(max_chars) }
}

/// Any text of a bounded length.
pub(crate) const fn at_most(max_chars: usize) -> Text {
    Text { may_be_blank: true, ..text(max_chars) }
}

/// The `Deprecated` of a document: one line that names the replacement.
pub(crate) const fn deprecation() -> Text {
    line(MAX_DEPRECATED_CHARS)
}

impl Rule<String> for Text {
    fn bound(&self, schema: &mut Value) {
        set(schema, "maxLength", self.max_chars);
    }

    fn check(&self, value: &String, at: &str, faults: &mut FaultCollector) {
        let Self { max_chars, may_be_blank, is_line } = *self;
        let is_control = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        faults.require(
            !is_line || !value.contains(is_control),
            at,
            "must be one line without control characters",
        );
        faults.require(may_be_blank || !value.trim().is_empty(), at, "must not be blank");
        let fits = value.chars().nth(max_chars).is_none();
        faults.require(fits, at, format_args!("must have at most {max_chars} characters"));
    }
}

/// A pattern that the schema shows, for strings with a check elsewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pattern(pub(crate) &'static str);

impl Rule<String> for Pattern {
    fn bound(&self, schema: &mut Value) {
        set(schema, "pattern", self.0);
    }

    fn check(&self, _: &String, _: &str, _: &mut FaultCollector) {}
}

/// A rule for strings of a form of their own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fits {
    /// The keywords of the schema: as much of the form as they can express.
    pub(crate) schema: fn() -> Value,
    /// True for strings of the form.
    pub(crate) fits: fn(&str) -> bool,
    /// The fault of others.
    pub(crate) fault: fn() -> String,
}

impl Fits {
    fn extend(&self, schema: &mut Value) {
        if let (Value::Object(schema), Value::Object(keywords)) = (schema, (self.schema)()) {
            schema.extend(keywords);
        }
    }
}

/// The name of a tool, a format or a server, as providers accept it.
pub(crate) const PROVIDER_NAME: Fits = Fits {
    schema: || json!({ "pattern": NAME_PATTERN }),
    fits: is_valid_name,
    fault: || INVALID_NAME.to_owned(),
};

/// Returns true if providers accept it as the name of a tool or a format.
pub(crate) fn is_valid_name(name: &str) -> bool {
    (1..=MAX_PROVIDER_NAME_CHARS).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

impl Rule<String> for Fits {
    fn bound(&self, schema: &mut Value) {
        self.extend(schema);
    }

    fn check(&self, value: &String, at: &str, faults: &mut FaultCollector) {
        if !(self.fits)(value) {
            faults.add(at, (self.fault)());
        }
    }
}

impl Rule<ModeKey> for Fits {
    fn bound(&self, schema: &mut Value) {
        self.extend(schema);
    }

    fn check(&self, value: &ModeKey, at: &str, faults: &mut FaultCollector) {
        if !(self.fits)(value.as_str()) {
            faults.add(at, (self.fault)());
        }
    }
}

/// Implements the rule of numbers: a range.
macro_rules! ranges {
    ($($number:ty),+) => {$(
        impl Rule<$number> for RangeInclusive<$number> {
            fn bound(&self, schema: &mut Value) {
                set(schema, "minimum", *self.start());
                set(schema, "maximum", *self.end());
            }

            fn check(&self, value: &$number, at: &str, faults: &mut FaultCollector) {
                let (min, max) = (self.start(), self.end());
                faults.require(self.contains(value), at, format_args!("must be from {min} to {max}, not {value}"));
            }
        }
    )+};
}

ranges!(u32, f64);

/// The number of items in a list, and the word for them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count(pub(crate) usize, pub(crate) &'static str);

impl<T> Rule<Vec<T>> for Count {
    fn bound(&self, schema: &mut Value) {
        set(schema, "maxItems", self.0);
    }

    fn check(&self, value: &Vec<T>, at: &str, faults: &mut FaultCollector) {
        let Self(max, items) = *self;
        faults.require(value.len() <= max, at, format_args!("must hold at most {max} {items}"));
    }
}

/// A list of strings with a rule for each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strings<R>(pub(crate) Count, pub(crate) R);

impl<R: Rule<String>> Rule<Vec<String>> for Strings<R> {
    fn bound(&self, schema: &mut Value) {
        Rule::<Vec<String>>::bound(&self.0, schema);
        if let Some(items) = schema.get_mut("items") {
            self.1.bound(items);
        }
    }

    fn check(&self, value: &Vec<String>, at: &str, faults: &mut FaultCollector) {
        self.0.check(value, at, faults);
        for (n, item) in value.iter().enumerate() {
            self.1.check(item, &format!("{at}[{n}]"), faults);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(rule: Text, value: &str) -> usize {
        let mut faults = FaultCollector::default();
        rule.check(&value.to_owned(), "x", &mut faults);
        faults.count()
    }

    #[test]
    fn line_rejects_breaks_blanks_and_excess_length() {
        assert_eq!(count(line(22), "When à plan is needed."), 0);
        for bad in ["", " ", "a\u{2028}b", "a\rb", "\u{7}a", "a line that is far too long"] {
            assert!(count(line(22), bad) > 0, "{bad:?}");
        }
    }

    #[test]
    fn text_may_have_several_lines() {
        assert_eq!(count(text(7), "one\ntwo"), 0);
        assert_eq!(count(text(6), "one\ntwo"), 1);
        assert_eq!((count(text(6), ""), count(at_most(6), "")), (1, 0));
    }
}
