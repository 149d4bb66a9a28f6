//! Checks of the calls in earlier replies that no API's schema has: names and ids of the published form, ids that differ,
//! and objects as arguments.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// The most characters of a function's name.
const MAX_NAME: usize = 64;

/// A call of an earlier reply.
pub struct EarlierCall<'a> {
    pub id: &'a str,
    pub name: &'a str,
    /// The arguments, if the API has them as text.
    pub arguments: Option<&'a str>,
}

/// Returns the message of the refusal of these calls. `None` if they are valid.
pub fn fault<'a>(mut calls: impl Iterator<Item = EarlierCall<'a>>) -> Option<String> {
    let mut ids = HashSet::new();
    calls.find_map(|EarlierCall { id, name, arguments }| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if !(1..=MAX_NAME).contains(&name.len()) || !name.bytes().all(is_allowed) {
            return Some(format!(
                "Invalid function name {name:?}: expected pattern '^[a-zA-Z0-9_-]{{1,64}}$'."
            ));
        }
        if !ids.insert(id) {
            return Some(format!("Ids of calls must be unique: {id}"));
        }
        let parsed = arguments.map(serde_json::from_str::<Map<String, Value>>);
        parsed
            .is_some_and(|parsed| parsed.is_err())
            .then(|| format!("The arguments of {id} are no JSON object."))
    })
}
