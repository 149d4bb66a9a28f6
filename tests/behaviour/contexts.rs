//! Contexts: what sessions are bound to, and what readers are told of them (DD-002A, DD-007).

use aws_sdk_dynamodb::types::AttributeValue;
use contracts::paths;
use local::Function;
use serde_json::{Value, json};

use crate::support::{Client, System, is_chained, line, said, session_path, tools, turn, turn_in};

fn contexts() -> Value {
    let tool = json!({
        "Name": "editor_open", "Description": "Opens a file.", "ExecutedBy": "client",
        "Parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    });
    json!([
        {"Kind": "agent", "Id": "engineer", "Name": "Engineer", "DefaultConversationContextId": "backend", "ClientTools": [tool]},
        {"Kind": "conversation", "Id": "backend", "Name": "Backend", "System": "You know the backend.", "DefaultMode": "ddr_authoring"},
        {"Kind": "conversation", "Id": "frontend", "Name": "Frontend", "System": "You know the frontend."},
    ])
}

fn system_message(call: &Value) -> String {
    call["input"].as_array().unwrap().iter().find(|item| item["role"] == "system").unwrap().to_string()
}

#[tokio::test]
async fn default_conversation_context_is_fixed_by_the_first_turn() {
    let system = System::start().await;
    system.put_contexts("acme", &contexts()).await;
    let ada = system.client("acme", "ada");
    let mut request = turn("hello");
    request["AgentContextId"] = json!("engineer");
    assert_eq!(ada.execute(&request).await.result()["ModeDisplayName"], "DDR Authoring");
    let call = &system.model_calls()[0];
    assert!(system_message(call).contains("You know the backend."));
    assert_eq!(tools(call).first(), Some(&"editor_open"));

    let session = request["SessionId"].as_str().unwrap();
    let in_session = |conversation: &str| {
        let mut next = turn_in(session, "go on");
        next["ConversationContextId"] = json!(conversation);
        next
    };
    let refused = ada.execute(&in_session("frontend")).await;
    assert_eq!((refused.status, refused.error().as_str()), (409, "SessionContextMismatch"));
    ada.execute(&in_session("backend")).await.result();
    assert!(said(&system.model_calls()[1]).starts_with("[MODE: ddr_authoring]"));

    let mut named = in_session("frontend");
    (named["SessionId"], named["AgentContextId"]) = (json!("another"), json!("engineer"));
    ada.execute(&named).await.result();
    assert!(system_message(&system.model_calls()[2]).contains("frontend"), "a named one goes first");
}

#[tokio::test]
async fn unreadable_context_name_is_a_warning_on_the_call() {
    let system = System::start().await;
    system.put_contexts("acme", &contexts()).await;
    let ada = system.client("acme", "ada");
    let mut request = turn("hello");
    (request["AgentContextId"], request["ConversationContextId"]) = (json!("engineer"), json!("frontend"));
    ada.execute(&request).await.result();
    // Of a version that this build can't read, before any reader has seen it.
    let mut put = system.cloud.dynamodb().put_item().table_name(system.cloud.table());
    for (name, value) in [("PK", "O#acme"), ("SK", "CONV#frontend"), ("Document", "{}")] {
        put = put.item(name, AttributeValue::S(value.to_owned()));
    }
    put.item("V", AttributeValue::N("99".to_owned())).send().await.expect("put");

    for path in [session_path(&request), paths::SESSIONS.to_owned()] {
        let answer = ada.get(&path).await;
        let result = answer.result();
        let session = if path == paths::SESSIONS { &result["Items"][0] } else { &result };
        assert_eq!(
            (&session["AgentContextName"], &session["ConversationContextName"]),
            (&json!("Engineer"), &json!("frontend"))
        );
        let warnings = answer.json()["Warnings"].clone();
        assert_eq!(warnings.as_array().map(Vec::len), Some(1), "{warnings}");
        assert!(warnings[0]["Message"].as_str().unwrap().contains("names of some contexts"), "{warnings}");
    }
}

#[tokio::test]
async fn reads_show_context_names_or_ids_if_unknown() {
    let system = System::start().await;
    system.put_contexts("acme", &contexts()).await;
    let ada = system.client("acme", "ada");
    let mut request = turn("hello");
    (request["AgentContextId"], request["ConversationContextId"]) = (json!("engineer"), json!("frontend"));
    ada.execute(&request).await.result();
    // Gone before any reader has seen it.
    let keys = [("PK", "O#acme"), ("SK", "CONV#frontend")];
    let mut delete = system.cloud.dynamodb().delete_item().table_name(system.cloud.table());
    for (name, value) in keys {
        delete = delete.key(name, AttributeValue::S(value.to_owned()));
    }
    delete.send().await.expect("deleted");

    let read = ada.get(&session_path(&request)).await.result();
    let listed = ada.get(paths::SESSIONS).await.result();
    let line = listed["Items"][0].clone();
    for shown in [&read, &line] {
        assert_eq!(
            (&shown["AgentContextName"], &shown["ConversationContextName"]),
            (&json!("Engineer"), &json!("frontend")),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn session_on_built_in_contexts_shows_their_id_which_can_be_sent() {
    let system = System::start().await;
    system.put_contexts("acme", &contexts()).await;
    let ada = system.client("acme", "ada");
    let plain = turn("hello");
    ada.execute(&plain).await.result();
    let named = |mut turn: Value| {
        (turn["AgentContextId"], turn["ConversationContextId"]) = (json!("default"), json!("default"));
        turn
    };
    ada.execute(&named(turn_in(plain["SessionId"].as_str().unwrap(), "by its id"))).await.result();
    let from_the_start = named(turn("hello"));
    ada.execute(&from_the_start).await.result();
    ada.execute(&turn_in(from_the_start["SessionId"].as_str().unwrap(), "without")).await.result();
    let listed = ada.get(paths::SESSIONS).await.result();
    let sessions = [
        ada.get(&session_path(&plain)).await.result(),
        ada.get(&session_path(&from_the_start)).await.result(),
        listed["Items"][0].clone(),
        listed["Items"][1].clone(),
    ];
    for session in sessions {
        for kind in ["AgentContext", "ConversationContext"] {
            assert_eq!(
                (&session[format!("{kind}Id")], &session[format!("{kind}Name")]),
                (&json!("default"), &json!("Default")),
                "{session}"
            );
        }
    }
    let system_messages: Vec<String> = system
        .model_calls()
        .iter()
        .filter(|call| !crate::support::is_chained(call))
        .map(system_message)
        .collect();
    assert!(system_messages.windows(2).all(|two| two[0] == two[1]), "they work the same");

    let mut other = turn_in(plain["SessionId"].as_str().unwrap(), "by another id");
    other["AgentContextId"] = json!("engineer");
    assert_eq!(ada.execute(&other).await.error(), "SessionContextMismatch");
}

#[tokio::test]
async fn invalid_file_is_refused_with_every_fault_and_writes_nothing() {
    let system = System::start().await;
    let mut wrong = contexts();
    wrong[0]["ClientTools"][0]["Name"] = json!("publish_file");
    wrong[1]["System"] = json!(" \n");
    wrong[1]["DefaultMode"] = json!("banana");
    wrong[2]["Temperatur"] = json!(1);
    let refused = system.try_put_contexts("acme", &wrong).await;
    assert_eq!(refused.status.code(), Some(1));
    let told = String::from_utf8(refused.stderr).unwrap();
    for fault in [
        "contexts[0].ClientTools[0].Name: \"publish_file\" is the name of a server tool",
        "contexts[1].System: ",
        "contexts[1].DefaultMode: \"banana\" is not a mode",
        "contexts[2].Temperatur",
    ] {
        assert!(told.contains(fault), "{fault} is not in {told}");
    }
    assert!(system.items().await.is_empty(), "not even the one that was right");
}

#[tokio::test]
async fn context_that_providers_would_refuse_is_refused_on_write() {
    let system = System::start().await;
    let tool = |name: &str, strict: bool, parameters: Value| {
        json!({
            "Name": name, "Description": "Does it.", "ExecutedBy": "client", "Strict": strict,
            "Parameters": parameters,
        })
    };
    let strict = |property: Value| {
        json!({
            "type": "object", "properties": { "a": property }, "required": ["a"], "additionalProperties": false,
        })
    };
    let mut many: Vec<Value> = (0..63)
        .map(|n| tool(&format!("t{n}"), false, json!({ "type": "object", "properties": {} })))
        .collect();
    let mut open = strict(json!({ "$ref": "#/definitions/leaf" }));
    open["definitions"] = json!({ "leaf": { "type": "object", "properties": {} } });
    many.extend([
        tool("bare", false, json!({ "type": "object" })),
        tool("either", true, strict(json!({ "oneOf": [{ "type": "string" }] }))),
        tool("open", true, open),
    ]);
    let context = json!({
        "Kind": "conversation", "Id": "c", "Name": "C", "System": "S", "DefaultMode": "ddr_authoring",
        "ToolChoiceName": "code_hash_normalized", "ClientTools": many,
    });
    let refused = system.try_put_contexts("acme", &context).await;
    assert_eq!(refused.status.code(), Some(1));
    let told = String::from_utf8(refused.stderr).unwrap();
    for fault in [
        "ClientTools: must hold at most",
        "ClientTools[63]: needs a schema with `\"properties\"`",
        "ClientTools[64]: is strict, so `oneOf` isn't allowed at `/properties/a`",
        "ClientTools[65]: is strict, so at `/definitions/leaf`",
        "ToolChoiceName: \"code_hash_normalized\" is neither",
    ] {
        assert!(told.contains(fault), "{fault} is not in {told}");
    }
}

#[tokio::test]
async fn tool_choice_needs_tools_and_usage_joins_description() {
    let system = System::start().await;
    let tool = json!({
        "Name": "editor_open", "Description": "Opens a file.", "Usage": "One at a time.", "ExecutedBy": "client",
        "Parameters": { "type": "object", "properties": {} },
    });
    let context = json!({
        "Kind": "conversation", "Id": "c", "Name": "C", "System": "S", "ToolsOnContinuation": "omit",
        "ToolChoiceName": "agent_list_modes", "ClientTools": [tool],
    });
    system.put_contexts("acme", &context).await;
    let ada = system.client("acme", "ada");
    let mut first = turn("hello");
    first["ConversationContextId"] = json!("c");
    ada.execute(&first).await.result();
    ada.execute(&turn_in(first["SessionId"].as_str().unwrap(), "and again")).await.result();
    let calls = system.model_calls();
    assert_eq!(calls[0]["tool_choice"]["name"], "agent_list_modes");
    assert_eq!(calls[0]["tools"][0]["description"], "Opens a file.\n\nOne at a time.");
    let chained = calls.last().unwrap();
    assert!(chained.get("tools").is_none() && chained.get("tool_choice").is_none(), "{chained}");
}

#[tokio::test]
async fn model_settings_are_sent_and_nonconforming_answer_is_warned() {
    let system = System::start().await;
    let schema = json!({
        "type": "object", "properties": { "verdict": { "type": "string" } }, "required": ["verdict"],
        "additionalProperties": false,
    });
    let context = json!({
        "Kind": "conversation", "Id": "c", "Name": "C", "System": "S", "TopP": 0.5, "Verbosity": "low",
        "ServiceTier": "flex", "ParallelToolCalls": false,
        "TextFormat": { "Name": "verdict", "Schema": schema, "Strict": true },
    });
    system.put_contexts("acme", &context).await;
    let ada = system.client("acme", "ada");
    let asked = async |client: &Client, script: &str| {
        let mut request = turn(script);
        request["ConversationContextId"] = json!("c");
        client.execute(&request).await.result()
    };
    let warned = |answer: &Value| answer.get("UserWarnings").is_some();
    let fits = asked(&ada, r#"[[script: say "{\"verdict\":\"yes\"}"]]"#).await;
    assert!(!warned(&fits), "{fits}");
    assert_eq!(fits["PrimaryOutputText"], "```json\n{\"verdict\":\"yes\"}\n```");
    for other in ["Yes.", r#"{\"verdict\":1}"#] {
        let answer = asked(&ada, &format!(r#"[[script: say "{other}"]]"#)).await;
        assert!(warned(&answer), "{answer}");
    }

    let calls = system.model_calls();
    let text = json!({
        "format": { "type": "json_schema", "name": "verdict", "schema": schema, "strict": true },
        "verbosity": "low",
    });
    for (member, value) in [
        ("top_p", json!(0.5)),
        ("service_tier", json!("flex")),
        ("parallel_tool_calls", json!(false)),
        ("text", text),
    ] {
        assert_eq!(calls[0][member], value, "{member}");
    }
}

#[tokio::test]
async fn provider_sees_opaque_session_and_user_keys() {
    let system = System::start().await;
    let said = async |org: &str, user: &str, session: &str| {
        let client = system.client(org, user);
        client.execute(&turn_in(session, "hello")).await.result();
        let call = system.model_calls().pop().unwrap();
        ["prompt_cache_key", "safety_identifier"].map(|member| call[member].as_str().unwrap().to_owned())
    };
    let [session, user] = said("acme", "ada", "s-1").await;
    assert_eq!(said("acme", "ada", "s-1").await, [session.clone(), user.clone()]);
    let [another, same] = said("acme", "ada", "s-2").await;
    assert!(another != session && same == user);
    let [same, another] = said("acme", "bob", "s-1").await;
    assert!(same == session && another != user);
    let [elsewhere, namesake] = said("globex", "ada", "s-1").await;
    assert!(elsewhere != session && namesake != user, "another org's are others");
    for told in [session, user] {
        assert!(told.len() <= 64 && !told.contains("ada") && !told.contains("acme"), "{told}");
    }
}

#[tokio::test]
async fn missing_or_foreign_context_is_refused_before_start() {
    let system = System::start().await;
    system.put_contexts("acme", &contexts()).await;
    let eve = system.client("globex", "eve");
    for (member, code) in
        [("AgentContextId", "AgentContextNotFound"), ("ConversationContextId", "ConversationContextNotFound")]
    {
        let mut request = turn("hello");
        request[member] = json!("backend");
        let refused = eve.execute(&request).await;
        assert_eq!((refused.status, refused.error().as_str()), (404, code));
    }
    assert!(system.model_calls().is_empty());
}

/// The JSON blocks of the documentation that carry this word.
fn documented(word: &str) -> Vec<Value> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guides/agents.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let blocks = page.split("```").skip(1).step_by(2);
    let of_word = blocks.filter_map(|block| block.strip_prefix(&format!("json {word}\n")));
    of_word.map(|json| serde_json::from_str(json).expect("JSON")).collect()
}

/// Returns the context items of a table: keys, version, and the parsed context.
async fn kept(system: &System) -> Vec<(String, String, String, agent::context::Document)> {
    let text = |item: &std::collections::HashMap<String, AttributeValue>, name: &str| match &item[name] {
        AttributeValue::S(text) | AttributeValue::N(text) => text.clone(),
        other => panic!("{name} is {other:?}"),
    };
    let mut kept: Vec<_> = system
        .items()
        .await
        .iter()
        // The command keeps versions beside them.
        .filter(|item| !text(item, "SK").starts_with("VERSION#"))
        .map(|item| {
            let mut document: Value = serde_json::from_str(&text(item, "Document")).expect("JSON");
            let sk = text(item, "SK");
            document["Kind"] = json!(if sk.starts_with("AGENT#") { "agent" } else { "conversation" });
            let document = serde_json::from_value(document).expect("a context");
            (text(item, "PK"), sk, text(item, "V"), document)
        })
        .collect();
    kept.sort_by(|one, other| one.1.cmp(&other.1));
    kept
}

#[tokio::test]
async fn the_documented_items_are_what_contexts_put_writes() {
    let (by_hand, by_command) = (System::start().await, System::start().await);
    for item in documented("item") {
        let mut put = by_hand.cloud.dynamodb().put_item().table_name(by_hand.cloud.table());
        for (name, value) in item.as_object().unwrap() {
            let (kind, text) = value.as_object().unwrap().iter().next().unwrap();
            let text = text.as_str().unwrap().to_owned();
            let value = if kind == "N" { AttributeValue::N(text) } else { AttributeValue::S(text) };
            put = put.item(name, value);
        }
        put.send().await.expect("it is put");
    }
    let [file] = &documented("contexts")[..] else { panic!("one file") };
    by_command.put_contexts("acme", file).await;
    assert_eq!(kept(&by_hand).await, kept(&by_command).await);

    let ada = by_hand.client("acme", "ada");
    let mut request = turn("hello");
    request["AgentContextId"] = json!("engineer");
    ada.execute(&request).await.result();
    let call = &by_hand.model_calls()[0];
    assert_eq!((call["model"].as_str(), tools(call).first()), (Some("gpt-5"), Some(&"editor_open")));
    assert!(system_message(call).contains("You help the team of the backend."));
}

/// A conversation context, put for the org.
async fn with_context(system: &System, members: &Value) {
    let mut context = json!({"Kind": "conversation", "Id": "own", "Name": "Own", "System": "Help."});
    context.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    system.put_contexts("acme", &context).await;
}

/// A turn of a session with that context, whose model looks once before it answers.
fn looking(session: &str) -> Value {
    let script = r#"[[script: call code_hash_normalized {"text":"a"}; then; say "Done."]]"#;
    let mut request = turn_in(session, script);
    request["ConversationContextId"] = json!("own");
    request
}

#[tokio::test]
async fn agn_003_6_1_context_can_omit_tools_from_chained_requests() {
    let system = System::start().await;
    with_context(&system, &json!({"ToolsOnContinuation": "omit"})).await;
    let ada = system.client("acme", "ada");
    for _ in 0..2 {
        ada.execute(&looking("s")).await.result();
    }
    let calls = system.model_calls();
    let has: Vec<(bool, bool)> =
        calls.iter().map(|call| (is_chained(call), call.get("tools").is_some())).collect();
    assert_eq!(has, [(false, true), (true, false), (true, false), (true, false)]);
}

#[tokio::test]
async fn agn_003_6_2_tool_is_forced_only_in_the_first_call_of_a_turn() {
    let system = System::start().await;
    with_context(&system, &json!({"ToolChoiceName": "code_hash_normalized"})).await;
    let ada = system.client("acme", "ada");
    for _ in 0..2 {
        ada.execute(&looking("s")).await.result();
    }
    let forced = json!({"type": "function", "name": "code_hash_normalized"});
    let calls = system.model_calls();
    let choices: Vec<Option<&Value>> = calls.iter().map(|call| call.get("tool_choice")).collect();
    assert_eq!(choices, [Some(&forced), None, Some(&forced), None]);
}

#[tokio::test]
async fn forced_tool_missing_from_mode_is_dropped_and_logged() {
    let system = System::start().await;
    with_context(&system, &json!({"ToolChoiceName": "code_hash_normalized"})).await;
    let ada = system.client("acme", "ada");
    let change = json!({"mode": "ddr_authoring", "branch": false, "reason": "design"});
    let mut first = turn(&format!("[[script: call agent_change_mode {change}; then; say \"Ready.\"]]"));
    first["ConversationContextId"] = json!("own");
    ada.execute(&first).await.result();
    let request = turn_in(first["SessionId"].as_str().unwrap(), "hello");
    ada.execute(&request).await.result();
    assert_eq!(system.model_calls()[2].get("tool_choice"), None);
    let warning = "forced tool not offered";
    let of_turn = |line: &Value| line["turn"] == request["TurnId"];
    let lines = system.logged(Function::Execute, warning, of_turn).await;
    let warned = line(&lines, warning);
    assert_eq!(
        (&warned["level"], &warned["tool"], &warned["mode"]),
        (&json!("WARN"), &json!("code_hash_normalized"), &json!("ddr_authoring"))
    );
}

#[tokio::test]
async fn contexts_are_listed_and_read_back_as_they_were_put() {
    let system = System::start().await;
    system.put_contexts("acme", &contexts()).await;
    let told = async |arguments: &[&str]| {
        let done = system.contexts(arguments).await;
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if done.status.success() { Ok(text(done.stdout)) } else { Err(text(done.stderr)) }
    };
    let listed = told(&["list", "--org", "acme"]).await.unwrap();
    let first: Vec<_> = listed.lines().filter_map(|line| Some(line.split_once("  ")?.0)).collect();
    assert_eq!(first.first(), Some(&"agent"), "{listed}");
    assert!(first.contains(&"conversation") && listed.contains("engineer"), "{listed}");
    let text = told(&["get", "engineer", "--org", "acme"]).await.unwrap();
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&read[0]["Kind"], &read[0]["Id"]), (&json!("agent"), &json!("engineer")));
    assert_eq!(read[0]["DefaultConversationContextId"], "backend");
    system.put_contexts("other", &read).await;
    assert_eq!(told(&["get", "engineer", "--org", "other"]).await.unwrap(), text);
    let unknown = told(&["get", "nobody", "--org", "acme"]).await.unwrap_err();
    assert!(unknown.contains("has no context \"nobody\""), "{unknown}");
    assert_eq!(told(&["list", "--org", "empty"]).await.unwrap().trim(), "");
}
