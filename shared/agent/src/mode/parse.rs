//! Parses JSON documents that an operator wrote, and reports every fault in their shape.
//!
//! The derived deserializers define the shape, but they stop at the first fault. When one fails, each member is
//! tried on its own in a minimal valid document, so that the other faults are reported as well.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, value::RawValue};

use crate::fault::FaultCollector;

/// Splits a JSON array into its unparsed entries. A lone object counts as an array of one.
///
/// Each comes with its location, `{name}[0]` and so on.
pub(crate) fn parse_entries<'a>(
    json: &'a str,
    name: &str,
    max_bytes: usize,
    faults: &mut FaultCollector,
) -> Vec<(String, &'a str)> {
    if json.len() > max_bytes {
        faults.add(name, format_args!("must have at most {max_bytes} bytes"));
        return Vec::new();
    }
    let parsed = if json.trim_start().starts_with('{') {
        serde_json::from_str(json).map(|entry: &RawValue| vec![entry])
    } else {
        serde_json::from_str(json)
    };
    match parsed {
        Ok(entries) => {
            entries.iter().enumerate().map(|(n, entry)| (format!("{name}[{n}]"), entry.get())).collect()
        }
        Err(error) => {
            faults.add(name, error);
            Vec::new()
        }
    }
}

/// Parses one document. `minimal` is the smallest valid JSON text of its type.
pub(crate) fn parse_document<T: DeserializeOwned>(
    json: &str,
    minimal: &str,
    at: &str,
    faults: &mut FaultCollector,
) -> Option<T> {
    match serde_json::from_str(json) {
        Ok(document) => Some(document),
        Err(first) => {
            let count_before = faults.count();
            if let (Ok(members), Ok(minimal)) = (serde_json::from_str(json), serde_json::from_str(minimal)) {
                report_faults::<T>(&members, &minimal, at, faults);
            }
            // Not an object, or a fault that only the text shows, such as a duplicate member.
            faults.require(faults.count() > count_before, at, first);
            None
        }
    }
}

fn report_faults<T: DeserializeOwned>(
    members: &Map<String, Value>,
    minimal: &Map<String, Value>,
    at: &str,
    faults: &mut FaultCollector,
) {
    let error_with = |name: &str, value: Option<Value>| {
        let mut candidate = minimal.clone();
        match value {
            Some(value) => candidate.insert(name.to_owned(), value),
            None => candidate.remove(name),
        };
        serde_json::from_value::<T>(Value::Object(candidate)).err()
    };
    for (name, value) in members {
        let Some(error) = error_with(name, Some(value.clone())) else { continue };
        match value {
            // The member is a list, so the faults are in its items.
            Value::Array(items) if error_with(name, Some(Value::Array(Vec::new()))).is_none() => {
                for (n, item) in items.iter().enumerate() {
                    if let Some(error) = error_with(name, Some(Value::Array(vec![item.clone()]))) {
                        faults.add(format!("{at}.{name}[{n}]"), error);
                    }
                }
            }
            _ => faults.add(format!("{at}.{name}"), error),
        }
    }
    for name in minimal.keys().filter(|name| !members.contains_key(*name)) {
        if let Some(error) = error_with(name, None) {
            faults.add(at, error);
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
        let mut faults = FaultCollector::default();
        let sample = parse_document::<Sample>(json, r#"{"Name":"a","Count":1}"#, "it", &mut faults);
        assert_eq!(sample.is_none(), faults.count() > 0);
        faults.finish().map_or_else(
            |faults| faults.as_slice().iter().map(ToString::to_string).collect(),
            |()| Vec::new(),
        )
    }

    #[test]
    fn valid_document_is_parsed() {
        assert!(faults(r#"{"Name":"a","Count":255,"Words":["b"]}"#).is_empty());
    }

    #[test]
    fn every_invalid_unknown_or_missing_member_is_reported() {
        let faults = faults(r#"{"Count":256,"Words":["b",1,null],"Extra":0,"name":"a"}"#);
        let locations: Vec<&str> = faults.iter().filter_map(|fault| fault.split(": ").next()).collect();
        assert_eq!(locations, ["it.Count", "it.Extra", "it.Words[1]", "it.Words[2]", "it.name", "it"]);
        assert!(faults[5].contains("missing field `Name`"), "{faults:?}");
    }

    #[test]
    fn unexpected_list_is_one_fault() {
        assert_eq!(faults(r#"{"Name":["a","b"],"Count":1}"#).len(), 1);
    }

    #[test]
    fn duplicate_member_and_non_object_are_faults_of_the_whole() {
        assert!(faults(r#"{"Name":"a","Name":"b","Count":1}"#)[0].starts_with("it: duplicate field"));
        assert!(faults("[1]")[0].starts_with("it: "));
        assert!(faults("{")[0].starts_with("it: "));
    }

    #[test]
    fn entries_are_numbered_and_bounded() {
        let mut faults = FaultCollector::default();
        assert_eq!(
            parse_entries("[1,{}]", "x", 9, &mut faults),
            [("x[0]".into(), "1"), ("x[1]".into(), "{}")]
        );
        assert_eq!(parse_entries("{\"a\":1}", "x", 9, &mut faults), [("x[0]".into(), "{\"a\":1}")]);
        assert_eq!(faults.count(), 0);
        assert!(parse_entries("[1,2,3,4,5]", "x", 9, &mut faults).is_empty());
        assert!(parse_entries("7", "x", 9, &mut faults).is_empty());
        assert_eq!(faults.count(), 2);
    }
}
