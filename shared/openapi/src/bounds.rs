//! Length, count and size limits of request members. The derive macro accepts bounds only as literals, so the
//! constants of [`limits`](contracts::request::limits) are applied here.

use utoipa::openapi::{
    RefOr, Schema,
    schema::{Array, Object},
};

use contracts::operations::NamedSchema;
use contracts::request::limits::{
    MAX_ARTIFACTS, MAX_BUDGET_ID_CHARS, MAX_BUDGETS, MAX_CATEGORY_CHARS, MAX_CONDITIONS,
    MAX_DESCRIPTION_CHARS, MAX_DISABLED, MAX_ERROR_MESSAGE_CHARS, MAX_FILE_BYTES, MAX_IMAGES,
    MAX_INSTRUCTION_CHARS, MAX_LABEL_CHARS, MAX_MODE_CHARS, MAX_NOTE_CHARS, MAX_POLICY_NAME_CHARS,
    MAX_POLICY_NAMES, MAX_RESULT_JSON_CHARS, MAX_RETENTION_DAYS, MAX_SAFE_INTEGER,
    MAX_SOLUTION_CONTEXT_CHARS, MAX_TOOL_RESULTS, MAX_VALUES,
};

#[derive(Clone, Copy)]
enum Max {
    Chars(usize),
    Items(usize),
    Number(i64),
}

/// Schema, member, bound.
const BOUNDS: &[(&str, &str, Max)] = &[
    ("UserTurn", "Instruction", Max::Chars(MAX_INSTRUCTION_CHARS)),
    ("UserTurn", "InputArtifacts", Max::Items(MAX_ARTIFACTS)),
    ("UserTurn", "ClipboardImages", Max::Items(MAX_IMAGES)),
    ("UserTurn", "SolutionContextText", Max::Chars(MAX_SOLUTION_CONTEXT_CHARS)),
    ("RerunRequest", "Instruction", Max::Chars(MAX_INSTRUCTION_CHARS)),
    ("RerunRequest", "InputArtifacts", Max::Items(MAX_ARTIFACTS)),
    ("RerunRequest", "ClipboardImages", Max::Items(MAX_IMAGES)),
    ("RerunRequest", "SolutionContextText", Max::Chars(MAX_SOLUTION_CONTEXT_CHARS)),
    ("FeedbackRequest", "Label", Max::Chars(MAX_LABEL_CHARS)),
    ("FeedbackRequest", "Note", Max::Chars(MAX_NOTE_CHARS)),
    ("RerunRequest", "Mode", Max::Chars(MAX_MODE_CHARS)),
    ("SessionEdit", "Description", Max::Chars(MAX_DESCRIPTION_CHARS)),
    ("SessionEdit", "Category", Max::Chars(MAX_CATEGORY_CHARS)),
    ("ToolContinuation", "ToolResults", Max::Items(MAX_TOOL_RESULTS)),
    ("ReturnedResult", "ExecutionMs", Max::Number(MAX_SAFE_INTEGER)),
    ("ReturnedResult", "ResultJson", Max::Chars(MAX_RESULT_JSON_CHARS)),
    ("FailedResult", "ExecutionMs", Max::Number(MAX_SAFE_INTEGER)),
    ("FailedResult", "ErrorMessage", Max::Chars(MAX_ERROR_MESSAGE_CHARS)),
    ("RagScope", "Conditions", Max::Items(MAX_CONDITIONS)),
    ("RagCondition", "Values", Max::Items(MAX_VALUES)),
    ("Budgets", "Budgets", Max::Items(MAX_BUDGETS)),
    ("Budget", "Id", Max::Chars(MAX_BUDGET_ID_CHARS)),
    ("Budget", "Limit", Max::Number(MAX_SAFE_INTEGER)),
    ("OrgSettings", "RetentionDays", Max::Number(MAX_RETENTION_DAYS)),
    ("TitleSettings", "Model", Max::Chars(MAX_POLICY_NAME_CHARS)),
    ("TitleSettings", "Provider", Max::Chars(MAX_POLICY_NAME_CHARS)),
    ("OrgPolicy", "Models", Max::Items(MAX_POLICY_NAMES)),
    ("OrgPolicy", "Providers", Max::Items(MAX_POLICY_NAMES)),
    ("OrgPolicy", "Tools", Max::Items(MAX_POLICY_NAMES)),
    ("OrgPolicy", "MaxFileBytes", Max::Number(MAX_FILE_BYTES)),
    ("DisabledSubjects", "Users", Max::Items(MAX_DISABLED)),
    ("DisabledSubjects", "Agents", Max::Items(MAX_DISABLED)),
    ("DisabledSubjects", "Models", Max::Items(MAX_DISABLED)),
];

pub(crate) fn apply(all: &mut [NamedSchema]) {
    for (schema, member, bound) in BOUNDS {
        match (member_of(all, schema, member), *bound) {
            (Some(Schema::Object(Object { max_length, .. })), Max::Chars(most)) => *max_length = Some(most),
            (Some(Schema::Array(Array { max_items, .. })), Max::Items(most)) => *max_items = Some(most),
            (Some(Schema::Object(Object { maximum, .. })), Max::Number(most)) => *maximum = Some(most.into()),
            _ => {}
        }
    }
}

fn member_of<'a>(all: &'a mut [NamedSchema], schema: &str, member: &str) -> Option<&'a mut Schema> {
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
    fn every_bound_is_in_document() {
        let all: std::collections::BTreeMap<_, _> = crate::schemas().into_iter().collect();
        let all: Value = serde_json::from_str(&serde_json::to_string(&all).unwrap()).unwrap();
        for (schema, member, bound) in BOUNDS {
            let (keyword, most) = match *bound {
                Max::Chars(most) => ("maxLength", Value::from(most)),
                Max::Items(most) => ("maxItems", Value::from(most)),
                Max::Number(most) => ("maximum", Value::from(most)),
            };
            // A user turn is two schemas: its members, and the requirement of some input.
            let object = all[*schema].pointer("/allOf/0").unwrap_or(&all[*schema]);
            assert_eq!(object["properties"][*member][keyword], most, "{schema}.{member}: {keyword}");
        }
    }
}
