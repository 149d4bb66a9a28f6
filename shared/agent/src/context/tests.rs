//! Tests of the defaults, of parsing, and of resolving a turn's settings.

use protocol::chain::ConversationStatePolicy;
use std::time::Duration;

use serde_json::{Value, json};

use super::{
    AgentContext, ConversationContext, Defaults, Document, ResolvedContext, ToolsOnContinuation,
    defaults::{DEFAULTS, defaults},
    parse::parse_documents,
};
use crate::{
    mode::Catalog,
    model::{Wire, providers::DeclaredProvider, route::Route},
    tool::{
        built_in,
        client_tool_check::max_context_tools,
        diagnostics::{Sleep, diagnostics},
    },
};

pub(super) const SERVER_TOOLS: &[&str] =
    &["agent_change_mode", "agent_list_modes", "code_hash_normalized", "publish_file"];

/// Two providers, of which only the first runs hosted tools.
pub(super) fn providers() -> Vec<DeclaredProvider> {
    let declared = [("azure", Wire::Responses), ("local", Wire::ChatCompletions)];
    declared.map(|(name, wire)| DeclaredProvider { name: name.to_owned(), wire }).into()
}

pub(super) fn catalog() -> Catalog {
    Catalog::seed(SERVER_TOOLS).unwrap()
}

pub(super) fn parse(json: &Value) -> Result<Vec<Document>, Vec<String>> {
    parse_documents(&json.to_string(), &catalog(), SERVER_TOOLS, &providers())
        .map_err(|faults| faults.as_slice().iter().map(ToString::to_string).collect())
}

pub(super) fn tool(name: &str) -> Value {
    json!({
        "Name": name, "Description": "Does it.", "ExecutedBy": "client",
        "Parameters": { "type": "object", "properties": { "path": { "type": "string" } } },
    })
}

pub(super) fn agent() -> Value {
    json!({ "Kind": "agent", "Id": "a-1", "Name": "An agent" })
}

pub(super) fn conversation() -> Value {
    json!({ "Kind": "conversation", "Id": "c-1", "Name": "A conversation", "System": "Be kind." })
}

pub(super) fn with(mut context: Value, name: &str, value: impl Into<Value>) -> Value {
    context[name] = value.into();
    context
}

fn read_agent(json: &Value) -> AgentContext {
    match parse(json).unwrap().remove(0) {
        Document::AgentContext(context) => context,
        other => panic!("{other:?}"),
    }
}

fn read_conversation(json: &Value) -> ConversationContext {
    match parse(json).unwrap().remove(0) {
        Document::ConversationContext(context) => context,
        other => panic!("{other:?}"),
    }
}

/// Asserts that a document has exactly these faults, in order.
pub(super) fn assert_faults(document: &Value, expected: &[&str]) {
    let faults = parse(document).unwrap_err();
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
    for (fault, expected) in faults.iter().zip(expected) {
        assert!(fault.starts_with(expected), "{fault}\n{expected}");
    }
}

fn seeded() -> Defaults {
    defaults().unwrap()
}

#[test]
fn defaults_are_valid() {
    let Defaults { agent, conversation, named_agents, .. } = seeded();
    assert_eq!(
        (&agent.id, &conversation.id),
        (&contracts::id::AgentContextId::built_in(), &contracts::id::ConversationContextId::built_in())
    );
    assert_eq!(
        (agent.name.as_str(), conversation.name.as_str()),
        (super::BUILT_IN_NAME, super::BUILT_IN_NAME)
    );
    assert_eq!(agent.default_conversation_context_id, Some(conversation.id.clone()));
    assert!(agent.client_tools.is_empty() && conversation.client_tools.is_empty(), "no client is assumed");
    let [workspace] = named_agents.as_slice() else { panic!("{named_agents:?}") };
    let names: Vec<&str> = workspace.client_tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        ["workspace_read_file", "workspace_list_files", "workspace_search_text", "workspace_write_patch"]
    );
    assert!(workspace.client_tools.iter().all(|tool| tool.strict && tool.usage.is_some()));
    assert_eq!(super::built_in_agent_name(&workspace.id), Some(workspace.name.as_str()));
    assert_eq!((workspace.id.as_str(), &workspace.default_conversation_context_id), ("workspace", &None));
    for named in
        ["[INSTRUCTION]", "[CONTEXT]", "[TOOL_RESULTS]", "[MODE_INSTRUCTIONS: ", "Markdown", "unsure"]
    {
        assert!(conversation.system.contains(named), "{named}");
    }
}

#[test]
fn defaults_are_valid_with_every_server_tool() {
    let mut tools = built_in();
    tools.extend(diagnostics(Sleep::new(|_| std::future::ready(()))));
    let names: Vec<&str> = tools.iter().map(|tool| tool.definition().name.as_str()).collect();
    let Defaults { agent, conversation, named_agents, .. } = seeded();
    let agents = [vec![agent], named_agents].concat().into_iter().map(Document::AgentContext);
    let expected: Vec<Document> = agents.chain([Document::ConversationContext(conversation)]).collect();
    assert_eq!(parse_documents(DEFAULTS, &catalog(), &names, &[]).unwrap(), expected);

    let server_tools = [SERVER_TOOLS, &["workspace_read_file"]].concat();
    let faults = parse_documents(DEFAULTS, &catalog(), &server_tools, &[]).unwrap_err();
    assert_eq!(
        faults.to_string(),
        "contexts[1].ClientTools[0].Name: \"workspace_read_file\" is the name of a server tool"
    );
}

#[test]
fn absent_members_have_defaults() {
    let context = read_conversation(&conversation());
    assert_eq!((context.tool_deadline_seconds, context.max_rounds), (86_400, 16));
    assert_eq!(context.chain, None, "the deployment's");
    assert_eq!(context.tools_on_continuation, ToolsOnContinuation::Send);
    assert!(!context.store_raw_payloads);
    assert_eq!(context.prompt_limits.context_chunks, 12);
    let partial = read_conversation(&with(conversation(), "PromptLimits", json!({ "ContextChunks": 3 })));
    assert_eq!((partial.prompt_limits.context_chunks, partial.prompt_limits.context_tokens), (3, 8_000));
}

#[test]
fn former_name_of_prompt_limits_is_read_and_not_written() {
    let limits = json!({ "HistoryTokens": 7 });
    let former = read_conversation(&with(conversation(), "Budgets", limits.clone()));
    assert_eq!(former, read_conversation(&with(conversation(), "PromptLimits", limits.clone())));
    let written = serde_json::to_value(&former).unwrap();
    assert_eq!((&written["PromptLimits"]["HistoryTokens"], written.get("Budgets")), (&json!(7), None));

    let both = with(with(conversation(), "Budgets", limits.clone()), "PromptLimits", limits);
    assert_eq!(
        parse(&both).unwrap_err(),
        ["contexts[0].Budgets: is the former name of PromptLimits. Use only PromptLimits"]
    );
}

#[test]
fn every_member_round_trips() {
    let full = json!({
        "Kind": "conversation", "Id": "c", "Name": "Full", "ModelName": "m", "System": "s", "Temperature": 0.7,
        "TopP": 0.9, "MaxOutputTokens": 4000, "ReasoningEffort": "max", "ReasoningSummary": "auto", "Verbosity": "low", "ServiceTier": "flex",
        "ParallelToolCalls": false, "DefaultMode": "ddr_authoring",
        "TextFormat": {
            "Name": "verdict", "Description": "d", "Strict": false, "Schema": { "type": "object", "properties": {} },
        },
        "ClientTools": [with(with(tool("t"), "Usage", "u"), "Strict", false)], "ToolChoiceName": "t",
        "Tools": ["tickets"],
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
        "HistorySummary": true,
        "PromptLimits": { "HistoryTokens": 1, "FileTokens": 2, "TotalFileTokens": 3, "ContextTokens": 4, "ContextChunks": 5 },
        "Prices": {
            "PromptPerMillion": "1.25", "CachedPromptPerMillion": "0.125", "CacheWritePerMillion": "1.5625",
            "CompletionPerMillion": "10", "Currency": "USD"
        },
        "Provider": "azure",
        "Fallbacks": [{
            "Provider": "azure", "ModelName": "n",
            "Prices": { "PromptPerMillion": "1", "CompletionPerMillion": "2", "Currency": "USD" },
        }],
    });
    assert_eq!(serde_json::to_value(&parse(&full).unwrap()[0]).unwrap(), full);
    let full = json!({
        "Kind": "agent", "Id": "a", "Name": "Full", "Description": "Does all.", "DefaultConversationContextId": "c",
        "ClientTools": [with(tool("t"), "Strict", false)], "Tools": ["tickets.create_ticket"],
    });
    assert_eq!(serde_json::to_value(&parse(&full).unwrap()[0]).unwrap(), full);
}

#[test]
fn file_holds_one_context_or_several() {
    assert_eq!(parse(&agent()).unwrap().len(), 1);
    let documents = parse(&json!([agent(), conversation()])).unwrap();
    let ids: Vec<(&str, &str)> = documents.iter().map(|document| (document.kind(), document.id())).collect();
    assert_eq!(ids, [("agent", "a-1"), ("conversation", "c-1")]);
    assert_eq!(
        parse(&json!([agent(), agent(), with(conversation(), "Id", "a-1")])).unwrap_err(),
        ["contexts[1].Id: another agent context has the id \"a-1\" too"]
    );
}

#[test]
fn context_size_is_bounded() {
    assert!(parse(&with(conversation(), "System", "x".repeat(99_000))).is_ok());
    assert_faults(
        &with(conversation(), "System", "x".repeat(99_999)),
        &["contexts[0]: must have at most 100000"],
    );
}

#[test]
fn contexts_mode_and_server_together_stay_within_the_tool_limit() {
    let tools = |count| (0..count).map(|n| tool(&format!("t{n}"))).collect::<Vec<Value>>();
    let max = max_context_tools(SERVER_TOOLS);
    for context in [agent(), conversation()] {
        assert!(parse(&with(context.clone(), "ClientTools", tools(max))).is_ok());
        let fault = format!("contexts[0].ClientTools: must hold at most {max}");
        assert_faults(&with(context, "ClientTools", tools(max + 1)), &[&fault]);
    }
}

#[test]
fn turn_without_contexts_uses_the_defaults() {
    let defaults = seeded();
    let turn =
        ResolvedContext::resolve(None, None, &defaults, ("configured", ConversationStatePolicy::default()));
    assert_eq!((turn.route.model.as_str(), turn.route.provider), ("configured", None));
    assert_eq!(turn.system, defaults.conversation.system);
    assert_eq!(turn.client_tools, defaults.conversation.client_tools);
    assert_eq!(turn.tool_deadline, Duration::from_secs(86_400));
    assert_eq!((turn.initial_mode, turn.route.prices, turn.fallbacks), (None, None, Vec::new()));
}

#[test]
fn session_contexts_are_not_filled_from_defaults() {
    let agent = read_agent(&with(agent(), "ClientTools", json!([tool("a"), tool("shared")])));
    let own = with(tool("shared"), "Description", "Another.");
    let context = with(conversation(), "ClientTools", json!([own, tool("c")]));
    let context = with(with(context, "ModelName", "theirs"), "DefaultMode", "workflow_authoring");
    let context = read_conversation(&with(context, "ToolChoiceName", "c"));
    let turn = ResolvedContext::resolve(
        Some(&agent),
        Some(&context),
        &seeded(),
        ("configured", ConversationStatePolicy::default()),
    );
    assert_eq!((turn.route.model.as_str(), turn.system.as_str()), ("theirs", "Be kind."));
    assert_eq!(turn.initial_mode.as_deref(), Some("workflow_authoring"));
    assert_eq!(turn.tool_choice.as_deref(), Some("c"));
    let tools: Vec<(&str, &str)> =
        turn.client_tools.iter().map(|tool| (tool.name.as_str(), tool.description.as_str())).collect();
    assert_eq!(tools, [("a", "Does it."), ("shared", "Does it."), ("c", "Does it.")]);
}

#[test]
fn fallback_inherits_members_it_leaves_out() {
    let prices =
        |prompt: &str| json!({ "PromptPerMillion": prompt, "CompletionPerMillion": "1", "Currency": "USD" });
    let context = with(with(conversation(), "Provider", "azure"), "Prices", prices("5"));
    let fallbacks = json!([{ "ModelName": "small", "Prices": prices("1") }, { "Provider": "local" }]);
    let context = read_conversation(&with(context, "Fallbacks", fallbacks));
    let turn = ResolvedContext::resolve(
        None,
        Some(&context),
        &seeded(),
        ("configured", ConversationStatePolicy::default()),
    );
    let summary = |route: &Route| {
        let prices = route.prices.as_ref().unwrap().prompt_per_million.to_string();
        (route.provider.clone().unwrap(), route.model.clone(), prices)
    };
    let route = |provider: &str, model: &str, prompt: &str| (provider.into(), model.into(), prompt.into());
    assert_eq!(summary(&turn.route), route("azure", "configured", "5"));
    let fallbacks: Vec<_> = turn.fallbacks.iter().map(summary).collect();
    assert_eq!(fallbacks, [route("azure", "small", "1"), route("local", "configured", "5")]);
}
