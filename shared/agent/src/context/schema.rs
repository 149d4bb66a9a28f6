//! The JSON Schema of a file of contexts, for editors and for programs that write one.
//!
//! The tables of members have the members, types and bounds. Checks that depend on a deployment (which modes, tools and
//! providers exist) run when a context is put.

use serde_json::{Map, Value, json};

use super::{AgentContext, ContextKind, ConversationContext, Fallback, PromptLimits};
use crate::{
    connection::{Authentication, CallPrice, Connection, ConnectionTool},
    members::{Members, object, reference},
    mode::Mode,
    model::{
        hosted_tools::HostedTool,
        model_settings::{Guardrail, TextFormat},
        price::Prices,
    },
    tool::{
        Definition,
        approval::{ApprovalCondition, ApprovalPolicy},
    },
    webhook::Webhook,
};

/// Returns the schema, in draft 2020-12.
#[must_use]
pub fn schema() -> Value {
    let kinds = [
        tagged::<AgentContext>(ContextKind::Agent),
        tagged::<ConversationContext>(ContextKind::Conversation),
        tagged::<Mode>(ContextKind::Mode),
        tagged::<Connection>(ContextKind::Connection),
        tagged::<Webhook>(ContextKind::Webhook),
    ];
    let any: Vec<Value> = kinds.iter().map(|(name, _)| reference(name)).collect();
    let others = [
        ("Context", json!({ "oneOf": any })),
        (HostedTool::SCHEMA, HostedTool::one_of()),
        named::<Definition>(),
        named::<TextFormat>(),
        named::<Guardrail>(),
        named::<PromptLimits>(),
        named::<Prices>(),
        named::<Fallback>(),
        named::<Authentication>(),
        named::<ConnectionTool>(),
        named::<CallPrice>(),
        named::<ApprovalPolicy>(),
        named::<ApprovalCondition>(),
    ];
    let all: Map<String, Value> =
        kinds.into_iter().chain(others).map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Contexts",
        "description": "One context, or a list of them, as `aptix contexts put` takes them.",
        "anyOf": [reference("Context"), { "type": "array", "items": reference("Context") }],
        "$defs": all,
    })
}

fn tagged<T: Members>(kind: ContextKind) -> (&'static str, Value) {
    (T::NAME, object::<T>(Some(("Kind", kind.name()))))
}

fn named<T: Members>() -> (&'static str, Value) {
    (T::NAME, object::<T>(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_valid(document: &Value) -> bool {
        jsonschema::validator_for(&schema()).unwrap().is_valid(document)
    }

    /// Prices are a type of another crate, so their rows don't declare it. Its own error names its members.
    #[test]
    fn rows_of_prices_are_the_members_of_the_type() {
        let error = serde_json::from_value::<Prices>(json!({ "No": 1 })).unwrap_err().to_string();
        let members: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
        let rows: Vec<String> = Prices::members().into_iter().map(|row| row.name).collect();
        assert_eq!(rows, members);
    }

    #[test]
    fn rows_have_the_bounds_words_and_defaults_of_their_members() {
        let schema = schema();
        let conversation = &schema["$defs"]["ConversationContext"];
        assert_eq!(conversation["required"], json!(["Kind", "Id", "Name", "System"]));
        let members = &conversation["properties"];
        assert_eq!(
            members["ToolDeadlineSeconds"],
            json!({ "type": "integer", "minimum": 60, "maximum": 604_800,
                "description": "The time in seconds that a turn waits for the client's tool results." })
        );
        assert_eq!(members["Verbosity"]["enum"], json!(["low", "medium", "high"]));
        assert_eq!(members["TextFormat"], json!({ "$ref": "#/$defs/TextFormat" }));
        let hints = &schema["$defs"]["Mode"]["properties"]["BehaviorHints"];
        assert_eq!((&hints["maxItems"], &hints["items"]["maxLength"]), (&json!(64), &json!(2_000)));
    }

    #[test]
    fn schema_accepts_contexts_and_rejects_others() {
        let defaults: Value = serde_json::from_str(include_str!("../../data/contexts.json")).unwrap();
        assert!(is_valid(&defaults));
        let agent = json!({ "Kind": "agent", "Id": "a", "Name": "A" });
        assert!(is_valid(&agent));
        for (name, value) in
            [("Kind", json!("nobody")), ("Nmae", json!("A")), ("ClientTools", json!([{ "Name": "a b" }]))]
        {
            let mut wrong = agent.clone();
            wrong[name] = value;
            assert!(!is_valid(&wrong), "{wrong}");
        }
        let mut conversation = json!({ "Kind": "conversation", "Id": "a", "Name": "A", "System": "s",
            "Temperature": 0.5, "ReasoningEffort": "low", "PromptLimits": { "FileTokens": 0 }, "Fallbacks": [{ "ModelName": "m" }],
            "HostedTools": [{ "Type": "web_search", "AllowedDomains": ["a.org"] }],
            "Prices": { "PromptPerMillion": "1.25", "CompletionPerMillion": "10", "Currency": "USD" } });
        assert!(is_valid(&conversation));
        conversation["MaxRounds"] = json!(0);
        assert!(!is_valid(&conversation));
    }
}
