//! Reads JSON documents that an operator wrote, and says everything that is wrong with their shape.
//!
//! The derived readers are the authority on what a document may hold, but they stop at the first
//! mistake. When one refuses, each member is tried on its own in a minimal valid document, so that
//! the others are named as well.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, value::RawValue};

use crate::fault::Found;

/// The entries of a JSON array, unread; a lone object counts as an array of one.
///
/// Each comes with its place, `{name}[0]` and so on.
pub(crate) fn entries<'a>(
    json: &'a str,
    name: &str,
    max_bytes: usize,
    found: &mut Found,
) -> Vec<(String, &'a str)> {
    if json.len() > max_bytes {
        found.add(name, format_args!("must have at most {max_bytes} bytes"));
        return Vec::new();
    }
    let read = if json.trim_start().starts_with('{') {
        serde_json::from_str(json).map(|entry: &RawValue| vec![entry])
    } else {
        serde_json::from_str(json)
    };
    match read {
        Ok(entries) => {
            entries.iter().enumerate().map(|(n, entry)| (format!("{name}[{n}]"), entry.get())).collect()
        }
        Err(error) => {
            found.add(name, error);
            Vec::new()
        }
    }
}

/// Reads one document. `minimal` is the smallest text that is one.
pub(crate) fn read<T: DeserializeOwned>(json: &str, minimal: &str, at: &str, found: &mut Found) -> Option<T> {
    match serde_json::from_str(json) {
        Ok(document) => Some(document),
        Err(first) => {
            let before = found.count();
            if let (Ok(given), Ok(minimal)) = (serde_json::from_str(json), serde_json::from_str(minimal)) {
                explain::<T>(&given, &minimal, at, found);
            }
            // No object, or a mistake that only shows in the text, such as a doubled member.
            found.unless(found.count() > before, at, first);
            None
        }
    }
}

fn explain<T: DeserializeOwned>(
    given: &Map<String, Value>,
    minimal: &Map<String, Value>,
    at: &str,
    found: &mut Found,
) {
    let refusal = |name: &str, value: Option<Value>| {
        let mut trial = minimal.clone();
        match value {
            Some(value) => trial.insert(name.to_owned(), value),
            None => trial.remove(name),
        };
        serde_json::from_value::<T>(Value::Object(trial)).err()
    };
    for (name, value) in given {
        let Some(error) = refusal(name, Some(value.clone())) else { continue };
        match value {
            // A list is a good place for this member, so the mistakes are in its items.
            Value::Array(items) if refusal(name, Some(Value::Array(Vec::new()))).is_none() => {
                for (n, item) in items.iter().enumerate() {
                    if let Some(error) = refusal(name, Some(Value::Array(vec![item.clone()]))) {
                        found.add(format!("{at}.{name}[{n}]"), error);
                    }
                }
            }
            _ => found.add(format!("{at}.{name}"), error),
        }
    }
    for name in minimal.keys().filter(|name| !given.contains_key(*name)) {
        if let Some(error) = refusal(name, None) {
            found.add(at, error);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "PascalCase", deny_unknown_fields)]
    struct Sample {
        name: String,
        count: u8,
        #[serde(default)]
        words: Vec<String>,
    }

    fn faults(json: &str) -> Vec<String> {
        let mut found = Found::default();
        let sample = read::<Sample>(json, r#"{"Name":"a","Count":1}"#, "it", &mut found);
        assert_eq!(sample.is_none(), found.count() > 0);
        found.check().map_or_else(
            |faults| faults.as_slice().iter().map(ToString::to_string).collect(),
            |()| Vec::new(),
        )
    }

    #[test]
    fn a_document_of_the_shape_is_read() {
        assert!(faults(r#"{"Name":"a","Count":255,"Words":["b"]}"#).is_empty());
    }

    #[test]
    fn every_member_that_is_wrong_unknown_or_missing_is_named() {
        let found = faults(r#"{"Count":256,"Words":["b",1,null],"Extra":0,"name":"a"}"#);
        let places: Vec<&str> = found.iter().filter_map(|fault| fault.split(": ").next()).collect();
        assert_eq!(places, ["it.Count", "it.Extra", "it.Words[1]", "it.Words[2]", "it.name", "it"]);
        assert!(found[5].contains("missing field `Name`"), "{found:?}");
    }

    #[test]
    fn a_list_where_none_belongs_is_one_mistake() {
        assert_eq!(faults(r#"{"Name":["a","b"],"Count":1}"#).len(), 1);
    }

    #[test]
    fn a_doubled_member_and_what_is_no_object_are_mistakes_of_the_whole() {
        assert!(faults(r#"{"Name":"a","Name":"b","Count":1}"#)[0].starts_with("it: duplicate field"));
        assert!(faults("[1]")[0].starts_with("it: "));
        assert!(faults("{")[0].starts_with("it: "));
    }

    #[test]
    fn entries_are_numbered_and_bounded() {
        let mut found = Found::default();
        assert_eq!(entries("[1,{}]", "x", 9, &mut found), [("x[0]".into(), "1"), ("x[1]".into(), "{}")]);
        assert_eq!(entries("{\"a\":1}", "x", 9, &mut found), [("x[0]".into(), "{\"a\":1}")]);
        assert_eq!(found.count(), 0);
        assert!(entries("[1,2,3,4,5]", "x", 9, &mut found).is_empty());
        assert!(entries("7", "x", 9, &mut found).is_empty());
        assert_eq!(found.count(), 2);
    }
}
