//! What a model gets of a connection: long results by reference, files, and the names of many tools.

use agent::text;
use contracts::paths::{AGENTS, BUDGETS, CONNECTIONS, tool_trial};
use serde_json::{Value, json};

use crate::agents::put;
use crate::connection_refresh::{McpServer, accept, mcp_tool};
use crate::connections::{Target, tickets};
use crate::export::operator;
use crate::support::{Client, System, tools, turn, turn_in, turn_path};

/// Writes the connection `files` to the server with all of its tools, and the agent `reader` that has them.
async fn reader(system: &System, server: &McpServer) -> Client {
    let olga = operator(system, "acme");
    let connection = json!({ "Name": "Files", "Protocol": "mcp", "Url": server.url });
    put(&olga, &CONNECTIONS.context("files"), &connection).await.result();
    accept(&olga, "files", &["*"]).await;
    put(&olga, &AGENTS.context("reader"), &json!({ "Name": "Reader", "Tools": ["files"] })).await.result();
    system.client("acme", "ada")
}

fn asks(session: &str, script: &str) -> Value {
    let mut asked = turn_in(session, &format!("Read [[script: {script}; then; say \"Read.\"]]"));
    asked["AgentContextId"] = json!("reader");
    asked
}

/// Returns the outputs of the tool calls in the newest model call, oldest first.
fn outputs(system: &System) -> Vec<Value> {
    let call = system.last_call();
    let items = call["input"].as_array().unwrap().iter();
    let outputs = items.filter(|item| item["type"] == "function_call_output");
    // Those of earlier turns may be shortened.
    outputs.map(|item| serde_json::from_str(item["output"].as_str().unwrap()).unwrap_or_default()).collect()
}

#[tokio::test]
async fn long_result_is_a_reference_that_any_turn_of_the_session_reads() {
    let system = System::start().await;
    let server = McpServer::start(vec![mcp_tool("read", "Reads a file.")]).await;
    let ada = reader(&system, &server).await;
    let lines: String = (1..=5_000).map(|n| format!("line {n}\n")).collect();
    server.set_result(json!({ "content": [{ "type": "text", "text": lines }] }));
    let session = turn("x")["SessionId"].as_str().unwrap().to_owned();
    ada.execute(&asks(&session, r#"call files__read {"path":"a"}"#)).await.result();
    let reference = outputs(&system).remove(0);
    assert!(reference.to_string().len() < 4_096, "{reference}");
    assert_eq!((&reference["bytes"], &reference["lines"]), (&json!(lines.len()), &json!(5_000)));
    assert_eq!(reference["shape"], "{text: string of 48893 bytes}");
    let id = reference["result"].as_str().unwrap();
    let read = async |part: Value| {
        let mut arguments = json!({ "result": id });
        arguments.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        ada.execute(&asks(&session, &format!("call read_result {arguments}"))).await.result();
        outputs(&system).pop().unwrap()
    };
    let part = read(json!({ "line": 4_321 })).await;
    assert!(part["text"].as_str().unwrap().starts_with("line 4321\n"), "{part}");
    let part = read(json!({ "from": lines.len() - 10 })).await;
    assert_eq!((&part["text"], part.get("note")), (&json!("line 5000\n"), None));
    assert_eq!(server.received("tools/call").len(), 1, "reading calls nothing");

    // Another session has no such result, even for the same user.
    let other = turn("x")["SessionId"].as_str().unwrap().to_owned();
    let arguments = json!({ "result": id });
    ada.execute(&asks(&other, &format!("call read_result {arguments}"))).await.result();
    let call = system.last_call().to_string();
    assert!(call.contains("This session has no such result."), "{call}");
}

#[tokio::test]
async fn image_of_a_server_becomes_a_file_of_the_answer() {
    let system = System::start().await;
    let server = McpServer::start(vec![mcp_tool("draw", "Draws.")]).await;
    let ada = reader(&system, &server).await;
    server.set_result(json!({ "content": [
        { "type": "text", "text": "Drawn." }, { "type": "image", "mimeType": "image/png", "data": "AAECAw==" },
    ] }));
    let session = turn("x")["SessionId"].as_str().unwrap().to_owned();
    let answer = ada.execute(&asks(&session, r#"call files__draw {"path":"a"}"#)).await.result();
    let output = outputs(&system).remove(0);
    let note = json!({ "file": "draw-1.png", "mediaType": "image/png", "bytes": 4 });
    assert_eq!(output["content"], json!([{ "text": "Drawn." }, note]));
    let text = answer.to_string();
    assert!(text.contains("draw-1.png") && text.contains("image/png"), "{text}");
    assert!(!system.last_call().to_string().contains("AAECAw"), "the model gets the name and no bytes");
}

#[tokio::test]
async fn three_hundred_tools_cost_few_tokens_and_are_found_by_a_search() {
    let system = System::start().await;
    let (olga, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    let description = "Does something to a repository. ".repeat(8);
    let mut servers = Vec::new();
    for hub in 0..5 {
        let named =
            |n: usize| mcp_tool(&format!("repository_operation_{}", hub * 60 + n), description.trim());
        let mut all: Vec<Value> = (0..60).map(named).collect();
        if hub == 4 {
            all[10]["description"] = json!("Merges a pull request.");
        }
        let server = McpServer::start(all).await;
        let (id, connection) =
            (format!("hub{hub}"), json!({ "Name": "Hub", "Protocol": "mcp", "Url": server.url }));
        put(&olga, &CONNECTIONS.context(&id), &connection).await.result();
        accept(&olga, &id, &["*"]).await;
        servers.push(server);
    }
    let hubs = json!({ "Name": "Reader", "Tools": ["hub0", "hub1", "hub2", "hub3", "hub4"] });
    put(&olga, &AGENTS.context("reader"), &hubs).await.result();
    let script = "call find_tools {\"query\":\"merge a pull request\"}; then; \
                  call hub4__repository_operation_250 {\"path\":\"a\"}";
    ada.execute(&asks("many", script)).await.result();
    let calls = system.model_calls();
    let [first, second, _] = &calls[..] else { panic!("{} calls", calls.len()) };
    ada.execute(&turn_in("plain", "hello")).await.result();
    let tokens = |call: &Value| text::tokens(&call["tools"].to_string());
    let added = tokens(first) - tokens(&system.last_call());
    let all: u32 = servers.iter().map(|server| text::tokens(&server.list().to_string())).sum();
    println!("300 tools: {added} tokens, and {all} with all definitions");
    assert!(added < 2_000, "{added}");
    assert!(tools(first).contains(&"find_tools"), "{:?}", tools(first));
    assert!(!tools(first).iter().any(|name| name.starts_with("hub")), "{:?}", tools(first));
    assert!(tools(second).contains(&"hub4__repository_operation_250"), "{:?}", tools(second));
    assert_eq!(servers[4].received("tools/call").len(), 1);
}

#[tokio::test]
async fn few_tools_are_offered_without_a_search() {
    let system = System::start().await;
    let all = (0..32).map(|n| mcp_tool(&format!("t{n}"), "Reads.")).collect();
    let server = McpServer::start(all).await;
    let ada = reader(&system, &server).await;
    ada.execute(&asks("s", r#"call files__t31 {"path":"a"}"#)).await.result();
    let call = system.model_calls().remove(0);
    assert!(
        tools(&call).contains(&"files__t0") && tools(&call).contains(&"read_result"),
        "{:?}",
        tools(&call)
    );
    assert!(!tools(&call).contains(&"find_tools"));
}

#[tokio::test]
async fn connection_that_keeps_failing_is_left_alone_for_a_while() {
    let (system, target) = (System::start().await, Target::start().await);
    let olga = operator(&system, "acme");
    let mut connection = tickets(&target.url);
    connection["Authentication"] = json!({ "Scheme": "none" });
    for id in ["tickets", "other"] {
        put(&olga, &CONNECTIONS.context(id), &connection).await.result();
    }
    let trial = async |id: &str| {
        let body = json!({ "Tool": "broken", "ArgumentsJson": "{}" });
        olga.post(&tool_trial(id), body.to_string()).await.result()
    };
    for _ in 0..5 {
        assert_eq!(trial("tickets").await["Outcome"], "unknown");
    }
    let paused = trial("tickets").await;
    assert_eq!(paused["Outcome"], "not_sent", "{paused}");
    assert!(paused["Message"].as_str().unwrap().contains("has failed several times in a row"), "{paused}");
    assert_eq!(target.received().len(), 5);
    assert_eq!(trial("other").await["Outcome"], "unknown", "each connection has a breaker of its own");
}

/// The server answers a call only once the other has arrived: one after another, neither would be answered.
#[tokio::test]
async fn calls_of_one_reply_run_in_parallel() {
    let system = System::start().await;
    let server = McpServer::start(vec![mcp_tool("read", "Reads."), mcp_tool("list", "Lists.")]).await;
    let ada = reader(&system, &server).await;
    server.answer_together(2);
    let script = r#"call files__read {"path":"a"}; call files__list {"path":"b"}"#;
    let answer = ada.execute(&asks("parallel", script)).await.result();
    assert!(answer.to_string().contains("Read."), "{answer}");
    let outputs = outputs(&system);
    assert_eq!(outputs, [json!({ "text": "read" }), json!({ "text": "read" })]);
}

#[tokio::test]
async fn calls_have_a_price_and_a_limit_in_a_turn() {
    let system = System::start().await;
    let server = McpServer::start(vec![mcp_tool("read", "Reads.")]).await;
    let ada = reader(&system, &server).await;
    let olga = operator(&system, "acme");
    let cost = async |session: &str| {
        let script =
            r#"call files__read {"path":"a"}; call files__read {"path":"b"}; call files__read {"path":"c"}"#;
        let asked = asks(session, script);
        ada.execute(&asked).await.result();
        let turn = ada.get(&turn_path(&asked)).await.result();
        turn["Cost"]["Amount"].as_str().unwrap().parse::<f64>().unwrap()
    };
    let before = cost("before").await;
    assert_eq!(server.received("tools/call").len(), 3);
    let mut content = olga.get(&CONNECTIONS.context("files")).await.result()["Content"].clone();
    content["Tools"][0]["Price"] = json!({ "Amount": "0.25", "Currency": "USD" });
    content["Tools"][0]["MaxCallsPerTurn"] = json!(2);
    put(&olga, &CONNECTIONS.context("files"), &content).await.result();
    system.crash_execute().await;
    let after = cost("after").await;
    assert_eq!(server.received("tools/call").len(), 5, "the third call isn't sent");
    let call = system.last_call().to_string();
    assert!(call.contains("A turn may call this tool 2 times"), "{call}");
    // The prompt differs by the text of the limit.
    assert!((0.5..0.51).contains(&(after - before)), "{before} {after}");

    // A budget of one turn is used up by the first two calls, before the model is asked again.
    let budgets = json!({ "Currency": "USD", "Budgets": [{
        "Id": "loop", "Scope": "org", "Window": "turn", "Unit": "money", "Limit": 400_000, "Unpriced": "allow",
    }] });
    put(&olga, BUDGETS, &budgets).await.result();
    system.crash_execute().await;
    let script = r#"call files__read {"path":"a"}; call files__read {"path":"b"}"#;
    let stopped = ada.execute(&asks("stopped", script)).await;
    assert_eq!(stopped.error(), "TurnOverBudget", "{}", stopped.text);
}

#[tokio::test]
async fn progress_of_a_server_is_a_status_of_the_stream() {
    let system = System::start().await;
    let server = McpServer::start(vec![mcp_tool("read", "Reads.")]).await;
    let ada = reader(&system, &server).await;
    server.report_progress();
    let asked = asks("progress", r#"call files__read {"path":"a"}"#);
    let events = ada.execute_streaming(&asked, None).await.unwrap_or_else(|answer| panic!("{}", answer.text));
    let (_, statuses) = events.rest_with_statuses().await;
    let progress: Vec<&Value> = statuses.iter().filter(|status| status["ToolProgress"].is_string()).collect();
    let [progress] = progress[..] else { panic!("{statuses:?}") };
    assert_eq!(
        (&progress["ToolProgress"], &progress["Phase"]),
        (&json!("3 of 10: Indexing"), &json!("tool"))
    );
    assert_eq!(progress["ToolName"], "files__read");
    assert!(progress["ToolCallId"].is_string(), "{progress}");
}
