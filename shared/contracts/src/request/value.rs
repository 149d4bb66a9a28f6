//! How the plain values of the contract are read: strings, booleans, lists, ids.
//!
//! Each reader gives the value, or nothing and a line in the report.

use std::str::FromStr;

use super::{
    json::Json,
    limits::{MAX_HINT_CHARS, MAX_MIME_TYPE_CHARS},
    report::{At, Report},
};
use crate::id::InvalidId;

/// A string of at most so many characters.
pub(super) fn text<'j>(
    json: &'j Json<'_>,
    max_chars: usize,
    at: &At<'_>,
    report: &mut Report,
) -> Option<&'j str> {
    let Json::Text(text) = json else {
        report.invalid(at, format_args!("must be a string, not {}", json.kind()));
        return None;
    };
    // A string has at least as many bytes as characters, so a short one need not be counted.
    if text.len() > max_chars {
        let chars = text.chars().count();
        if chars > max_chars {
            report.too_large(at, format_args!("has {chars} characters, at most {max_chars} are allowed"));
            return None;
        }
    }
    Some(text)
}

/// A string of one line: not blank, no control characters.
pub(super) fn line<'j>(
    json: &'j Json<'_>,
    max_chars: usize,
    at: &At<'_>,
    report: &mut Report,
) -> Option<&'j str> {
    let text = text(json, max_chars, at, report)?;
    if text.trim().is_empty() {
        report.invalid(at, "must not be blank");
        return None;
    }
    if text.chars().any(char::is_control) {
        report.invalid(at, "must not contain control characters");
        return None;
    }
    Some(text)
}

/// An advisory hint (AGN-034 §4.6).
pub(super) fn hint(json: &Json<'_>, at: &At<'_>, report: &mut Report) -> Option<String> {
    line(json, MAX_HINT_CHARS, at, report).map(str::to_owned)
}

pub(super) fn id<T: FromStr<Err = InvalidId>>(
    json: &Json<'_>,
    at: &At<'_>,
    report: &mut Report,
) -> Option<T> {
    match text(json, usize::MAX, at, report)?.parse() {
        Ok(id) => Some(id),
        Err(InvalidId::TooLong) => {
            report.too_large(at, InvalidId::TooLong);
            None
        }
        Err(other) => {
            report.invalid(at, other);
            None
        }
    }
}

pub(super) fn boolean(json: &Json<'_>, at: &At<'_>, report: &mut Report) -> Option<bool> {
    let Json::Bool(value) = json else {
        report.invalid(at, format_args!("must be true or false, not {}", json.kind()));
        return None;
    };
    Some(*value)
}

/// One of a closed set of words.
pub(super) fn word<T: Copy>(
    json: &Json<'_>,
    words: &[(&str, T)],
    at: &At<'_>,
    report: &mut Report,
) -> Option<T> {
    let text = text(json, usize::MAX, at, report)?;
    let found = words.iter().find(|(word, _)| *word == text);
    if found.is_none() {
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        report.invalid(at, format_args!("must be one of {}", all.join(", ")));
    }
    found.map(|(_, value)| *value)
}

/// A media type: `type/subtype`, parameters allowed (RFC 9110 §8.3.1).
pub(super) fn mime_type(json: &Json<'_>, at: &At<'_>, report: &mut Report) -> Option<String> {
    let text = line(json, MAX_MIME_TYPE_CHARS, at, report)?;
    if !is_mime_type(text) {
        report.invalid(at, "must be a media type such as text/plain");
        return None;
    }
    Some(text.to_owned())
}

/// Whether the text is `type/subtype`, with or without parameters.
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

/// A list of at most so many items; nothing when any of them is refused.
pub(super) fn list<T>(
    json: &Json<'_>,
    max_items: usize,
    at: &At<'_>,
    report: &mut Report,
    mut read: impl FnMut(&Json<'_>, &At<'_>, &mut Report) -> Option<T>,
) -> Option<Vec<T>> {
    let Json::List(items) = json else {
        report.invalid(at, format_args!("must be an array, not {}", json.kind()));
        return None;
    };
    if items.len() > max_items {
        let count = items.len();
        report.too_large(at, format_args!("holds {count} items, at most {max_items} are allowed"));
        return None;
    }
    // Every item is read, also after a refused one, so that all violations are reported at once.
    let read: Vec<Option<T>> =
        items.iter().enumerate().map(|(index, item)| read(item, &at.item(index), report)).collect();
    read.into_iter().collect()
}
