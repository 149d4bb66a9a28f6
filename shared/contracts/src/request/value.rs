//! Readers of simple values: strings, booleans, lists, ids.
//!
//! Each reader returns the value, or `None` after adding a violation.

use std::str::FromStr;

use super::{
    json::Json,
    limits::MAX_MIME_TYPE_CHARS,
    violations::{Location, Violations},
};
use crate::{id::InvalidId, text::is_invisible};

/// Reads a string of at most `max_chars` characters.
pub(super) fn text<'j>(
    json: &'j Json<'_>,
    max_chars: usize,
    at: &Location<'_>,
    violations: &mut Violations,
) -> Option<&'j str> {
    let Json::Text(text) = json else {
        violations.invalid(at, format_args!("must be a string, not {}", json.kind()));
        return None;
    };
    // A string has at least as many bytes as characters, so a short one need not be counted.
    if text.len() > max_chars {
        let chars = text.chars().count();
        if chars > max_chars {
            violations.too_large(at, format_args!("has {chars} characters, at most {max_chars} are allowed"));
            return None;
        }
    }
    Some(text)
}

/// Reads a string of one line: not blank, without control characters.
pub(super) fn line<'j>(
    json: &'j Json<'_>,
    max_chars: usize,
    at: &Location<'_>,
    violations: &mut Violations,
) -> Option<&'j str> {
    let text = text(json, max_chars, at, violations)?;
    if text.trim().is_empty() {
        violations.invalid(at, "must not be blank");
        return None;
    }
    if text.chars().any(char::is_control) {
        violations.invalid(at, "must not contain control characters");
        return None;
    }
    Some(text)
}

/// Reads a name that lists show: one line, without characters that change the direction of the text around them.
pub(super) fn name<'j>(
    json: &'j Json<'_>,
    max_chars: usize,
    at: &Location<'_>,
    violations: &mut Violations,
) -> Option<&'j str> {
    let name = line(json, max_chars, at, violations)?;
    if name.chars().any(is_invisible) {
        violations.invalid(at, "must not contain characters that change the direction of text");
        return None;
    }
    Some(name.trim())
}

pub(super) fn id<T: FromStr<Err = InvalidId>>(
    json: &Json<'_>,
    at: &Location<'_>,
    violations: &mut Violations,
) -> Option<T> {
    match text(json, usize::MAX, at, violations)?.parse() {
        Ok(id) => Some(id),
        Err(InvalidId::TooLong) => {
            violations.too_large(at, InvalidId::TooLong);
            None
        }
        Err(other) => {
            violations.invalid(at, other);
            None
        }
    }
}

pub(super) fn boolean(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<bool> {
    let Json::Bool(value) = json else {
        violations.invalid(at, format_args!("must be true or false, not {}", json.kind()));
        return None;
    };
    Some(*value)
}

/// Reads one of a closed set of words.
pub(super) fn word<T: Copy>(
    json: &Json<'_>,
    words: &[(&str, T)],
    at: &Location<'_>,
    violations: &mut Violations,
) -> Option<T> {
    let text = text(json, usize::MAX, at, violations)?;
    let found = words.iter().find(|(word, _)| *word == text);
    if found.is_none() {
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        violations.invalid(at, format_args!("must be one of {}", all.join(", ")));
    }
    found.map(|(_, value)| *value)
}

/// Reads a media type: `type/subtype`, with optional parameters (RFC 9110 §8.3.1).
pub(super) fn mime_type(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<String> {
    let text = line(json, MAX_MIME_TYPE_CHARS, at, violations)?;
    if !is_mime_type(text) {
        violations.invalid(at, "must be a media type such as text/plain");
        return None;
    }
    Some(text.to_owned())
}

/// True if the text is `type/subtype`, with or without parameters.
pub fn is_mime_type(text: &str) -> bool {
    let token = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let printable = parameters.bytes().all(|b| (b' '..=b'~').contains(&b));
    essence
        .trim_end()
        .split_once('/')
        .is_some_and(|(kind, subtype)| printable && token(kind) && token(subtype))
}

/// Reads a list of at most `max_items` items. Returns `None` if any item is invalid.
pub(super) fn list<T>(
    json: &Json<'_>,
    max_items: usize,
    at: &Location<'_>,
    violations: &mut Violations,
    mut read: impl FnMut(&Json<'_>, &Location<'_>, &mut Violations) -> Option<T>,
) -> Option<Vec<T>> {
    let Json::List(items) = json else {
        violations.invalid(at, format_args!("must be an array, not {}", json.kind()));
        return None;
    };
    if items.len() > max_items {
        let count = items.len();
        violations.too_large(at, format_args!("holds {count} items, at most {max_items} are allowed"));
        return None;
    }
    // Reads every item, even after an invalid one, so that all violations are reported at once.
    let read: Vec<Option<T>> =
        items.iter().enumerate().map(|(index, item)| read(item, &at.item(index), violations)).collect();
    read.into_iter().collect()
}
