//! Freeform tools: tools whose input is one text, which the model writes without JSON.
//!
//! Inside the service a freeform tool is a function with the argument `input`. Histories, results, and wires without freeform
//! tools therefore need no other kind of call. A wire that has them sends the tool, its calls and its outputs in their own form.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::{Value, json};

/// The argument of the function.
const INPUT: &str = "input";

/// The formats of the freeform tools of a turn, by name.
pub type FreeformTools = BTreeMap<String, Value>;

/// Returns the JSON schema of the function's arguments.
#[must_use]
pub fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {INPUT: {"type": "string", "description": "The whole input of the tool, as plain text."}},
        "required": [INPUT],
        "additionalProperties": false,
    })
}

/// Returns the arguments of the function with this input, as JSON text.
#[must_use]
pub fn arguments(input: &str) -> String {
    json!({INPUT: input}).to_string()
}

/// Returns the input of a call. A model that broke the schema gets its arguments back as they are.
#[must_use]
pub fn input(arguments: &str) -> Cow<'_, str> {
    match serde_json::from_str::<Value>(arguments).ok().as_ref().and_then(|value| value.get(INPUT)?.as_str())
    {
        Some(input) => Cow::Owned(input.to_owned()),
        None => Cow::Borrowed(arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_survives_the_form_of_a_function() {
        for text in ["*** Begin Patch\n+\"a\"", "", "{\"input\": 1}"] {
            assert_eq!(input(&arguments(text)), text);
        }
        assert_eq!(input("{\"input\": 1}"), "{\"input\": 1}");
        assert_eq!(input("no JSON"), "no JSON");
    }
}
