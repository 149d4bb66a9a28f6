//! Ids that clients choose or know: a colleague of the same org who uses them has no effect on anybody's chat.

use reqwest::Method;
use serde_json::{Value, json};

use crate::org_settings::set;
use crate::support::{Answer, Client, System, turn_in};

const JSON: (&str, &str) = ("content-type", "application/json");
const STREAM: (&str, &str) = ("accept", "application/json, text/event-stream");
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");
const OLDER_MCP: (&str, &str) = ("mcp-protocol-version", "2025-11-25");

/// A request that carries an id of the client's choice.
struct Row {
    kind: &'static str,
    path: &'static str,
    headers: &'static [(&'static str, &'static str)],
    /// The body of a request with this text, the id included.
    body: fn(&str) -> Value,
    /// True if a second request with the id continues the session.
    continues: bool,
}

fn messages(text: &str) -> Value {
    json!([{"role": "user", "content": text}])
}

fn run_input(text: &str) -> Value {
    json!({"threadId": "thread", "runId": format!("run {text}"), "protocolVersion": "1.0", "state": {},
           "messages": [{"id": format!("m {text}"), "role": "user", "content": text}], "tools": [], "context": [],
           "forwardedProps": {}})
}

fn tool_call(id: u64, meta: Value, text: &str) -> Value {
    let params = json!({"name": "default", "arguments": {"message": text}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

const ROWS: &[Row] = &[
    Row {
        kind: "idempotency key of a response",
        path: "/v1/responses",
        headers: &[JSON, ("idempotency-key", "key")],
        body: |text| json!({"model": "scripted", "input": text}),
        continues: false,
    },
    Row {
        kind: "cache key and user of a response",
        path: "/v1/responses",
        headers: &[JSON],
        body: |text| json!({"model": "scripted", "input": text, "prompt_cache_key": "k", "user": "u", "safety_identifier": "u"}),
        continues: false,
    },
    Row {
        kind: "cache key of a chat",
        path: "/v1/chat/completions",
        headers: &[JSON],
        body: |text| json!({"model": "scripted", "messages": messages(text), "prompt_cache_key": "k", "user": "u"}),
        continues: false,
    },
    Row {
        kind: "session of Claude Code",
        path: "/v1/messages",
        headers: &[
            JSON,
            VERSION,
            ("x-claude-code-session-id", "a99d539b"),
            ("x-claude-code-agent-id", "agent"),
        ],
        body: |text| {
            json!({"model": "scripted", "max_tokens": 1024, "messages": messages(text),
                   "tools": [{"name": "look", "input_schema": {"type": "object", "properties": {}}}]})
        },
        continues: true,
    },
    Row {
        kind: "user of a message",
        path: "/v1/messages",
        headers: &[JSON, VERSION],
        body: |text| json!({"model": "scripted", "max_tokens": 1024, "messages": messages(text), "metadata": {"user_id": "u"}}),
        continues: false,
    },
    Row {
        kind: "thread of AG-UI",
        path: "/v1/ag-ui",
        headers: &[JSON, STREAM],
        body: run_input,
        continues: true,
    },
    Row {
        kind: "thread of CopilotKit",
        path: "/v1/ag-ui/agent/default/run",
        headers: &[JSON, STREAM],
        body: |text| {
            let mut input = run_input(text);
            input["threadId"] = json!("copilot");
            input
        },
        continues: true,
    },
    Row {
        kind: "idempotency key of an MCP call",
        path: "/v1/mcp",
        headers: &[JSON, STREAM, OLDER_MCP],
        body: |text| tool_call(1, json!({"aptix/idempotencyKey": format!("order {}", &text[..1])}), text),
        continues: false,
    },
    Row {
        kind: "session and request id of MCP",
        path: "/v1/mcp",
        headers: &[JSON, STREAM, OLDER_MCP, ("mcp-session-id", "one")],
        body: |text| tool_call(u64::from(text.starts_with('2')), json!({}), text),
        continues: false,
    },
];

async fn post(client: &Client, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    client.raw(Method::POST, path, headers, body.to_string().into_bytes()).await
}

/// The ids and the numbers of turns of the sessions in which a user takes part.
async fn sessions(client: &Client, user: &str) -> Vec<(String, u64)> {
    let list = client.get(&format!("/api/ai/agent/sessions?userId={user}")).await.result();
    let items = list["Items"].as_array().unwrap().iter();
    let mut all: Vec<(String, u64)> = items
        .map(|item| (item["Id"].as_str().unwrap().to_owned(), item["TurnCount"].as_u64().unwrap()))
        .collect();
    all.sort();
    all
}

/// A text whose answer names its user and number.
fn text(number: u64, user: &str) -> String {
    format!("{number} of {user} [[script: say \"Answer {number} for {user}.\"]]")
}

#[tokio::test]
async fn same_id_of_a_colleague_is_another_chat() {
    let mut options = crate::support::options();
    options.environment.insert("CONVERSATION_STATE".to_owned(), "local".to_owned());
    let system = System::with(options).await;
    for (n, Row { kind, path, headers, body, continues }) in ROWS.iter().enumerate() {
        let users = [format!("bob{n}"), format!("ada{n}")];
        let clients = [system.client("acme", &users[0]), system.client("acme", &users[1])];
        // The colleague is first with each request.
        for number in [1, 2] {
            for (client, user) in clients.iter().zip(&users) {
                let text = text(number, user);
                let answer = post(client, path, headers, &body(&text)).await;
                // A key that a user has used for another body is refused, by the user's own request alone.
                if *kind == "idempotency key of a response" && number == 2 {
                    assert_eq!(answer.status, 409, "{kind}, {user}: {}", answer.text);
                    continue;
                }
                let said: String = answer.text.split("Answer ").skip(1).collect();
                assert!(
                    answer.status == 200 && said.contains(&format!("{number} for {user}")),
                    "{kind}: {}",
                    answer.text
                );
                let model = system.cloud.model().unwrap();
                let sent = model.last_body_with(&format!("{number} of {user}")).unwrap().to_string();
                let other = users.iter().find(|other| *other != user).unwrap();
                assert!(!sent.contains(other.as_str()), "{kind}: the model got the chat of {other}: {sent}");
            }
        }
        let [of_bob, of_ada] =
            [sessions(&clients[0], &users[0]).await, sessions(&clients[1], &users[1]).await];
        let expected = if *continues { vec![2] } else { of_ada.iter().map(|_| 1).collect() };
        for own in [&of_bob, &of_ada] {
            let counts: Vec<u64> = own.iter().map(|(_, turns)| *turns).collect();
            assert_eq!(counts, expected, "{kind}");
        }
        assert!(of_bob.iter().all(|(id, _)| of_ada.iter().all(|(other, _)| other != id)), "{kind}");
    }
}

/// A session of the Aptix API has a name of its client's choice. A colleague who creates it first gets no turn of
/// anybody else's.
#[tokio::test]
async fn session_of_a_colleague_is_no_chat_of_others() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    for name in ["thread", "copilot", "one"] {
        bob.execute(&turn_in(name, "Planted [[script: say \"Planted.\"]]")).await.result();
    }
    for Row { kind, path, headers, body, .. } in ROWS {
        let answer = post(&ada, path, headers, &body(&text(1, "ada"))).await;
        assert!(answer.status == 200 && answer.text.contains("Answer 1 for ada."), "{kind}: {}", answer.text);
    }
    let calls: Vec<String> = system.model_calls().iter().skip(3).map(Value::to_string).collect();
    assert!(calls.iter().all(|call| !call.contains("Planted")), "{calls:?}");
    for (id, turns) in sessions(&bob, "bob").await {
        assert_eq!(turns, 1, "{id}");
    }
}

/// Whoever knows an id of a colleague's private chat can't continue, change, cancel or delete it. Others are the org's:
/// colleagues may take part in them.
#[tokio::test]
async fn known_ids_of_a_colleague_change_nothing() {
    let mut options = crate::support::options();
    options.environment.insert("CONVERSATION_STATE".to_owned(), "local".to_owned());
    let system = System::with(options).await;
    set(&system, "acme", json!({"SessionVisibility": "participants"})).await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let tool = json!({"type": "function", "name": "look", "description": "Looks.",
                      "parameters": {"type": "object", "properties": {}}});
    let begin = json!({"model": "scripted", "input": text(1, "ada"), "prompt_cache_key": "k"});
    let response = post(&ada, "/v1/responses", &[JSON], &begin).await.json();
    let waiting = json!({"model": "scripted", "input": "Look [[script: call look {}; then; say \"Seen.\"]]", "tools": [tool]});
    let waiting = post(&ada, "/v1/responses", &[JSON], &waiting).await.json();
    let conversation = post(&ada, "/v1/conversations", &[JSON], &json!({})).await.json();
    let in_conversation =
        json!({"model": "scripted", "input": text(2, "ada"), "conversation": conversation["id"]});
    post(&ada, "/v1/responses", &[JSON], &in_conversation).await;
    let thread = json!({"model": "scripted", "max_tokens": 99, "messages": messages(&text(3, "ada")),
                        "thread": {"type": "create"}});
    let message = post(&ada, "/v1/messages", &[JSON, VERSION], &thread).await.json();
    post(&ada, "/v1/ag-ui", &[JSON, STREAM], &run_input(&text(4, "ada"))).await;
    let before = sessions(&ada, "ada").await;
    let calls = system.model_calls().len();

    let id = |value: &Value| value["id"].as_str().unwrap().to_owned();
    let (response_path, conversation_path) =
        (format!("/v1/responses/{}", id(&response)), format!("/v1/conversations/{}", id(&conversation)));
    let session = before[0].0.clone();
    let call_output = json!({"type": "function_call_output", "call_id": waiting["output"][0]["call_id"], "output": "Planted"});
    let planted = "Planted [[script: say \"Planted.\"]]";
    let body = |members: Value| {
        let mut body = json!({"model": "scripted", "input": planted});
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        body
    };
    let attempts: Vec<(&str, Method, String, Value)> = vec![
        (
            "response",
            Method::POST,
            "/v1/responses".to_owned(),
            body(json!({"previous_response_id": id(&response)})),
        ),
        (
            "outputs",
            Method::POST,
            "/v1/responses".to_owned(),
            body(json!({"previous_response_id": id(&waiting), "input": [call_output.clone()]})),
        ),
        (
            "conversation",
            Method::POST,
            "/v1/responses".to_owned(),
            body(json!({"conversation": id(&conversation)})),
        ),
        ("cancel", Method::POST, format!("/v1/responses/{}/cancel", id(&waiting)), json!({})),
        ("delete response", Method::DELETE, response_path.clone(), Value::Null),
        ("metadata", Method::POST, conversation_path.clone(), json!({"metadata": {"a": "b"}})),
        ("items", Method::POST, format!("{conversation_path}/items"), json!({"items": messages("Planted")})),
        ("delete conversation", Method::DELETE, conversation_path.clone(), Value::Null),
        (
            "thread",
            Method::POST,
            "/v1/messages".to_owned(),
            json!({"model": "scripted", "max_tokens": 99, "messages": messages(planted),
                "thread": {"type": "continue", "previous_message_id": id(&message)}}),
        ),
        ("read response", Method::GET, response_path, Value::Null),
        ("read conversation", Method::GET, conversation_path, Value::Null),
        (
            "MCP session",
            Method::POST,
            "/v1/mcp".to_owned(),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "default", "arguments": {"message": planted, "session": session}}}),
        ),
        (
            "MCP resource",
            Method::POST,
            "/v1/mcp".to_owned(),
            json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read",
                "params": {"uri": format!("aptix://sessions/{session}")}}),
        ),
    ];
    for (kind, method, path, body) in attempts {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let headers = [JSON, STREAM, OLDER_MCP];
        let answer = bob.raw(method, &path, &headers, bytes).await;
        let is_refused = answer.status == 404
            || answer.json().get("error").is_some()
            || answer.json()["result"]["isError"] == true;
        assert!(is_refused, "{kind}: {} {}", answer.status, answer.text);
        assert_eq!(sessions(&ada, "ada").await, before, "{kind}");
    }
    assert_eq!(system.model_calls().len(), calls, "nothing ran");
    // The results in the colleague's own chat begin a chat of the colleague.
    let own = json!([{"role": "user", "content": "Look"},
        {"type": "function_call", "call_id": waiting["output"][0]["call_id"], "name": "look", "arguments": "{}"}, call_output]);
    assert_eq!(
        post(&bob, "/v1/responses", &[JSON], &json!({"model": "scripted", "input": own})).await.status,
        200
    );
    let thread = run_input(&text(5, "bob"));
    assert_eq!(post(&bob, "/v1/ag-ui", &[JSON, STREAM], &thread).await.status, 200);
    assert_eq!(sessions(&ada, "ada").await, before);

    let result = json!({"type": "function_call_output", "call_id": waiting["output"][0]["call_id"], "output": "clear"});
    let resume = json!({"model": "scripted", "previous_response_id": id(&waiting), "input": [result]});
    let seen = post(&ada, "/v1/responses", &[JSON], &resume).await;
    assert!(seen.status == 200 && seen.text.contains("Seen."), "{}", seen.text);
    let more = json!({"model": "scripted", "previous_response_id": id(&response), "input": text(6, "ada")});
    assert_eq!(post(&ada, "/v1/responses", &[JSON], &more).await.status, 200);
    let model = system.cloud.model().unwrap();
    let sent = model.last_body_with("6 of ada").unwrap().to_string();
    assert!(sent.contains("1 of ada") && !sent.contains("Planted"), "{sent}");
}
