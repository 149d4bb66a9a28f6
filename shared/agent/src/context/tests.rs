//! The defaults are valid, bad contexts are refused with all their faults, and settings resolve.

use protocol::chain::ChainPolicy;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    AgentContext, ConversationContext, Defaults, Document, Effective, Route, ToolsOnContinuation, defaults,
    parse_documents,
};
use crate::{mode::Catalog, tool::declared::most_of_context};

const SERVER_TOOLS: &[&str] =
    &["agent_change_mode", "agent_list_modes", "code_hash_normalized", "publish_file"];

const PROVIDERS: &[&str] = &["azure", "local"];

fn catalog() -> Catalog {
    Catalog::seed(SERVER_TOOLS).unwrap()
}

fn parse(json: &Value) -> Result<Vec<Document>, Vec<String>> {
    parse_documents(&json.to_string(), &catalog(), SERVER_TOOLS, PROVIDERS)
        .map_err(|faults| faults.as_slice().iter().map(ToString::to_string).collect())
}

fn tool(name: &str) -> Value {
    json!({
        "Name": name, "Description": "Does it.", "ExecutedBy": "client",
        "Parameters": { "type": "object", "properties": { "path": { "type": "string" } } },
    })
}

fn agent() -> Value {
    json!({ "Kind": "agent", "Id": "a-1", "Name": "An agent" })
}

fn conversation() -> Value {
    json!({ "Kind": "conversation", "Id": "c-1", "Name": "A conversation", "System": "Be kind." })
}

fn with(mut context: Value, name: &str, value: impl Into<Value>) -> Value {
    context[name] = value.into();
    context
}

fn read_agent(json: &Value) -> AgentContext {
    match parse(json).unwrap().remove(0) {
        Document::AgentContext(context) => context,
        Document::ConversationContext(context) => panic!("{context:?}"),
    }
}

fn read_conversation(json: &Value) -> ConversationContext {
    match parse(json).unwrap().remove(0) {
        Document::ConversationContext(context) => context,
        Document::AgentContext(context) => panic!("{context:?}"),
    }
}

fn seeded() -> Defaults {
    defaults(&catalog(), SERVER_TOOLS).unwrap()
}

#[test]
fn the_defaults_are_valid() {
    let Defaults { agent, conversation } = seeded();
    assert_eq!(
        (&agent.id, &conversation.id),
        (&contracts::id::AgentContextId::built_in(), &contracts::id::ConversationContextId::built_in())
    );
    assert_eq!(
        (agent.name.as_str(), conversation.name.as_str()),
        (super::BUILT_IN_NAME, super::BUILT_IN_NAME)
    );
    assert_eq!(agent.default_conversation_context_id, Some(conversation.id.clone()));
    let names: Vec<&str> = conversation.client_tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["workspace_read_file", "workspace_write_patch"]);
    assert!(conversation.client_tools.iter().all(|tool| tool.strict && tool.usage.is_some()));
    for named in
        ["[INSTRUCTION]", "[CONTEXT]", "[TOOL_RESULTS]", "[MODE_INSTRUCTIONS: ", "Markdown", "unsure"]
    {
        assert!(conversation.system.contains(named), "{named}");
    }
}

#[test]
fn the_defaults_give_way_to_no_server_tool() {
    let server_tools = [SERVER_TOOLS, &["workspace_read_file"]].concat();
    let faults = defaults(&catalog(), &server_tools).unwrap_err();
    assert_eq!(
        faults.to_string(),
        "contexts[1].ClientTools[0].Name: \"workspace_read_file\" is the name of a server tool"
    );
}

#[test]
fn what_is_not_said_has_a_default() {
    let context = read_conversation(&conversation());
    assert_eq!((context.tool_deadline_seconds, context.max_rounds), (86_400, 16));
    assert_eq!(context.chain, None, "the deployment's");
    assert_eq!(context.tools_on_continuation, ToolsOnContinuation::Send);
    assert!(!context.store_raw_payloads);
    assert_eq!(context.budgets.context_chunks, 12);
    let partly = read_conversation(&with(conversation(), "Budgets", json!({ "ContextChunks": 3 })));
    assert_eq!((partly.budgets.context_chunks, partly.budgets.context_tokens), (3, 8_000));
}

#[test]
fn everything_that_can_be_said_is_read_and_written_alike() {
    let full = json!({
        "Kind": "conversation", "Id": "c", "Name": "Full", "ModelName": "m", "System": "s", "Temperature": 0.7,
        "TopP": 0.9, "MaxOutputTokens": 4000, "ReasoningEffort": "max", "Verbosity": "low", "ServiceTier": "flex",
        "ParallelToolCalls": false, "DefaultMode": "ddr_authoring",
        "TextFormat": {
            "Name": "verdict", "Description": "d", "Strict": false, "Schema": { "type": "object", "properties": {} },
        },
        "ClientTools": [with(with(tool("t"), "Usage", "u"), "Strict", false)], "ToolChoiceName": "t",
        "HostedTools": [
            { "Type": "web_search", "SearchContextSize": "low", "AllowedDomains": ["docs.rs"] },
            { "Type": "file_search", "VectorStoreIds": ["vs_1"], "MaxNumResults": 5 },
            { "Type": "code_interpreter", "FileIds": ["file-1"], "MemoryLimit": "4g" },
            {
                "Type": "mcp", "ServerLabel": "docs", "ServerUrl": "https://mcp.example.com/mcp",
                "ServerDescription": "d", "AllowedTools": ["search"],
            },
        ],
        "Collection": "code.main-1", "EmbeddingModel": "e", "Dimensions": 256, "Chain": "local", "ToolsOnContinuation": "omit", "StoreRawPayloads": true,
        "ToolDeadlineSeconds": 60, "MaxRounds": 64,
        "Budgets": { "HistoryTokens": 1, "FileTokens": 2, "TotalFileTokens": 3, "ContextTokens": 4, "ContextChunks": 5 },
        "Prices": {
            "PromptPerMillion": "1.25", "CachedPromptPerMillion": "0.125", "CacheWritePerMillion": "1.5625",
            "CompletionPerMillion": "10", "Currency": "USD"
        },
        "Provider": "azure",
        "Fallbacks": [{
            "Provider": "local", "ModelName": "n",
            "Prices": { "PromptPerMillion": "1", "CompletionPerMillion": "2", "Currency": "USD" },
        }],
    });
    assert_eq!(serde_json::to_value(&parse(&full).unwrap()[0]).unwrap(), full);
    let full = json!({
        "Kind": "agent", "Id": "a", "Name": "Full", "DefaultConversationContextId": "c",
        "ClientTools": [with(tool("t"), "Strict", false)],
    });
    assert_eq!(serde_json::to_value(&parse(&full).unwrap()[0]).unwrap(), full);
}

#[test]
fn a_file_holds_one_context_or_several() {
    assert_eq!(parse(&agent()).unwrap().len(), 1);
    let documents = parse(&json!([agent(), conversation()])).unwrap();
    let which: Vec<(&str, &str)> =
        documents.iter().map(|document| (document.kind(), document.id())).collect();
    assert_eq!(which, [("agent", "a-1"), ("conversation", "c-1")]);
    assert_eq!(
        parse(&json!([agent(), agent(), with(conversation(), "Id", "a-1")])).unwrap_err(),
        ["contexts[1].Id: another agent context has the id \"a-1\" too"]
    );
}

/// Every fault of a document, told from the whole list.
fn refused(document: &Value, expected: &[&str]) {
    let faults = parse(document).unwrap_err();
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
    for (fault, expected) in faults.iter().zip(expected) {
        assert!(fault.starts_with(expected), "{fault}\n{expected}");
    }
}

#[test]
fn every_fault_of_shape_is_named_at_once() {
    refused(
        &json!([
            { "Kind": "agent", "Id": "no/path", "Name": 1, "System": "s" },
            { "Kind": "robot" }, 7, { "Id": "a" },
            { "Kind": "conversation", "Chain": "none", "Prices": {}, "ClientTools": [tool("a"), { "Name": "b" }] },
        ]),
        &[
            "contexts[0].Id: may hold only letters",
            "contexts[0].Name: invalid type",
            "contexts[0].System: unknown field `System`",
            "contexts[1]: must be an object whose Kind is",
            "contexts[2]: must be an object whose Kind is",
            "contexts[3]: must be an object whose Kind is",
            "contexts[4].Chain: unknown variant `none`",
            "contexts[4].ClientTools[1]: missing field `Description`",
            "contexts[4].Prices: missing field `PromptPerMillion`",
            "contexts[4]: missing field `Id`",
            "contexts[4]: missing field `Name`",
            "contexts[4]: missing field `System`",
        ],
    );
}

#[test]
fn every_fault_of_a_conversation_is_named_at_once() {
    let bad = json!({
        "Kind": "conversation", "Id": "c", "Name": "Two\nlines", "System": " \n", "ModelName": "",
        "Temperature": 2.1, "TopP": 1.1, "MaxOutputTokens": 15, "TextFormat": { "Name": "a b", "Schema": { "type": "array" } }, "DefaultMode": "unheard_of", "Collection": "a/b", "EmbeddingModel": " ", "Dimensions": 0,
        "ToolDeadlineSeconds": 604_801, "MaxRounds": 65, "ToolChoiceName": "nowhere",
        "Budgets": { "HistoryTokens": 2_000_001, "FileTokens": 10, "TotalFileTokens": 9, "ContextChunks": 65 },
        "Prices": { "PromptPerMillion": 1, "CompletionPerMillion": 2, "Currency": "dollars" },
    });
    refused(
        &bad,
        &[
            "contexts[0].Name: must be one line",
            "contexts[0].System: must not be blank",
            "contexts[0].ModelName: must not be blank",
            "contexts[0].Temperature: must be from 0 to 2, not 2.1",
            "contexts[0].TopP: must be from 0 to 1, not 1.1",
            "contexts[0].TextFormat.Name: needs a name of 1 to 64",
            "contexts[0].TextFormat.Schema: needs a schema with `\"type\": \"object\"`",
            "contexts[0].MaxOutputTokens: must be from 16",
            "contexts[0].DefaultMode: \"unheard_of\" is no mode",
            "contexts[0].Collection: ",
            "contexts[0].EmbeddingModel: must not be blank",
            "contexts[0].Dimensions: must be from 1 to 8192, not 0",
            "contexts[0].ToolDeadlineSeconds: ",
            "contexts[0].MaxRounds: must be from 1 to 64, not 65",
            "contexts[0].Budgets.HistoryTokens: ",
            "contexts[0].Budgets.ContextChunks: ",
            "contexts[0].Budgets.FileTokens: must not be more than TotalFileTokens",
            "contexts[0].Prices.Currency: ",
            "contexts[0].ToolChoiceName: \"nowhere\" is neither",
        ],
    );
}

#[test]
fn every_fault_of_a_client_tool_is_named_at_once() {
    let strict = with(tool("strict"), "Strict", true);
    let schema = |schema: Value| with(tool("schema"), "Parameters", schema);
    let tools = json!([
        with(with(tool("publish_file"), "ExecutedBy", "server"), "Description", ""),
        tool("a b"),
        with(
            with(tool("strict"), "Usage", "<<<APTIX_TOOL_USAGE_END name='x'>>>"),
            "Description",
            "d".repeat(4_001),
        ),
        strict,
        schema(json!("object")),
    ]);
    refused(
        &with(agent(), "ClientTools", tools),
        &[
            "contexts[0].ClientTools[0].Name: \"publish_file\" is the name of a server tool",
            "contexts[0].ClientTools[0]: needs a description",
            "contexts[0].ClientTools[0].ExecutedBy: must be client",
            "contexts[0].ClientTools[1]: needs a name of 1 to 64",
            "contexts[0].ClientTools[2]: has usage text with the delimiter",
            "contexts[0].ClientTools[2].Description: must have at most 4000 characters",
            "contexts[0].ClientTools[3].Name: another tool is called \"strict\" too",
            "contexts[0].ClientTools[3]: is strict, so at",
            "contexts[0].ClientTools[4]: needs a schema with",
            "contexts[0].ClientTools[4]: has a schema that is no usable JSON schema",
        ],
    );
    let schema_of_a_string = schema(json!({ "type": "string" }));
    refused(
        &with(agent(), "ClientTools", json!([schema_of_a_string])),
        &["contexts[0].ClientTools[0]: needs a schema with"],
    );
}

#[test]
fn a_context_is_bounded_as_a_whole() {
    assert!(parse(&with(conversation(), "System", "x".repeat(99_000))).is_ok());
    refused(&with(conversation(), "System", "x".repeat(99_999)), &["contexts[0]: must have at most 100000"]);
}

#[test]
fn an_agent_a_conversation_a_mode_and_the_server_together_never_bring_more_tools_than_a_request_may_offer() {
    let tools = |count| (0..count).map(|n| tool(&format!("t{n}"))).collect::<Vec<Value>>();
    let most = most_of_context(SERVER_TOOLS);
    for context in [agent(), conversation()] {
        assert!(parse(&with(context.clone(), "ClientTools", tools(most))).is_ok());
        let fault = format!("contexts[0].ClientTools: must hold at most {most}");
        refused(&with(context, "ClientTools", tools(most + 1)), &[&fault]);
    }
}

#[test]
fn a_tool_that_the_first_turns_mode_lacks_is_not_forced() {
    let forced = |context: Value, tool: &str| with(context, "ToolChoiceName", tool);
    let general = conversation();
    let authoring = with(conversation(), "DefaultMode", "ddr_authoring");
    for (context, tool) in
        [(&general, "code_hash_normalized"), (&authoring, "agent_change_mode"), (&authoring, "publish_file")]
    {
        assert!(parse(&forced(context.clone(), tool)).is_ok(), "{tool}");
    }
    refused(
        &forced(authoring, "code_hash_normalized"),
        &["contexts[0].ToolChoiceName: \"code_hash_normalized\" is neither"],
    );
}

#[test]
fn a_deprecated_mode_starts_no_session() {
    let mode = |id: u8, key: &str, status: &str| {
        json!({
            "Id": format!("{id:032x}"), "Key": key, "DisplayName": key, "Description": "d", "WhenToUse": "w",
            "IsDefault": id == 1, "Status": status, "Version": "1",
        })
    };
    let modes = json!([mode(1, "general", "active"), mode(2, "old", "deprecated")]).to_string();
    let catalog = Catalog::parse(&modes, &[]).unwrap();
    let json = with(conversation(), "DefaultMode", "old").to_string();
    assert_eq!(
        parse_documents(&json, &catalog, &[], &[]).unwrap_err().as_slice()[0].at,
        "contexts[0].DefaultMode"
    );
}

#[test]
fn without_contexts_a_turn_uses_the_defaults() {
    let defaults = seeded();
    let turn = Effective::resolve(None, None, &defaults, ("configured", ChainPolicy::default()));
    assert_eq!((turn.route.model.as_str(), turn.route.provider), ("configured", None));
    assert_eq!(turn.system, defaults.conversation.system);
    assert_eq!(turn.client_tools, defaults.conversation.client_tools);
    assert_eq!(turn.tool_deadline, Duration::from_secs(86_400));
    assert_eq!((turn.first_mode, turn.route.prices, turn.fallbacks), (None, None, Vec::new()));
}

#[test]
fn a_sessions_own_contexts_stand_as_a_whole() {
    let agent = read_agent(&with(agent(), "ClientTools", json!([tool("a"), tool("shared")])));
    let own = with(tool("shared"), "Description", "Another.");
    let context = with(conversation(), "ClientTools", json!([own, tool("c")]));
    let context = with(with(context, "ModelName", "theirs"), "DefaultMode", "workflow_authoring");
    let context = read_conversation(&with(context, "ToolChoiceName", "c"));
    let turn =
        Effective::resolve(Some(&agent), Some(&context), &seeded(), ("configured", ChainPolicy::default()));
    assert_eq!((turn.route.model.as_str(), turn.system.as_str()), ("theirs", "Be kind."));
    assert_eq!(turn.first_mode.as_deref(), Some("workflow_authoring"));
    assert_eq!(turn.tool_choice.as_deref(), Some("c"));
    let tools: Vec<(&str, &str)> =
        turn.client_tools.iter().map(|tool| (tool.name.as_str(), tool.description.as_str())).collect();
    assert_eq!(tools, [("a", "Does it."), ("shared", "Does it."), ("c", "Does it.")]);
}

#[test]
fn a_fallback_is_what_the_context_is_but_for_what_it_names() {
    let prices =
        |prompt: &str| json!({ "PromptPerMillion": prompt, "CompletionPerMillion": "1", "Currency": "USD" });
    let context = with(with(conversation(), "Provider", "azure"), "Prices", prices("5"));
    let fallbacks = json!([{ "ModelName": "small", "Prices": prices("1") }, { "Provider": "local" }]);
    let context = read_conversation(&with(context, "Fallbacks", fallbacks));
    let turn = Effective::resolve(None, Some(&context), &seeded(), ("configured", ChainPolicy::default()));
    let told = |route: &Route| {
        let prices = route.prices.as_ref().unwrap().prompt_per_million.to_string();
        (route.provider.clone().unwrap(), route.model.clone(), prices)
    };
    let route = |provider: &str, model: &str, prompt: &str| (provider.into(), model.into(), prompt.into());
    assert_eq!(told(&turn.route), route("azure", "configured", "5"));
    let fallbacks: Vec<_> = turn.fallbacks.iter().map(told).collect();
    assert_eq!(fallbacks, [route("azure", "small", "1"), route("local", "configured", "5")]);
}

#[test]
fn providers_and_fallbacks_have_to_be_there_and_to_differ() {
    let prices = |currency: &str| json!({ "PromptPerMillion": "1", "CompletionPerMillion": "1", "Currency": currency });
    let fallbacks = |list: Value| with(conversation(), "Fallbacks", list);
    refused(
        &json!([
            with(conversation(), "Provider", "openai"),
            fallbacks(
                json!([{ "Provider": "Azure" }, {}, { "ModelName": "m" }, { "ModelName": "m" }, { "ModelName": " " }])
            ),
            fallbacks(json!([{ "ModelName": "m", "Prices": prices("USD") }])),
            with(fallbacks(json!([{ "ModelName": "m", "Prices": prices("EUR") }])), "Prices", prices("USD")),
        ]),
        &[
            "contexts[0].Provider: \"openai\" is no provider of this deployment, whose providers are: azure, local",
            "contexts[1].Fallbacks: must be at most 4, not 5",
            "contexts[1].Fallbacks[0].Provider: \"Azure\" is no provider",
            "contexts[1].Fallbacks[1]: must name a Provider or a ModelName that was not asked before it",
            "contexts[1].Fallbacks[3]: must name a Provider or a ModelName that was not asked before it",
            "contexts[1].Fallbacks[4].ModelName: must not be blank",
            "contexts[1].Id: another conversation context",
            "contexts[2].Fallbacks[0].Prices: needs Prices of the context too",
            "contexts[2].Id: another conversation context",
            "contexts[3].Fallbacks[0].Prices.Currency: must be \"USD\", as in the context's Prices",
            "contexts[3].Id: another conversation context",
        ],
    );
    let json = with(conversation(), "Provider", "azure").to_string();
    let refused = parse_documents(&json, &catalog(), SERVER_TOOLS, &[]).unwrap_err().to_string();
    assert!(refused.ends_with("which has none with a name; declare it in MODEL_PROVIDERS"), "{refused}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // Decimals as people write them: the JSON reader takes those exactly, so they survive a round trip.
        (-300i32..300).prop_map(|hundredths| Value::from(f64::from(hundredths) / 100.0)),
        Just(Value::from(1e300)),
        "\\PC{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["agent", "conversation", "object", "client", "general", "1.5"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 32, 6, |inner| {
        let name = prop_oneof![any_name(), "[a-zA-Z]{0,4}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

#[test]
fn hosted_tools_hold_no_secret_and_nothing_that_a_provider_refuses() {
    let faults = |tools: Value| -> Vec<String> {
        let context = with(conversation(), "HostedTools", tools);
        let faults = parse(&context).expect_err("faults");
        faults.as_slice().iter().map(ToString::to_string).collect()
    };
    let mcp = json!({ "Type": "mcp", "ServerLabel": "docs", "ServerUrl": "https://mcp.example.com" });
    for secret in ["Authorization", "Headers", "ConnectorId", "RequireApproval"] {
        let told = faults(json!([with(mcp.clone(), secret, "sk-secret")]));
        assert!(told[0].contains(secret) && !told[0].contains("sk-secret"), "{told:?}");
    }
    for url in
        ["http://a.example", "https://user:pass@a.example", "https://a.example/?key=1", "https://", "x"]
    {
        let told = faults(json!([with(mcp.clone(), "ServerUrl", url)]));
        assert!(told[0].contains("HostedTools[0].ServerUrl: must be an https URL"), "{told:?}");
    }
    for (tools, wanted) in [
        (
            json!([{ "Type": "web_search" }, { "Type": "web_search" }]),
            "HostedTools[1].Type: \"web_search\" is declared twice",
        ),
        (json!([mcp.clone(), mcp]), "HostedTools[1].ServerLabel: \"docs\" is declared twice"),
        (
            json!([{ "Type": "file_search", "VectorStoreIds": [] }]),
            "VectorStoreIds: must name a store at least",
        ),
        (
            json!([{ "Type": "file_search", "VectorStoreIds": ["v"], "MaxNumResults": 51 }]),
            "MaxNumResults: must be from 1 to 50",
        ),
        (
            json!([{ "Type": "web_search", "AllowedDomains": ["https://a"] }]),
            "AllowedDomains[0]: must have 1 to 256",
        ),
        (json!([{ "Type": "image_generation" }]), "image_generation"),
    ] {
        let told = faults(tools);
        assert!(told[0].contains(wanted), "{told:?}");
    }
}

fn any_name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "Kind",
        "Id",
        "Key",
        "Name",
        "System",
        "ClientTools",
        "Temperature",
        "Budgets",
        "Prices",
        "MaxRounds",
        "Parameters",
        "DefaultMode",
        "DisplayName",
        "RagScopeHints",
        "AssociatedToolIds",
        "IsDefault",
        "Status",
    ])
    .prop_map(ToOwned::to_owned)
}

/// Nearly valid documents reach further than arbitrary ones.
fn any_document() -> impl Strategy<Value = Value> {
    let base = prop_oneof![Just(agent()), Just(conversation())];
    let nearly = (base, any_name(), any_json()).prop_map(|(base, name, value)| with(base, &name, value));
    prop_oneof![any_json(), nearly]
}

proptest! {
    #[test]
    fn any_json_is_contexts_or_faults(document in any_document()) {
        match parse(&document) {
            Ok(documents) => {
                let written = serde_json::to_value(&documents).unwrap();
                prop_assert_eq!(parse(&written).unwrap(), documents);
            }
            Err(faults) => prop_assert!(!faults.is_empty()),
        }
    }

    #[test]
    fn any_json_is_a_catalog_or_faults(json in any_json()) {
        match Catalog::parse(&json.to_string(), SERVER_TOOLS) {
            Ok(catalog) => prop_assert!(catalog.default_mode().is_default),
            Err(faults) => prop_assert!(!faults.as_slice().is_empty()),
        }
    }

    #[test]
    fn any_text_is_contexts_or_faults(text in "\\PC{0,64}") {
        let _ = parse_documents(&text, &catalog(), SERVER_TOOLS, PROVIDERS);
    }
}
