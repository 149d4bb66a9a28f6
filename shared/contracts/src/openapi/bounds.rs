//! How long, how many and how large the members of a request may be. The derive takes bounds only as
//! literals, so the constants of [`limits`](crate::request::limits) are set here.

use utoipa::openapi::{
    RefOr, Schema,
    schema::{Array, Object},
};

use super::Named;
use crate::request::limits::{
    MAX_ARTIFACTS, MAX_CONDITIONS, MAX_DESCRIPTION_CHARS, MAX_ERROR_MESSAGE_CHARS, MAX_IMAGES,
    MAX_INSTRUCTION_CHARS, MAX_LABEL_CHARS, MAX_MODE_CHARS, MAX_NOTE_CHARS, MAX_RESULT_JSON_CHARS,
    MAX_SAFE_INTEGER, MAX_SOLUTION_CONTEXT_CHARS, MAX_TOOL_RESULTS, MAX_VALUES,
};

#[derive(Clone, Copy)]
enum AtMost {
    Chars(usize),
    Items(usize),
    Number(i64),
}

/// Schema, member, bound.
const BOUNDS: &[(&str, &str, AtMost)] = &[
    ("UserTurn", "Instruction", AtMost::Chars(MAX_INSTRUCTION_CHARS)),
    ("UserTurn", "InputArtifacts", AtMost::Items(MAX_ARTIFACTS)),
    ("UserTurn", "ClipboardImages", AtMost::Items(MAX_IMAGES)),
    ("UserTurn", "SolutionContextText", AtMost::Chars(MAX_SOLUTION_CONTEXT_CHARS)),
    ("RerunRequest", "Instruction", AtMost::Chars(MAX_INSTRUCTION_CHARS)),
    ("FeedbackRequest", "Label", AtMost::Chars(MAX_LABEL_CHARS)),
    ("FeedbackRequest", "Note", AtMost::Chars(MAX_NOTE_CHARS)),
    ("RerunRequest", "Mode", AtMost::Chars(MAX_MODE_CHARS)),
    ("SessionEdit", "Description", AtMost::Chars(MAX_DESCRIPTION_CHARS)),
    ("ToolContinuation", "ToolResults", AtMost::Items(MAX_TOOL_RESULTS)),
    ("ReturnedResult", "ExecutionMs", AtMost::Number(MAX_SAFE_INTEGER)),
    ("ReturnedResult", "ResultJson", AtMost::Chars(MAX_RESULT_JSON_CHARS)),
    ("FailedResult", "ExecutionMs", AtMost::Number(MAX_SAFE_INTEGER)),
    ("FailedResult", "ErrorMessage", AtMost::Chars(MAX_ERROR_MESSAGE_CHARS)),
    ("RagScope", "Conditions", AtMost::Items(MAX_CONDITIONS)),
    ("RagCondition", "Values", AtMost::Items(MAX_VALUES)),
];

pub(super) fn set(all: &mut [Named]) {
    for (schema, member, bound) in BOUNDS {
        match (member_of(all, schema, member), *bound) {
            (Some(Schema::Object(Object { max_length, .. })), AtMost::Chars(most)) => {
                *max_length = Some(most)
            }
            (Some(Schema::Array(Array { max_items, .. })), AtMost::Items(most)) => *max_items = Some(most),
            (Some(Schema::Object(Object { maximum, .. })), AtMost::Number(most)) => {
                *maximum = Some(most.into())
            }
            _ => {}
        }
    }
}

fn member_of<'a>(all: &'a mut [Named], schema: &str, member: &str) -> Option<&'a mut Schema> {
    let (_, found) = all.iter_mut().find(|(name, _)| name == schema)?;
    let RefOr::T(Schema::Object(object)) = found else { return None };
    match object.properties.get_mut(member)? {
        RefOr::T(member) => Some(member),
        RefOr::Ref(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_bound_is_in_the_document() {
        let all: std::collections::BTreeMap<_, _> = crate::openapi::schemas().into_iter().collect();
        let all: Value = serde_json::from_str(&serde_json::to_string(&all).unwrap()).unwrap();
        for (schema, member, bound) in BOUNDS {
            let (keyword, most) = match *bound {
                AtMost::Chars(most) => ("maxLength", Value::from(most)),
                AtMost::Items(most) => ("maxItems", Value::from(most)),
                AtMost::Number(most) => ("maximum", Value::from(most)),
            };
            // A user turn is two schemas: its members, and that there is some input.
            let object = all[*schema].pointer("/allOf/0").unwrap_or(&all[*schema]);
            assert_eq!(object["properties"][*member][keyword], most, "{schema}.{member}: {keyword}");
        }
    }
}
