//! Calls of tools: repetitions, progress, cancellation, and turns without an answer.

use serde_json::{Value, json};

use super::{
    ERAS, Era, MCP, answered, error_of, failed, in_session, message, post, read, request, result, turn_uri,
};
use crate::support::{System, workspace_turn};

/// A request with another id.
fn numbered(id: u64, params: &Value) -> Value {
    let mut request = request(Era::Handshake, "tools/call", params);
    request["id"] = id.into();
    request
}

#[tokio::test]
async fn call_with_a_key_runs_once() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("acme", "eve"));
    for era in ERAS {
        let before = system.model_calls().len();
        let mut call = message("Hi [[script: say \"Hello.\"]]");
        call["_meta"] = json!({"aptix/idempotencyKey": "order 7"});
        let first = answered(&ada, era, call.clone()).await;
        assert_eq!(answered(&ada, era, call.clone()).await, first);
        let other = answered(&eve, era, call.clone()).await;
        assert_ne!(other["turn"], first["turn"], "a key is its user's own");
        call["arguments"]["message"] = "Something else".into();
        assert!(failed(&ada, era, call).await.contains("other arguments"));
        // The era makes no difference to a key.
        assert_eq!(system.model_calls().len() - before, if era == Era::Handshake { 2 } else { 0 });
    }
}

#[tokio::test]
async fn request_id_names_a_call_within_a_session_of_the_older_era() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let call = message("Hi [[script: say \"Hello.\"]]");
    let send = async |session: &[(&str, &str)], id: u64, call: &Value| {
        let answer = post(&ada, Era::Handshake, session, &numbered(id, call)).await;
        answer.json()["result"]["structuredContent"].clone()
    };
    let session = [("mcp-session-id", "one")];
    let first = send(&session, 1, &call).await;
    assert_eq!(send(&session, 1, &call).await, first);
    let more = in_session(&first["session"], "More [[script: say \"Again.\"]]");
    let second = send(&session, 2, &more).await;
    assert_eq!(send(&session, 2, &more).await, second);
    assert_eq!(system.model_calls().len(), 2);
    for (session, id) in [(&session[..], 3), (&[("mcp-session-id", "two")], 1), (&[], 1), (&[], 1)] {
        assert_ne!(send(session, id, &call).await["turn"], first["turn"]);
    }
    assert_eq!(system.model_calls().len(), 6);
}

#[tokio::test]
async fn progress_is_streamed_to_a_client_with_a_token() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for era in ERAS {
        let mut call = message("Hi [[script: call agent_list_modes {}; then; words 500]]");
        call["_meta"] = json!({"progressToken": "p"});
        let answer = post(&ada, era, &[], &request(era, "tools/call", &call)).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
        let data = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
        let mut messages: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
        let last = messages.pop().unwrap();
        let answer = last["result"]["structuredContent"]["answer"].as_str().unwrap();
        assert!(answer.ends_with("word500"), "{last}");
        assert!(messages.len() > 3, "{messages:?}");
        let told: Vec<&str> = messages.iter().map(|one| one["params"]["message"].as_str().unwrap()).collect();
        assert!(told.contains(&"Started") && told.contains(&"Running a tool: agent_list_modes"), "{told:?}");
        for (n, notification) in messages.iter().enumerate() {
            assert_eq!(notification["method"], "notifications/progress");
            assert_eq!(
                (&notification["params"]["progressToken"], &notification["params"]["progress"]),
                (&json!("p"), &json!(n))
            );
        }
        // A client that takes no stream gets the result alone.
        let json = [("content-type", "application/json"), ("accept", "application/json")];
        let body = request(Era::Handshake, "tools/call", &call).to_string().into_bytes();
        let whole = ada.raw(reqwest::Method::POST, MCP, &json, body).await;
        assert_eq!(whole.json()["result"]["isError"], false);
    }
}

#[tokio::test]
async fn cancelled_call_ends_its_turn() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("acme", "eve"));
    let session = [("mcp-session-id", "s")];
    let begun = answered(&ada, Era::Handshake, message("Hi [[script: say \"Hello.\"]]")).await;
    let slow = "Work [[script: hang 60s; say \"Done.\"]]";
    for (id, call) in [(7, message(slow)), (8, in_session(&begun["session"], slow))] {
        let calls = system.model_calls().len();
        let cancel = async {
            system.model_called(calls + 1).await;
            let cancelled = |id: u64| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
            for (client, id) in [(&ada, 99), (&eve, id), (&ada, id)] {
                let accepted = post(client, Era::Handshake, &session, &cancelled(id)).await;
                assert_eq!(accepted.status, 202, "{}", accepted.text);
            }
        };
        let request = numbered(id, &call);
        let (answer, ()) = futures::join!(post(&ada, Era::Handshake, &session, &request), cancel);
        let result = answer.json()["result"].clone();
        assert_eq!(result["isError"], true, "{result}");
        let turn = read(&ada, Era::Handshake, &turn_uri(&result["structuredContent"])).await;
        assert!(turn.contains("\"TurnCancelled\""), "{turn}");
    }
}

#[tokio::test]
async fn call_that_waits_for_client_tools_names_them() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for era in ERAS {
        let script = "Read [[script: call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]";
        let call = json!({"name": "workspace", "arguments": {"message": script}});
        let waits = result(&ada, era, "tools/call", call).await;
        assert_eq!(waits["isError"], true);
        let text = waits["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("workspace_read_file({\"path\":\"a\"})"), "{text}");
        // The turn goes on in the API that it belongs to.
        let ids = &waits["structuredContent"];
        let results = json!({
            "SessionId": ids["session"], "TurnId": ids["turn"],
            "ToolResults": [{"ToolCallId": ids["calls"][0]["id"], "ExecutionMs": 1, "ResultJson": "\"b\""}],
        });
        let done = ada.post("/api/ai/agent/tool-results", results.to_string()).await;
        assert_eq!(done.status, 200, "{}", done.text);
        assert_eq!(read(&ada, era, &format!("{}/answer", turn_uri(ids))).await, "Read.");
    }
}

#[tokio::test]
async fn session_of_another_api_continues_over_mcp() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let begun = workspace_turn("Hi [[script: say \"Hello.\"]]");
    ada.execute(&begun).await.result();
    let call = json!({"name": "workspace", "arguments": {
        "message": "More [[script: say \"Again.\"]]", "session": begun["SessionId"],
    }});
    let second = answered(&ada, Era::PerRequest, call).await;
    assert_eq!(second["session"], begun["SessionId"]);
    let other = failed(&ada, Era::PerRequest, in_session(&begun["SessionId"], "Hi")).await;
    assert!(other.contains("context"), "the session has another agent: {other}");

    let body = json!({"model": "agent/default", "input": "Hi [[script: say \"Hello.\"]]"});
    let response = ada.post("/v1/responses", body.to_string()).await.json();
    let sessions = ada.get("/api/ai/agent/sessions").await.result();
    let session = sessions["Items"][0]["Id"].clone();
    let third =
        answered(&ada, Era::Handshake, in_session(&session, "More [[script: say \"Over MCP.\"]]")).await;
    assert_eq!(third["answer"], "Over MCP.");
    let last = system.model_calls().pop().unwrap();
    assert!(last["previous_response_id"].is_string() || last.to_string().contains("Hello."), "{response}");
}

#[tokio::test]
async fn failed_turn_is_an_error_that_the_model_reads() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for era in ERAS {
        let call = message("Hi [[script: status 400 code context_length_exceeded message \"Xanadu\"]]");
        let text = failed(&ada, era, call).await;
        assert!(!text.is_empty() && !text.contains("Xanadu"), "{text}");
    }
    let disabled = json!({"Disabled": {"Agents": ["default"]}});
    let operator = system
        .identified(&local::token::Identity { operator: true, ..local::token::Identity::user("acme", "op") });
    let put =
        operator.send(reqwest::Method::PUT, "/api/ai/agent/org-settings", Some(disabled.to_string())).await;
    assert_eq!(put.status, 200, "{}", put.text);
    let tools = result(&ada, Era::PerRequest, "tools/list", json!({})).await;
    assert!(!tools.to_string().contains("\"name\":\"default\""), "{tools}");
    let unknown = json!({"name": "nobody", "arguments": {"message": "Hi"}});
    let unknown = post(&ada, Era::PerRequest, &[], &request(Era::PerRequest, "tools/call", &unknown)).await;
    assert_eq!(error_of(&unknown), (200, -32602, "Unknown tool: nobody".to_owned()));
}
