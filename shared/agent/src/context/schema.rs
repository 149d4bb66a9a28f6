//! The JSON Schema of a file of contexts, for editors and for programs that write one.
//!
//! It covers members, types and bounds. Checks that depend on a deployment (which modes, tools and providers exist)
//! run when a context is put.

use serde_json::{Value, json};

use super::limits;
use crate::{
    mode::{MAX_KEY_CHARS, string_check::MAX_DEPRECATED_CHARS},
    retrieval::MAX_CHUNKS,
};

/// Returns the schema, in draft 2020-12.
#[must_use]
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Contexts",
        "description": "One context, or a list of them, as `aptix contexts put` takes them.",
        "anyOf": [
            { "$ref": "#/$defs/Context" },
            { "type": "array", "items": { "$ref": "#/$defs/Context" } }
        ],
        "$defs": {
            "Context": { "oneOf": [{ "$ref": "#/$defs/AgentContext" }, { "$ref": "#/$defs/ConversationContext" }, { "$ref": "#/$defs/Mode" }] },
            "AgentContext": agent(),
            "ConversationContext": conversation(),
            "Mode": mode(),
            "ClientTool": client_tool(),
            "HostedTool": hosted_tool(),
            "TextFormat": text_format(),
            "Guardrail": guardrail(),
            "PromptLimits": prompt_limits(),
            "Prices": prices(),
            "Fallback": object(
                "A model to call when the one before it fails.",
                &[],
                &[
                    ("Provider", text("A provider of the deployment. Absent: the context's.")),
                    ("ModelName", text("The provider's model id. Absent: the context's.")),
                    ("Prices", reference("Prices")),
                ],
            ),
        }
    })
}

/// Returns the schema of an object that has these members and no others.
fn object(description: &str, required: &[&str], members: &[(&str, Value)]) -> Value {
    let members: serde_json::Map<String, Value> =
        members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({
        "type": "object", "description": description, "required": required, "properties": members,
        "additionalProperties": false,
    })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn list(name: &str, description: &str) -> Value {
    json!({ "type": "array", "items": reference(name), "description": description })
}

fn text_list(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": description })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn name_text(description: &str, max_chars: usize) -> Value {
    json!({ "type": "string", "maxLength": max_chars, "description": description })
}

fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

fn enumeration(values: &[&str], description: &str) -> Value {
    json!({ "enum": values, "description": description })
}

fn integer(bounds: &std::ops::RangeInclusive<u32>, description: &str) -> Value {
    json!({ "type": "integer", "minimum": bounds.start(), "maximum": bounds.end(), "description": description })
}

fn number(bounds: &std::ops::RangeInclusive<f64>, description: &str) -> Value {
    json!({ "type": "number", "minimum": bounds.start(), "maximum": bounds.end(), "description": description })
}

fn agent() -> Value {
    object(
        "An agent: its name, and the tools that its clients run.",
        &["Kind", "Id", "Name"],
        &[
            ("Kind", json!({ "const": "agent" })),
            ("Id", text("The id that requests send as `AgentContextId`.")),
            ("Name", name_text("The name that session lists show.", limits::MAX_NAME_CHARS)),
            ("Deprecated", deprecated()),
            (
                "DefaultConversationContextId",
                text("The conversation context of a session whose first turn names none."),
            ),
            ("ClientTools", list("ClientTool", "The tools that this agent's clients run.")),
        ],
    )
}

fn conversation() -> Value {
    object(
        "The settings of a conversation: model, prompt, limits, prices.",
        &["Kind", "Id", "Name", "System"],
        &[
            ("Kind", json!({ "const": "conversation" })),
            ("Id", text("The id that requests send as `ConversationContextId`.")),
            ("Name", name_text("The name that session lists show.", limits::MAX_NAME_CHARS)),
            ("Deprecated", deprecated()),
            ("Provider", text("A provider of the deployment, by name. Absent: the default one.")),
            (
                "ModelName",
                name_text(
                    "The provider's model id. Absent: the configured one.",
                    limits::MAX_MODEL_NAME_CHARS,
                ),
            ),
            ("System", text("The base system prompt; never blank.")),
            ("Temperature", number(&limits::TEMPERATURE, "Sent when set; some models reject it.")),
            ("TopP", number(&limits::TOP_P, "The nucleus sampling mass.")),
            (
                "MaxOutputTokens",
                integer(&limits::MAX_OUTPUT_TOKENS, "The maximum number of tokens in one reply."),
            ),
            (
                "ReasoningEffort",
                enumeration(
                    &["none", "minimal", "low", "medium", "high", "xhigh", "max"],
                    "The effort of a reasoning model.",
                ),
            ),
            ("Verbosity", enumeration(&["low", "medium", "high"], "The verbosity of the model's answers.")),
            ("TextFormat", reference("TextFormat")),
            (
                "ServiceTier",
                enumeration(
                    &["auto", "default", "flex", "scale", "priority"],
                    "The provider's service tier.",
                ),
            ),
            ("ParallelToolCalls", flag("True if one reply may call several tools.")),
            ("DefaultMode", text("The mode that sessions start in. Absent: the catalog's default.")),
            ("ClientTools", list("ClientTool", "The tools that clients of this conversation run.")),
            ("HostedTools", list("HostedTool", "The tools that the model's provider runs.")),
            ("Guardrail", reference("Guardrail")),
            ("ToolChoiceName", text("A tool that a turn's first model call must use.")),
            ("Collection", name_text("The vector collection to search.", limits::MAX_COLLECTION_CHARS)),
            ("EmbeddingModel", text("The provider's id of the model that made its vectors.")),
            ("Dimensions", integer(&limits::DIMENSIONS, "The dimensions of its vectors.")),
            ("Chain", enumeration(&["auto", "provider", "local"], "The owner of the conversation state.")),
            (
                "ToolsOnContinuation",
                enumeration(&["send", "omit"], "The policy for tools on chained requests."),
            ),
            ("StoreRawPayloads", flag("Set if the provider's raw requests and responses are stored.")),
            (
                "ToolDeadlineSeconds",
                integer(
                    &limits::TOOL_DEADLINE_SECONDS,
                    "The time in seconds that a turn waits for the client's tool results.",
                ),
            ),
            (
                "RetentionDays",
                integer(&limits::RETENTION_DAYS, "The number of days that a deleted session is retained."),
            ),
            (
                "MaxRounds",
                integer(&limits::MAX_ROUNDS, "The maximum number of server tool rounds in a turn."),
            ),
            ("PromptLimits", reference("PromptLimits")),
            (
                "HistorySummary",
                flag("Set if the model summarizes the turns that exceed PromptLimits.HistoryTokens."),
            ),
            ("Prices", reference("Prices")),
            (
                "Fallbacks",
                json!({ "type": "array", "maxItems": limits::MAX_FALLBACKS, "items": reference("Fallback"),
                    "description": "The models to fall back to, in this order, when one is overloaded, unavailable or too small." }),
            ),
        ],
    )
}

fn mode() -> Value {
    object(
        "A mode: a way of working, and the tools that it brings.",
        &["Kind", "Key", "DisplayName", "Description", "WhenToUse", "Status", "Version"],
        &[
            ("Kind", json!({ "const": "mode" })),
            (
                "Id",
                json!({ "type": "string", "pattern": "^[0-9a-f]{32}$", "description": "Absent: derived from the key." }),
            ),
            ("Key", name_text("The key that sessions and requests use, in snake_case.", MAX_KEY_CHARS)),
            ("DisplayName", text("The name that a client displays.")),
            ("Description", text("A description for people who maintain it.")),
            ("WhenToUse", text("The condition for changing to it: one line, for the model.")),
            ("IsDefault", flag("True only for the mode that sessions start in by default.")),
            ("Status", enumeration(&["active", "experimental", "deprecated"], "Its lifecycle status.")),
            ("Deprecated", deprecated()),
            ("Version", text("The version of this definition.")),
            ("ModeInstructions", text_list("Instructions for the model in this mode.")),
            ("BehaviorHints", text_list("Guidance on the model's behavior.")),
            ("HumanRoleHints", text_list("Facts about the people that the model works with.")),
            ("ExampleUtterances", text_list("Examples of user messages that call for it.")),
            ("AssociatedToolIds", text_list("The server tools that it brings.")),
            ("ClientTools", list("ClientTool", "The client tools that it brings.")),
            ("ToolGroupHints", text_list("Kinds of tools that suit it.")),
            ("RagScopeHints", text_list("Ranking hints for retrieval, each written Key=Value.")),
            ("StrongSignals", text_list("Words that call for it on their own.")),
            ("WeakSignals", text_list("Words that call for it together with others.")),
        ],
    )
}

fn deprecated() -> Value {
    name_text("The replacement to use. Set it to deprecate the document.", MAX_DEPRECATED_CHARS)
}

fn client_tool() -> Value {
    object(
        "A tool that the client runs while the turn waits.",
        &["Name", "Description", "Parameters", "ExecutedBy"],
        &[
            (
                "Name",
                json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$", "description": "Its name." }),
            ),
            ("Description", text("A description for the model.")),
            (
                "Parameters",
                json!({ "type": "object", "description": "The JSON Schema of its arguments: an object." }),
            ),
            ("Usage", text("Instructions for the model on when and how to use it.")),
            ("ExecutedBy", json!({ "const": "client" })),
            ("Strict", flag("Set if the provider must hold the model to the schema.")),
        ],
    )
}

fn hosted_tool() -> Value {
    let hosted = |name: &str, description: &str, required: &[&str], members: &[(&str, Value)]| {
        let members = [&[("Type", json!({ "const": name }))], members].concat();
        object(description, &[&["Type"], required].concat(), &members)
    };
    json!({ "oneOf": [
        hosted("web_search", "Searches the web.", &[], &[
            ("SearchContextSize", enumeration(&["low", "medium", "high"], "The amount of the results that the model reads.")),
            ("AllowedDomains", text_list("The domains it may search. None: all.")),
        ]),
        hosted("file_search", "Searches files that the provider stores.", &["VectorStoreIds"], &[
            ("VectorStoreIds", text_list("The ids of the stores to search.")),
            ("MaxNumResults", json!({ "type": "integer", "description": "The maximum number of results that the model reads." })),
        ]),
        hosted("code_interpreter", "Runs code that the model writes, in a container at the provider.", &[], &[
            ("FileIds", text_list("The provider's files that the container has.")),
            ("MemoryLimit", enumeration(&["1g", "4g", "16g", "64g"], "The memory of the container.")),
        ]),
        hosted("mcp", "The tools of a remote MCP server. Their calls need no approval.", &["ServerLabel", "ServerUrl"], &[
            ("ServerLabel", text("The server's name for the model.")),
            ("ServerUrl", text("The server's URL.")),
            ("ServerDescription", text("Its purpose, for the model.")),
            ("AllowedTools", text_list("The tools that may be called. None: all.")),
        ]),
    ] })
}

fn guardrail() -> Value {
    object(
        "The guardrail that the provider applies to input and output.",
        &["Id", "Version"],
        &[
            ("Id", text("The guardrail's id, or its ARN.")),
            (
                "Version",
                json!({ "type": "string", "pattern": "^([1-9][0-9]{0,7}|DRAFT)$", "description": "Its version." }),
            ),
        ],
    )
}

fn text_format() -> Value {
    object(
        "The JSON format that answers must have.",
        &["Name", "Schema"],
        &[
            (
                "Name",
                json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$", "description": "Its name." }),
            ),
            ("Description", text("Its purpose, for the model.")),
            ("Schema", json!({ "type": "object", "description": "The JSON Schema: an object." })),
            ("Strict", flag("Set if the provider must hold the model to the schema.")),
        ],
    )
}

fn prompt_limits() -> Value {
    let tokens = |description: &str| integer(&limits::PROMPT_TOKENS, description);
    object(
        "The limits of each kind of content in a request. Zero leaves that kind out.",
        &[],
        &[
            ("HistoryTokens", tokens("Tokens of earlier turns, when the history is sent again.")),
            ("FileTokens", tokens("Tokens of one active file.")),
            ("TotalFileTokens", tokens("Tokens of all active files together.")),
            ("ContextTokens", tokens("Tokens of the retrieved chunks.")),
            ("ContextChunks", integer(&(0..=MAX_CHUNKS), "The number of retrieved chunks.")),
        ],
    )
}

fn prices() -> Value {
    let amount = |description: &str| json!({ "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$", "description": description });
    object(
        "Token prices per million, as decimal numbers.",
        &["PromptPerMillion", "CompletionPerMillion", "Currency"],
        &[
            ("PromptPerMillion", amount("Input tokens.")),
            (
                "CachedPromptPerMillion",
                amount(
                    "Input tokens read from the provider's cache. Absent: the price of other input tokens.",
                ),
            ),
            (
                "CacheWritePerMillion",
                amount("Input tokens written to that cache. Absent: the price of other input tokens."),
            ),
            ("CompletionPerMillion", amount("Output tokens, including reasoning tokens.")),
            (
                "Currency",
                json!({ "type": "string", "pattern": "^[A-Z]{3}$", "description": "Its ISO 4217 code." }),
            ),
        ],
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde::de::DeserializeOwned;

    use super::*;
    use crate::{
        context::{AgentContext, ConversationContext, Fallback, PromptLimits},
        mode::Mode,
        model::{
            model_settings::{Guardrail, TextFormat},
            price::Prices,
        },
        tool::Definition,
    };

    fn is_valid(document: &Value) -> bool {
        jsonschema::validator_for(&schema()).unwrap().is_valid(document)
    }

    /// The members that a type reads, taken from its own "unknown field" error.
    fn members<T: DeserializeOwned>(kind: Option<&str>) -> BTreeSet<String> {
        let message = match serde_json::from_value::<T>(json!({ "No": 1 })) {
            Ok(_) => panic!("it takes any member"),
            Err(error) => error.to_string(),
        };
        let names = message.split('`').skip(3).step_by(2).map(str::to_owned);
        names.chain(kind.map(str::to_owned)).collect()
    }

    fn properties(name: &str) -> BTreeSet<String> {
        schema()["$defs"][name]["properties"].as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn schema_has_the_members_of_the_types() {
        assert_eq!(properties("AgentContext"), members::<AgentContext>(Some("Kind")));
        let mut conversation = members::<ConversationContext>(Some("Kind"));
        conversation.remove("Budgets"); // The former name of PromptLimits, which is read and not documented.
        assert_eq!(properties("ConversationContext"), conversation);
        assert_eq!(properties("Mode"), members::<Mode>(Some("Kind")));
        assert_eq!(properties("ClientTool"), members::<Definition>(None));
        assert_eq!(properties("TextFormat"), members::<TextFormat>(None));
        assert_eq!(properties("Guardrail"), members::<Guardrail>(None));
        assert_eq!(properties("PromptLimits"), members::<PromptLimits>(None));
        assert_eq!(properties("Prices"), members::<Prices>(None));
        assert_eq!(properties("Fallback"), members::<Fallback>(None));
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
