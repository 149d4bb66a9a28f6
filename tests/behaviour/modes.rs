//! Modes, section by section of AGN-011.

use local::Function;
use serde_json::{Value, json};

use crate::support::{
    Client, PATIENCE, System, final_text_and_result, in_context, options, said, session_path, system_message,
    tools, turn, turn_in, turn_path, workspace_turn,
};

const CHANGE: &str = "agent_change_mode";

fn change(mode: &str, branch: bool, reason: &str) -> String {
    format!("call {CHANGE} {}", json!({ "mode": mode, "branch": branch, "reason": reason }))
}

/// The session, once a turn after the one in question has folded that one into it.
async fn session(ada: &Client, request: &Value) -> Value {
    ada.execute(&turn_in(request["SessionId"].as_str().unwrap(), "go on")).await.result();
    ada.get(&session_path(request)).await.result()
}

/// The client tools of the agent `workspace`.
const WORKSPACE: [&str; 4] =
    ["workspace_read_file", "workspace_list_files", "workspace_search_text", "workspace_write_patch"];

#[tokio::test]
async fn section_3_1_new_session_starts_in_general_or_default_mode() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("hello");
    assert_eq!(ada.execute(&request).await.result()["ModeDisplayName"], "General");
    assert_eq!(ada.get(&session_path(&request)).await.result()["Mode"], "general");

    let context = json!({"Kind": "conversation", "Id": "ddr", "Name": "DDRs", "System": "Write.", "DefaultMode": "ddr_authoring"});
    system.put_contexts("acme", &context).await;
    let mut request = turn("hello");
    request["ConversationContextId"] = json!("ddr");
    assert_eq!(ada.execute(&request).await.result()["ModeDisplayName"], "DDR Authoring");
    let read = ada.get(&session_path(&request)).await.result();
    assert_eq!(
        (&read["Mode"], &read["Turns"][0]["Mode"]),
        (&json!("ddr_authoring"), &json!("ddr_authoring"))
    );
    assert_eq!(read["ModeHistory"], json!([]), "to start in a mode is no change");
    assert!(said(&system.model_calls()[1]).starts_with("[MODE: ddr_authoring]"));
}

#[tokio::test]
async fn section_3_2_change_is_stored_with_full_history_entry() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request =
        turn(&format!("[[script: {}; then; say \"Ready.\"]]", change("ddr_authoring", true, "design")));
    ada.execute(&request).await.result();
    let read = session(&ada, &request).await;
    assert_eq!((&read["Mode"], &read["Turns"][0]["Mode"]), (&json!("ddr_authoring"), &json!("general")));
    let [entry] = &read["ModeHistory"].as_array().unwrap()[..] else { panic!("one entry: {read}") };
    let mut members: Vec<_> = entry.as_object().unwrap().keys().map(String::as_str).collect();
    members.sort_unstable();
    assert_eq!(
        members,
        [
            "Branch",
            "ChangedByOrganization",
            "ChangedByUser",
            "NewMode",
            "PreviousMode",
            "Reason",
            "TimeStamp",
            "TurnId"
        ]
    );
    assert_eq!(
        (&entry["PreviousMode"], &entry["NewMode"], &entry["Reason"], &entry["Branch"], &entry["TurnId"]),
        (&json!("general"), &json!("ddr_authoring"), &json!("design"), &json!(true), &request["TurnId"])
    );
    assert_eq!(entry["ChangedByUser"]["Id"], "ada");
    assert_eq!(entry["ChangedByOrganization"], json!({ "Id": "acme", "Text": "acme" }));
    assert!(entry["TimeStamp"].as_str().unwrap() >= read["Turns"][0]["CreationDate"].as_str().unwrap());
}

#[tokio::test]
async fn section_3_3_follow_up_uses_session_mode_and_refuses_client_mode() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request =
        turn(&format!("[[script: {}; then; say \"Ready.\"]]", change("workflow_authoring", false, "w")));
    ada.execute(&request).await.result();
    for spelling in ["Mode", "mode"] {
        let mut next = turn_in(request["SessionId"].as_str().unwrap(), "go on");
        next[spelling] = json!("general");
        let refused = ada.execute(&next).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "MemberForbidden"));
        assert_eq!(refused.errors()[0]["Details"], spelling);
    }
    let next = turn_in(request["SessionId"].as_str().unwrap(), "go on");
    assert_eq!(ada.execute(&next).await.result()["ModeDisplayName"], "Workflow Authoring");
    assert_eq!(ada.get(&turn_path(&next)).await.result()["Mode"], "workflow_authoring");
    let calls = system.model_calls();
    assert_eq!(calls.len(), 3, "what was refused reached no model");
    assert!(said(&calls[2]).starts_with("[MODE: workflow_authoring]"));
}

#[tokio::test]
async fn section_3_3_session_mode_overwrites_another_and_is_logged() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    // The session is in the old mode until its first turn is finalized, which the second turn's start does.
    system.cloud.pause_finalizer().await;
    let request =
        turn(&format!("[[script: {}; then; say \"Ready.\"]]", change("workflow_authoring", false, "w")));
    ada.execute(&request).await.result();
    let next = turn_in(request["SessionId"].as_str().unwrap(), "go on with the secret");
    assert_eq!(ada.execute(&next).await.result()["ModeDisplayName"], "Workflow Authoring");
    assert_eq!(ada.get(&turn_path(&next)).await.result()["Mode"], "workflow_authoring");
    assert!(said(&system.last_call()).starts_with("[MODE: workflow_authoring]"));
    let later = turn_in(request["SessionId"].as_str().unwrap(), "and on");
    ada.execute(&later).await.result();

    let warns = |line: &Value| line["message"] == "mode overwritten";
    let lines = system.logged(Function::Execute, "mode overwritten", warns).await;
    assert_eq!(lines.len(), 1, "only the second turn was prepared for another mode: {lines:?}");
    let warned = &lines[0];
    assert_eq!(
        (&warned["level"], &warned["requested_mode"], &warned["mode"], &warned["turn"]),
        (&json!("WARN"), &json!("general"), &json!("workflow_authoring"), &next["TurnId"])
    );
    assert!(!warned.to_string().contains("secret"), "{warned}");
}

#[tokio::test]
async fn sections_3_4_and_4_5_response_names_the_final_mode() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let script = change("ddr_authoring", false, "r");
    let request = workspace_turn(&format!(
        "[[script: {script}; call workspace_read_file {{\"path\":\"a\"}}; then; say \"x\"]]"
    ));
    let continuation = ada.execute(&request).await.result();
    assert_eq!(continuation["Kind"], "client_tool_continuation");
    assert_eq!(continuation["ModeDisplayName"], "DDR Authoring", "a continuation shows it already");
    let answer = ada.execute(&turn("hello")).await.result();
    assert_eq!(answer["ModeDisplayName"], "General", "without a change it is the mode of the start");
    assert!(answer.get("Mode").is_none(), "the key is the server's");
}

/// AGN-003 §4.3: a chain begins with the usage of every server tool, whatever its mode offers.
#[tokio::test]
async fn chain_begins_with_usage_of_all_tools_and_a_mode_tells_its_own() {
    let system = System::start().await;
    system.put_context(json!({"DefaultMode": "ddr_authoring"})).await;
    let ada = system.client("acme", "ada");
    let usage = "<<<APTIX_TOOL_USAGE_BEGIN name='code_hash_normalized'>>>";
    ada.execute(&in_context("Hello")).await.result();
    let first = system.last_call();
    assert!(!tools(&first).contains(&"code_hash_normalized"), "this mode doesn't offer it");
    assert!(system_message(&first).contains(usage), "{first}");
    let script = change("general", false, "r");
    ada.execute(&in_context(&format!("[[script: {script}; then; say \"Ready.\"]]"))).await.result();
    let told = said(&system.last_call());
    assert!(told.contains("[MODE_INSTRUCTIONS: general]") && told.contains(usage), "{told}");
}

#[tokio::test]
async fn sections_4_2_to_4_4_tool_order_is_fixed_for_the_turn() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let script = change("ddr_authoring", false, "r");
    let request =
        workspace_turn(&format!("[[script: {script}; then; call agent_list_modes {{}}; then; say \"x\"]]"));
    ada.execute(&request).await.result();
    ada.execute(&turn_in(request["SessionId"].as_str().unwrap(), "go on")).await.result();
    let calls = system.model_calls();
    let (first, next) = (tools(&calls[0]), tools(&calls[3]));
    assert_eq!(first[..4], WORKSPACE);
    assert_eq!(first.last(), Some(&CHANGE));
    assert_eq!((tools(&calls[1]), tools(&calls[2])), (first.clone(), first.clone()), "not changed mid-turn");
    assert_ne!(first, next, "the new mode's tools come with the next turn");
    assert_eq!((&next[..2], next.last()), (&first[..2], Some(&CHANGE)), "no mode removes these");
}

#[tokio::test]
async fn section_5_1_last_successful_change_wins_with_a_warning() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn(&format!(
        "[[script: {}; {}; {}; then; say \"Ready.\"]]",
        change("workflow_authoring", false, "first"),
        change("ddr_authoring", false, "second"),
        change("banana", false, "third"),
    ));
    let answer = ada.execute(&request).await.result();
    assert_eq!(answer["ModeDisplayName"], "DDR Authoring");
    let warnings = answer["UserWarnings"].to_string();
    assert!(warnings.contains("more than once") && warnings.contains("ddr_authoring"), "{warnings}");
    let read = session(&ada, &request).await;
    let changes = read["ModeHistory"].as_array().unwrap().iter();
    let reasons: Vec<_> = changes.map(|change| change["Reason"].as_str().unwrap()).collect();
    assert_eq!((read["Mode"].as_str(), reasons), (Some("ddr_authoring"), vec!["second", "first"]));
    assert!(said(&system.model_calls()[1]).contains("banana"), "the model is told why the third failed");
}

/// A change in each of several rounds: what an earlier round had to tell is no longer so.
#[tokio::test]
async fn section_5_1_changes_in_several_rounds_leave_one_warning() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let script = format!(
        "[[script: {}; then; {}; then; {}; then; say \"Ready.\"]]",
        change("workflow_authoring", true, "first"),
        change("general", true, "second"),
        change("ddr_authoring", false, "third"),
    );
    let expected = json!([
        "The mode was changed more than once in this turn. The last change, to `ddr_authoring`, counts."
    ]);
    let answer = ada.execute(&turn(&script)).await.result();
    assert_eq!(answer["UserWarnings"], expected);
    let mut streamed = turn(&script);
    streamed["Streaming"] = json!(true);
    let events = ada.execute_streaming(&streamed, None).await.unwrap().rest().await;
    let (_, result) = final_text_and_result(&events);
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["Result"]["UserWarnings"], expected);
    assert_eq!(session(&ada, &streamed).await["Mode"], "ddr_authoring");
}

#[tokio::test]
async fn section_5_3_next_model_call_has_the_new_modes_instructions() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let script = change("ddr_authoring", false, "r");
    ada.execute(&turn(&format!("[[script: {script}; then; call agent_list_modes {{}}; then; say \"x\"]]")))
        .await
        .result();
    let told: Vec<String> = system.model_calls().iter().map(said).collect();
    assert!(told[0].starts_with("[MODE: general]"));
    for later in &told[1..] {
        assert!(later.starts_with("[MODE: ddr_authoring]"), "{later}");
    }
    let instructed: Vec<bool> =
        told.iter().map(|said| said.contains("[MODE_INSTRUCTIONS: ddr_authoring]")).collect();
    assert_eq!(instructed, [false, true, false], "told once, when the chain does not know them yet");
}

#[tokio::test]
async fn section_5_5_a_failed_turn_changes_no_mode() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn(&format!("[[script: {}; then; status 400]]", change("ddr_authoring", false, "why")));
    let failed = ada.execute(&request).await;
    assert_eq!(failed.status, 502, "{}", failed.text);
    let read = session(&ada, &request).await;
    assert_eq!((&read["Mode"], &read["ModeHistory"]), (&json!("general"), &json!([])));
    let calls = system.model_calls();
    assert!(said(calls.last().unwrap()).starts_with("[MODE: general]"));
}

#[tokio::test]
async fn section_5_6_suggested_branch_is_only_reported() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request =
        |branch| turn(&format!("[[script: {}; then; say \"x\"]]", change("ddr_authoring", branch, "r")));
    let (with, without) = (request(true), request(false));
    let answer = ada.execute(&with).await.result();
    assert!(answer["UserWarnings"].to_string().contains("new branch"), "{answer}");
    let other = ada.execute(&without).await.result();
    assert!(!other.to_string().contains("new branch"), "{other}");
    let read = session(&ada, &with).await;
    assert_eq!((&read["TurnCount"], &read["ModeHistory"][0]["Branch"]), (&json!(2), &json!(true)));
}

#[tokio::test]
async fn section_4_3_mode_client_tools_follow_the_contexts_tools() {
    let mut options = options();
    options.environment.insert("DIAGNOSTIC_TOOLS".to_owned(), "true".to_owned());
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    let asks = r#"call diagnostics_ask_client {"what":"it"}"#;
    let request = workspace_turn(&format!(
        "[[script: {}; then; say \"Ready.\"]]",
        change("diagnostics", false, "a test")
    ));
    ada.execute(&request).await.result();
    let session = request["SessionId"].as_str().unwrap();
    let suspended =
        ada.execute(&turn_in(session, &format!("[[script: {asks}; then; say \"Done.\"]]"))).await.result();
    let calls = system.model_calls();
    assert!(
        !tools(&calls[1]).contains(&"diagnostics_ask_client"),
        "a new mode's tools come with the next turn"
    );
    assert_eq!(tools(&calls[2])[..4], WORKSPACE);
    assert_eq!(tools(&calls[2])[4..6], ["diagnostics_ask_client", "code_hash_normalized"]);
    assert_eq!(tools(&calls[2]).last(), Some(&CHANGE));

    let call = &suspended["ToolCalls"][0];
    assert_eq!(
        (&suspended["Kind"], &call["Name"]),
        (&json!("client_tool_continuation"), &json!("diagnostics_ask_client"))
    );
    let results = json!({
        "SessionId": session, "TurnId": suspended["TurnId"],
        "ToolResults": [{"ToolCallId": call["ToolCallId"], "ExecutionMs": 1, "ResultJson": "{}"}],
    });
    let answer = ada.execute(&results).await.result();
    assert_eq!(answer["PrimaryOutputText"], "Done.");
}

/// The same name means the context's tool wherever it is declared.
#[tokio::test]
async fn section_4_3_context_client_tool_overrides_the_mode_tool() {
    let mut options = options();
    options.environment.insert("DIAGNOSTIC_TOOLS".to_owned(), "true".to_owned());
    let system = System::with(options).await;
    let own = json!({
        "Name": "diagnostics_ask_client", "Description": "The context's own.", "ExecutedBy": "client",
        "Parameters": {"type": "object", "properties": {}},
    });
    let context =
        json!({"Kind": "conversation", "Id": "own", "Name": "Own", "System": "Help.", "ClientTools": [own]});
    system.put_contexts("acme", &context).await;
    let ada = system.client("acme", "ada");
    let mut request = workspace_turn(&format!(
        "[[script: {}; then; say \"Ready.\"]]",
        change("diagnostics", false, "a test")
    ));
    request["ConversationContextId"] = json!("own");
    ada.execute(&request).await.result();
    ada.execute(&turn_in(request["SessionId"].as_str().unwrap(), "go on")).await.result();
    let calls = system.model_calls();
    let offered = calls[2]["tools"].as_array().unwrap();
    let own: Vec<_> = offered.iter().filter(|tool| tool["name"] == "diagnostics_ask_client").collect();
    assert_eq!((own.len(), &own[0]["description"]), (1, &json!("The context's own.")));
}

#[tokio::test]
async fn section_5_7_history_has_every_change_and_is_paged() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let modes = ["ddr_authoring", "workflow_authoring"];
    let changes = |from: usize, to: usize| {
        let of = |number: usize| change(modes[number % 2], false, &number.to_string());
        (from..to).map(of).collect::<Vec<_>>().join("; ")
    };
    let first = turn(&format!("[[script: {}; then; say \"Ready.\"]]", changes(0, 5)));
    let session = first["SessionId"].as_str().unwrap();
    // One more than a turn may make: the model is told, and the turn goes on.
    let second = turn_in(session, &format!("[[script: {}; then; say \"Ready.\"]]", changes(5, 22)));
    ada.execute(&first).await.result();
    bob.execute(&second).await;

    let path = format!("{}/mode-history", session_path(&first));
    let finalized = |answer: &crate::support::Answer| {
        answer.json()["Result"]["Items"].as_array().is_some_and(|items| items.len() == 21)
    };
    let whole = ada.until(&format!("{path}?pageSize=100"), PATIENCE, finalized).await.result();
    let (mut read, mut query) = (Vec::new(), "?pageSize=4".to_owned());
    loop {
        let page = ada.get(&format!("{path}{query}")).await.result();
        let items = page["Items"].as_array().unwrap().clone();
        assert!(items.len() <= 4);
        read.extend(items);
        let Some(token) = page["ContinuationToken"].as_str() else { break };
        query = format!("?pageSize=4&continuationToken={token}");
    }
    assert_eq!(&read, whole["Items"].as_array().unwrap());
    let reasons: Vec<String> = read.iter().map(|one| one["Reason"].as_str().unwrap().to_owned()).collect();
    assert_eq!(reasons, (0..21).rev().map(|number| number.to_string()).collect::<Vec<_>>());
    for two in read.windows(2) {
        assert_eq!(two[0]["PreviousMode"], two[1]["NewMode"], "each change goes on from the one before");
    }
    assert_eq!(
        (&read[0]["ChangedByUser"]["Id"], &read[20]["ChangedByUser"]["Id"]),
        (&json!("bob"), &json!("ada"))
    );

    for wrong in ["x", "1", "1-0", "-1-0"] {
        let refused = ada.get(&format!("{path}?continuationToken={}", wrong.replace('+', "%2B"))).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "ParameterInvalid"), "{wrong}");
    }
    let foreign = system.client("rival", "eve").get(&path).await;
    assert_eq!((foreign.status, foreign.error().as_str()), (404, "SessionNotFound"));
}
