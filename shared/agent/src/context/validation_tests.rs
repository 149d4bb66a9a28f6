//! Invalid contexts are rejected with all their faults at once.

use serde_json::{Value, json};

use super::{
    ContextKind, Document,
    parse::parse_documents,
    tests::{SERVER_TOOLS, agent, assert_faults, catalog, conversation, parse, tool, with},
};
use crate::mode::Catalog;

#[test]
fn shape_faults_are_all_reported_at_once() {
    assert_faults(
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
fn conversation_faults_are_all_reported_at_once() {
    let invalid = json!({
        "Kind": "conversation", "Id": "c", "Name": "Two\nlines", "System": " \n", "ModelName": "",
        "Temperature": 2.1, "TopP": 1.1, "MaxOutputTokens": 15, "TextFormat": { "Name": "a b", "Schema": { "type": "array" } }, "DefaultMode": "unheard_of", "Collection": "a/b", "EmbeddingModel": " ", "Dimensions": 0,
        "ToolDeadlineSeconds": 604_801, "RetentionDays": 3_651, "MaxRounds": 65, "ToolChoiceName": "nowhere",
        "PromptLimits": { "HistoryTokens": 2_000_001, "FileTokens": 10, "TotalFileTokens": 9, "ContextChunks": 65 },
        "Prices": { "PromptPerMillion": 1, "CompletionPerMillion": 2, "Currency": "dollars" },
    });
    assert_faults(
        &invalid,
        &[
            "contexts[0].Name: must be one line",
            "contexts[0].ModelName: must not be blank",
            "contexts[0].System: must not be blank",
            "contexts[0].Temperature: must be from 0 to 2, not 2.1",
            "contexts[0].TopP: must be from 0 to 1, not 1.1",
            "contexts[0].MaxOutputTokens: must be from 16",
            "contexts[0].TextFormat.Name: needs a name of 1 to 64",
            "contexts[0].Collection: ",
            "contexts[0].EmbeddingModel: must not be blank",
            "contexts[0].Dimensions: must be from 1 to 8192, not 0",
            "contexts[0].ToolDeadlineSeconds: ",
            "contexts[0].RetentionDays: ",
            "contexts[0].MaxRounds: must be from 1 to 64, not 65",
            "contexts[0].PromptLimits.HistoryTokens: ",
            "contexts[0].PromptLimits.ContextChunks: ",
            "contexts[0].Prices.Currency: ",
            "contexts[0].TextFormat.Schema: needs a schema with `\"type\": \"object\"`",
            "contexts[0].DefaultMode: \"unheard_of\" is not a mode",
            "contexts[0].PromptLimits.FileTokens: must not be more than TotalFileTokens",
            "contexts[0].ToolChoiceName: \"nowhere\" is neither",
        ],
    );
}

#[test]
fn client_tool_faults_are_all_reported_at_once() {
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
    assert_faults(
        &with(agent(), "ClientTools", tools),
        &[
            "contexts[0].ClientTools[0].ExecutedBy: must be client",
            "contexts[0].ClientTools[2].Description: must have at most 4000 characters",
            "contexts[0].ClientTools[0].Name: \"publish_file\" is the name of a server tool",
            "contexts[0].ClientTools[0]: needs a description",
            "contexts[0].ClientTools[1]: needs a name of 1 to 64",
            "contexts[0].ClientTools[2]: has usage text with the delimiter",
            "contexts[0].ClientTools[3].Name: another tool is called \"strict\" too",
            "contexts[0].ClientTools[3]: is strict, so at",
            "contexts[0].ClientTools[4]: needs a schema with",
            "contexts[0].ClientTools[4]: has an invalid JSON schema",
        ],
    );
    let schema_of_a_string = schema(json!({ "type": "string" }));
    assert_faults(
        &with(agent(), "ClientTools", json!([schema_of_a_string])),
        &["contexts[0].ClientTools[0]: needs a schema with"],
    );
}

#[test]
fn history_summary_needs_history_budget() {
    let summarized = with(conversation(), "HistorySummary", true);
    assert!(parse(&summarized).is_ok());
    assert_faults(
        &with(summarized, "PromptLimits", json!({ "HistoryTokens": 0 })),
        &["contexts[0].HistorySummary: needs PromptLimits.HistoryTokens of more than 0"],
    );
}

#[test]
fn forced_tool_must_be_offered_in_the_initial_mode() {
    let forced = |context: Value, tool: &str| with(context, "ToolChoiceName", tool);
    let general = conversation();
    let authoring = with(conversation(), "DefaultMode", "ddr_authoring");
    for (context, tool) in
        [(&general, "code_hash_normalized"), (&authoring, "agent_change_mode"), (&authoring, "publish_file")]
    {
        assert!(parse(&forced(context.clone(), tool)).is_ok(), "{tool}");
    }
    assert_faults(
        &forced(authoring, "code_hash_normalized"),
        &["contexts[0].ToolChoiceName: \"code_hash_normalized\" is neither"],
    );
}

#[test]
fn deprecated_default_mode_is_rejected() {
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
        parse_documents(&json, &catalog, &[], &[]).unwrap_err().as_slice()[0].path,
        "contexts[0].DefaultMode"
    );
}

#[test]
fn fallbacks_must_name_known_and_distinct_providers() {
    let prices = |currency: &str| json!({ "PromptPerMillion": "1", "CompletionPerMillion": "1", "Currency": currency });
    let fallbacks = |list: Value| with(conversation(), "Fallbacks", list);
    assert_faults(
        &json!([
            with(conversation(), "Provider", "openai"),
            fallbacks(
                json!([{ "Provider": "Azure" }, {}, { "ModelName": "m" }, { "ModelName": "m" }, { "ModelName": " " }])
            ),
            fallbacks(json!([{ "ModelName": "m", "Prices": prices("USD") }])),
            with(fallbacks(json!([{ "ModelName": "m", "Prices": prices("EUR") }])), "Prices", prices("USD")),
        ]),
        &[
            "contexts[0].Provider: \"openai\" is not a provider of this deployment, whose providers are: azure, local",
            "contexts[1].Fallbacks[4].ModelName: must not be blank",
            "contexts[1].Fallbacks: must hold at most 4 fallbacks",
            "contexts[1].Fallbacks[0].Provider: \"Azure\" is not a provider",
            "contexts[1].Fallbacks[1]: must name a Provider or a ModelName that no earlier entry uses",
            "contexts[1].Fallbacks[3]: must name a Provider or a ModelName that no earlier entry uses",
            "contexts[1].Id: another conversation context",
            "contexts[2].Fallbacks[0].Prices: needs Prices of the context too",
            "contexts[2].Id: another conversation context",
            "contexts[3].Fallbacks[0].Prices.Currency: must be \"USD\", as in the context's Prices",
            "contexts[3].Id: another conversation context",
        ],
    );
    let json = with(conversation(), "Provider", "azure").to_string();
    let fault = parse_documents(&json, &catalog(), SERVER_TOOLS, &[]).unwrap_err().to_string();
    assert!(fault.ends_with("which has no named providers; add it to MODEL_PROVIDERS"), "{fault}");
}

#[test]
fn settings_need_a_provider_whose_wire_carries_them() {
    let tools = |context: Value| with(context, "HostedTools", json!([{ "Type": "web_search" }]));
    assert!(parse(&tools(with(conversation(), "Provider", "azure"))).is_ok());
    let on_local = with(conversation(), "Provider", "local");
    let in_fallback = with(conversation(), "Fallbacks", json!([{ "Provider": "local" }]));
    for context in [&on_local, &in_fallback] {
        assert!(parse(context).is_ok());
        assert_faults(
            &tools(context.clone()),
            &[
                "contexts[0].HostedTools: needs another provider than \"local\", whose wire chat-completions doesn't support it.",
            ],
        );
    }
    let guardrail = json!({ "Id": "abc123", "Version": "1" });
    assert_faults(
        &with(on_local, "Guardrail", guardrail),
        &[
            "contexts[0].Guardrail: needs another provider than \"local\", whose wire chat-completions doesn't support it.",
        ],
    );
}

#[test]
fn guardrail_has_an_id_or_arn_and_a_version() {
    let guarded = |id: &str, version: &str| {
        parse(&with(conversation(), "Guardrail", json!({ "Id": id, "Version": version })))
    };
    for (id, version) in
        [("abc123", "1"), ("arn:aws:bedrock:eu-central-1:123456789012:guardrail/abc123", "DRAFT")]
    {
        let documents = guarded(id, version).unwrap();
        let written = serde_json::to_value(&documents[0]).unwrap();
        assert_eq!(written["Guardrail"], json!({ "Id": id, "Version": version }));
    }
    for (id, version) in [("", "1"), ("ABC", "1"), ("a b", "1"), ("abc", "0"), ("abc", "latest"), ("abc", "")]
    {
        assert_eq!(guarded(id, version).unwrap_err().len(), 1, "{id} {version}");
    }
}

#[test]
fn hosted_tools_reject_secrets_and_invalid_members() {
    let faults = |tools: Value| -> Vec<String> {
        let context = with(conversation(), "HostedTools", tools);
        let faults = parse(&context).expect_err("faults");
        faults.as_slice().iter().map(ToString::to_string).collect()
    };
    let mcp = json!({ "Type": "mcp", "ServerLabel": "docs", "ServerUrl": "https://mcp.example.com" });
    for secret in ["Authorization", "Headers", "ConnectorId", "RequireApproval"] {
        let faults = faults(json!([with(mcp.clone(), secret, "sk-secret")]));
        assert!(faults[0].contains(secret) && !faults[0].contains("sk-secret"), "{faults:?}");
    }
    for url in
        ["http://a.example", "https://user:pass@a.example", "https://a.example/?key=1", "https://", "x"]
    {
        let faults = faults(json!([with(mcp.clone(), "ServerUrl", url)]));
        assert!(faults[0].contains("HostedTools[0].ServerUrl: must be an https URL"), "{faults:?}");
    }
    for (tools, expected) in [
        (
            json!([{ "Type": "web_search" }, { "Type": "web_search" }]),
            "HostedTools[1].Type: \"web_search\" is declared twice",
        ),
        (json!([mcp.clone(), mcp]), "HostedTools[1].ServerLabel: \"docs\" is declared twice"),
        (
            json!([{ "Type": "file_search", "VectorStoreIds": [] }]),
            "VectorStoreIds: must name at least one store",
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
        let faults = faults(tools);
        assert!(faults[0].contains(expected), "{faults:?}");
    }
}

#[test]
fn file_may_hold_modes_and_the_contexts_that_name_them() {
    let mode = json!({
        "Kind": "mode", "Key": "notes", "DisplayName": "Notes", "Description": "d", "WhenToUse": "w",
        "Status": "active", "Version": "1",
    });
    let context = with(conversation(), "DefaultMode", "notes");
    let documents = parse(&json!([context, mode])).unwrap();
    assert_eq!((documents[1].kind(), documents[1].id(), documents[1].name()), ("mode", "notes", "Notes"));
    let Document::Mode(parsed) = &documents[1] else { panic!("{documents:?}") };
    assert_eq!(parsed.id.len(), 32, "derived from the key");
    assert_eq!(
        Document::from_stored(ContextKind::Mode, &documents[1].to_stored().unwrap()).unwrap(),
        documents[1]
    );
    let faults = parse(&json!([mode, with(mode.clone(), "WhenToUse", " "), with(mode.clone(), "Colour", 1)]));
    let faults = faults.unwrap_err();
    let expected = [
        "contexts[2].Colour: unknown field",
        "contexts[1].WhenToUse: must not be blank",
        "contexts[1].Key: another mode has the key \"notes\" too",
    ];
    assert_eq!(faults.len(), expected.len(), "{faults:?}");
    assert!(faults.iter().zip(expected).all(|(fault, expected)| fault.starts_with(expected)), "{faults:?}");
}

#[test]
fn deprecation_is_a_bounded_line() {
    let deprecated = |text: &str| parse(&with(conversation(), "Deprecated", text));
    assert_eq!(deprecated("Use \"other\".").unwrap()[0].deprecated(), Some("Use \"other\"."));
    for wrong in ["", "two\nlines", &"x".repeat(401)] {
        let faults = deprecated(wrong).unwrap_err();
        assert!(faults[0].starts_with("contexts[0].Deprecated: must"), "{faults:?}");
    }
}
