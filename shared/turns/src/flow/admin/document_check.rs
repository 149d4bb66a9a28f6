//! Checks of an export document that its types don't make: uniqueness, and media types. Nothing is written before all
//! documents pass.

use std::collections::{BTreeMap, BTreeSet};

use contracts::{id::SessionId, read::SessionExport, request::limits::MAX_MIME_TYPE_CHARS};
use serde_json::Value;

use crate::ports::RawItem;

/// A fault in an export document, and its location.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: String,
    pub(super) rule: String,
}

pub(super) fn fault(at: impl Into<String>, rule: impl Into<String>) -> Fault {
    Fault { at: at.into(), rule: rule.into() }
}

/// Requires that no two documents are of one session.
pub(super) fn distinct_sessions(exports: &[SessionExport]) -> Result<(), Fault> {
    let mut places: BTreeMap<&SessionId, usize> = BTreeMap::new();
    for (number, export) in exports.iter().enumerate() {
        if let Some(first) = places.insert(&export.session.id, number) {
            let rule = format!("is the session of document [{first}] too: import each session once");
            return Err(fault(format!("[{number}].Session.Id"), rule));
        }
    }
    Ok(())
}

/// Requires that no two items have one key.
pub(super) fn distinct_items(items: &[RawItem]) -> Result<(), Fault> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, item) in items.iter().enumerate() {
        let Some(key) = item.get("Key").and_then(Value::as_str) else { continue };
        if let Some(first) = places.insert(key, number) {
            return Err(fault(format!("Stored[{number}].Key"), format!("is the Key of Stored[{first}] too")));
        }
    }
    Ok(())
}

/// Requires that no two payloads of a turn are one object, and that no two turns have one id.
pub(super) fn distinct_payloads(export: &SessionExport) -> Result<(), Fault> {
    let mut turns = BTreeSet::new();
    for (number, turn) in export.turns.iter().enumerate() {
        if !turns.insert(&turn.turn.id) {
            return Err(fault(format!("Turns[{number}].Turn.Id"), "is the id of an earlier turn too"));
        }
        let mut objects = BTreeSet::new();
        for (place, payload) in turn.payloads.iter().enumerate() {
            if !objects.insert(&payload.object) {
                let at = format!("Turns[{number}].Payloads[{place}].Object");
                return Err(fault(at, "is the object of an earlier payload too"));
            }
        }
    }
    Ok(())
}

/// Requires a media type that can be a header.
pub(super) fn media_type(media_type: &str) -> Result<(), Fault> {
    let is_printable = media_type.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let fits = (1..=MAX_MIME_TYPE_CHARS).contains(&media_type.len());
    match is_printable && fits && media_type.contains('/') {
        true => Ok(()),
        false => {
            let rule = format!(
                "must be a media type, such as text/plain: printable ASCII of at most {MAX_MIME_TYPE_CHARS} characters"
            );
            Err(fault("MimeType", rule))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_type_is_a_short_printable_line() {
        for good in ["text/plain", "text/markdown; charset=utf-8", "a/b"] {
            assert_eq!(media_type(good), Ok(()), "{good}");
        }
        let long = format!("text/{}", "x".repeat(100_000));
        for bad in ["", "text", "text/plain\r\nX-Y: z", "text/\u{e4}", "text/\0", &long] {
            assert_eq!(media_type(bad).unwrap_err().at, "MimeType", "{bad:.20}");
        }
    }

    #[test]
    fn item_key_is_unique() {
        let item = |key: &str| RawItem::from_iter([("Key".to_owned(), Value::from(key))]);
        assert_eq!(distinct_items(&[item("SESSION"), item("USER#a")]), Ok(()));
        let twice = distinct_items(&[item("SESSION"), item("USER#a"), item("SESSION")]).unwrap_err();
        assert_eq!((twice.at.as_str(), twice.rule.contains("Stored[0]")), ("Stored[2].Key", true));
    }
}
