//! The JSON Schema of a file of contexts, for editors and for programs that write one.
//!
//! What it holds to is the shape: members, types, bounds. What depends on a deployment (which modes, tools and providers
//! there are) is said when a context is put.

use serde_json::{Value, json};

use super::limits;
use crate::retrieval::MOST_CHUNKS;

/// The schema, in draft 2020-12.
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
            "Context": { "oneOf": [{ "$ref": "#/$defs/AgentContext" }, { "$ref": "#/$defs/ConversationContext" }] },
            "AgentContext": agent(),
            "ConversationContext": conversation(),
            "ClientTool": client_tool(),
            "HostedTool": hosted_tool(),
            "TextFormat": text_format(),
            "Budgets": budgets(),
            "Prices": prices(),
            "Fallback": object(
                "Who is asked where the model before has no answer.",
                &[],
                &[
                    ("Provider", text("A provider of the deployment; absent: the context's.")),
                    ("ModelName", text("The provider's model id; absent: the context's.")),
                    ("Prices", reference("Prices")),
                ],
            ),
        }
    })
}

/// An object that has these members and no other.
fn object(what: &str, required: &[&str], members: &[(&str, Value)]) -> Value {
    let members: serde_json::Map<String, Value> =
        members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({
        "type": "object", "description": what, "required": required, "properties": members,
        "additionalProperties": false,
    })
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn list(name: &str, what: &str) -> Value {
    json!({ "type": "array", "items": reference(name), "description": what })
}

fn texts(what: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": what })
}

fn text(what: &str) -> Value {
    json!({ "type": "string", "description": what })
}

fn name_of(what: &str, most: usize) -> Value {
    json!({ "type": "string", "maxLength": most, "description": what })
}

fn flag(what: &str) -> Value {
    json!({ "type": "boolean", "description": what })
}

fn word(words: &[&str], what: &str) -> Value {
    json!({ "enum": words, "description": what })
}

fn count(bounds: &std::ops::RangeInclusive<u32>, what: &str) -> Value {
    json!({ "type": "integer", "minimum": bounds.start(), "maximum": bounds.end(), "description": what })
}

fn share(bounds: &std::ops::RangeInclusive<f64>, what: &str) -> Value {
    json!({ "type": "number", "minimum": bounds.start(), "maximum": bounds.end(), "description": what })
}

fn agent() -> Value {
    object(
        "Who works: its name, and the tools that its clients run.",
        &["Kind", "Id", "Name"],
        &[
            ("Kind", json!({ "const": "agent" })),
            ("Id", text("What requests call it: `AgentContextId`.")),
            ("Name", name_of("What session lists call it.", limits::MAX_NAME_CHARS)),
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
        "How it works: model, prompt, limits, prices.",
        &["Kind", "Id", "Name", "System"],
        &[
            ("Kind", json!({ "const": "conversation" })),
            ("Id", text("What requests call it: `ConversationContextId`.")),
            ("Name", name_of("What session lists call it.", limits::MAX_NAME_CHARS)),
            ("Provider", text("A provider of the deployment, by its name; absent: the default one.")),
            (
                "ModelName",
                name_of("The provider's model id; absent: the configured one.", limits::MAX_MODEL_NAME_CHARS),
            ),
            ("System", text("The base system prompt; never blank.")),
            ("Temperature", share(&limits::TEMPERATURE, "Sent when set; some models refuse it.")),
            ("TopP", share(&limits::TOP_P, "From which share of the likeliest words the model chooses.")),
            (
                "MaxOutputTokens",
                count(&limits::MAX_OUTPUT_TOKENS, "The most tokens that one reply may have."),
            ),
            (
                "ReasoningEffort",
                word(
                    &["none", "minimal", "low", "medium", "high", "xhigh", "max"],
                    "How much a reasoning model may think.",
                ),
            ),
            ("Verbosity", word(&["low", "medium", "high"], "How many words the model makes.")),
            ("TextFormat", reference("TextFormat")),
            (
                "ServiceTier",
                word(
                    &["auto", "default", "flex", "scale", "priority"],
                    "How urgent the provider takes requests to be.",
                ),
            ),
            ("ParallelToolCalls", flag("Whether one reply may call several tools.")),
            ("DefaultMode", text("The mode that sessions start in; absent: the catalog's default.")),
            ("ClientTools", list("ClientTool", "The tools that clients of this conversation run.")),
            ("HostedTools", list("HostedTool", "The tools that the model's provider runs.")),
            ("ToolChoiceName", text("A tool that a turn's first model call must use.")),
            ("Collection", name_of("The vector collection that is searched.", limits::MAX_COLLECTION_CHARS)),
            ("EmbeddingModel", text("The provider's id of the model that made its vectors.")),
            ("Dimensions", count(&limits::DIMENSIONS, "How long its vectors are.")),
            ("Chain", word(&["auto", "provider", "local"], "Who remembers the conversation.")),
            ("ToolsOnContinuation", word(&["send", "omit"], "Whether chained requests carry the tools.")),
            ("StoreRawPayloads", flag("Whether the provider's raw requests and responses are kept.")),
            (
                "ToolDeadlineSeconds",
                count(&limits::TOOL_DEADLINE_SECONDS, "How long a turn waits for the client's tool results."),
            ),
            ("RetentionDays", count(&limits::RETENTION_DAYS, "How many days a deleted session is kept.")),
            ("MaxRounds", count(&limits::MAX_ROUNDS, "How many rounds of server tools a turn may take.")),
            ("Budgets", reference("Budgets")),
            (
                "HistorySummary",
                flag("Whether the model sums up the turns that Budgets.HistoryTokens leave out."),
            ),
            ("Prices", reference("Prices")),
            (
                "Fallbacks",
                json!({ "type": "array", "maxItems": limits::MAX_FALLBACKS, "items": reference("Fallback"),
                    "description": "Who is asked, in this order, where a model is overloaded, out, or too small." }),
            ),
        ],
    )
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
            ("Description", text("What it does, for the model.")),
            (
                "Parameters",
                json!({ "type": "object", "description": "The JSON Schema of its arguments: an object." }),
            ),
            ("Usage", text("When and how to use it, for the model.")),
            ("ExecutedBy", json!({ "const": "client" })),
            ("Strict", flag("Whether the provider must hold the model to the schema.")),
        ],
    )
}

fn hosted_tool() -> Value {
    let of_type = |name: &str, what: &str, required: &[&str], members: &[(&str, Value)]| {
        let members = [&[("Type", json!({ "const": name }))], members].concat();
        object(what, &[&["Type"], required].concat(), &members)
    };
    json!({ "oneOf": [
        of_type("web_search", "Searches the web.", &[], &[
            ("SearchContextSize", word(&["low", "medium", "high"], "How much of what it finds the model reads.")),
            ("AllowedDomains", texts("The domains it may search; none: every one.")),
        ]),
        of_type("file_search", "Searches files that the provider keeps.", &["VectorStoreIds"], &[
            ("VectorStoreIds", texts("In which of its stores.")),
            ("MaxNumResults", json!({ "type": "integer", "description": "How many results the model reads at most." })),
        ]),
        of_type("code_interpreter", "Runs code that the model writes, in a container of the provider's.", &[], &[
            ("FileIds", texts("Files of the provider's that are there.")),
            ("MemoryLimit", word(&["1g", "4g", "16g", "64g"], "How much memory it has.")),
        ]),
        of_type("mcp", "The tools of a remote MCP server; none of their calls is asked leave for.", &["ServerLabel", "ServerUrl"], &[
            ("ServerLabel", text("What the model calls the server.")),
            ("ServerUrl", text("Where it is.")),
            ("ServerDescription", text("What it is for, for the model.")),
            ("AllowedTools", texts("Those of its tools that may be called; none: every one.")),
        ]),
    ] })
}

fn text_format() -> Value {
    object(
        "The JSON that answers have to be.",
        &["Name", "Schema"],
        &[
            (
                "Name",
                json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$", "description": "Its name." }),
            ),
            ("Description", text("What it is for, for the model.")),
            ("Schema", json!({ "type": "object", "description": "The JSON Schema: an object." })),
            ("Strict", flag("Whether the provider must hold the model to the schema.")),
        ],
    )
}

fn budgets() -> Value {
    let tokens = |what: &str| count(&limits::BUDGET_TOKENS, what);
    object(
        "How much of each kind of material a request may carry; zero is none of it.",
        &[],
        &[
            ("HistoryTokens", tokens("Tokens of earlier turns, when the history has to be sent again.")),
            ("FileTokens", tokens("Tokens of one active file.")),
            ("TotalFileTokens", tokens("Tokens of all active files together.")),
            ("ContextTokens", tokens("Tokens of what is retrieved.")),
            ("ContextChunks", count(&(0..=MOST_CHUNKS), "Chunks of what is retrieved.")),
        ],
    )
}

fn prices() -> Value {
    let amount =
        |what: &str| json!({ "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$", "description": what });
    object(
        "What tokens cost, per million, as decimal numbers.",
        &["PromptPerMillion", "CompletionPerMillion", "Currency"],
        &[
            ("PromptPerMillion", amount("Input tokens.")),
            (
                "CachedPromptPerMillion",
                amount("Input tokens from the provider's cache; absent: as the others."),
            ),
            (
                "CacheWritePerMillion",
                amount("Input tokens that are written to that cache; absent: as the others."),
            ),
            ("CompletionPerMillion", amount("Output tokens, those of reasoning among them.")),
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
        context::{AgentContext, Budgets, ConversationContext, Fallback, Prices},
        settings::TextFormat,
        tool::Definition,
    };

    fn fits(document: &Value) -> bool {
        jsonschema::validator_for(&schema()).unwrap().is_valid(document)
    }

    /// The members that a type reads, as it names them itself when it is given another.
    fn members<T: DeserializeOwned>(kind: Option<&str>) -> BTreeSet<String> {
        let told = match serde_json::from_value::<T>(json!({ "No": 1 })) {
            Ok(_) => panic!("it takes any member"),
            Err(error) => error.to_string(),
        };
        let names = told.split('`').skip(3).step_by(2).map(str::to_owned);
        names.chain(kind.map(str::to_owned)).collect()
    }

    fn of(name: &str) -> BTreeSet<String> {
        schema()["$defs"][name]["properties"].as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn it_has_the_members_that_contexts_have() {
        assert_eq!(of("AgentContext"), members::<AgentContext>(Some("Kind")));
        assert_eq!(of("ConversationContext"), members::<ConversationContext>(Some("Kind")));
        assert_eq!(of("ClientTool"), members::<Definition>(None));
        assert_eq!(of("TextFormat"), members::<TextFormat>(None));
        assert_eq!(of("Budgets"), members::<Budgets>(None));
        assert_eq!(of("Prices"), members::<Prices>(None));
        assert_eq!(of("Fallback"), members::<Fallback>(None));
    }

    #[test]
    fn what_is_a_context_fits_and_what_is_none_does_not() {
        let defaults: Value = serde_json::from_str(include_str!("../../data/contexts.json")).unwrap();
        assert!(fits(&defaults));
        let agent = json!({ "Kind": "agent", "Id": "a", "Name": "A" });
        assert!(fits(&agent));
        for (name, value) in
            [("Kind", json!("nobody")), ("Nmae", json!("A")), ("ClientTools", json!([{ "Name": "a b" }]))]
        {
            let mut wrong = agent.clone();
            wrong[name] = value;
            assert!(!fits(&wrong), "{wrong}");
        }
        let mut conversation = json!({ "Kind": "conversation", "Id": "a", "Name": "A", "System": "s",
            "Temperature": 0.5, "ReasoningEffort": "low", "Budgets": { "FileTokens": 0 }, "Fallbacks": [{ "ModelName": "m" }],
            "HostedTools": [{ "Type": "web_search", "AllowedDomains": ["a.org"] }],
            "Prices": { "PromptPerMillion": "1.25", "CompletionPerMillion": "10", "Currency": "USD" } });
        assert!(fits(&conversation));
        conversation["MaxRounds"] = json!(0);
        assert!(!fits(&conversation));
    }
}
