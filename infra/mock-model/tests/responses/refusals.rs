//! Refusals of the published API.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::{Server, asking, json_of};

/// The error that the API answers with.
async fn refused(body: &Value) -> (u16, Value) {
    let response = Server::new().send(body).await;
    (response.status().as_u16(), json_of(response).await["error"].clone())
}

fn with(member: &str, value: Value) -> Value {
    let mut body = asking("Hello.");
    body[member] = value;
    body
}

#[tokio::test]
async fn part_of_an_unknown_type_is_refused() {
    let body = with("input", json!([{ "role": "user", "content": [{ "type": "text", "text": "Hello." }] }]));
    let (status, error) = refused(&body).await;
    assert_eq!(status, 400);
    assert_eq!(error["code"], "invalid_value");
    assert_eq!(error["param"], "input[0].content[0].type");
    assert!(error["message"].as_str().unwrap().contains("/input/0/content/0/type"), "{error}");
}

#[tokio::test]
async fn wrong_members_are_refused_by_name() {
    let nested = json!([{ "type": "function", "function": { "name": "look" } }]);
    let flat = json!([{
        "type": "function", "name": "look", "parameters": { "type": "object", "properties": {} },
        "strict": false,
    }]);
    let nameless =
        json!([flat[0], { "type": "function", "parameters": { "type": "object" }, "strict": false }]);
    let of_assistant =
        json!([{ "role": "assistant", "content": [{ "type": "output_text", "text": "Hi." }] }]);
    let image = json!([{ "role": "user", "content": [{ "type": "input_image", "image_url": { "url": "x" }, "detail": "auto" }] }]);
    let mut choice = with("tool_choice", json!({ "type": "tool", "name": "look" }));
    choice["tools"] = flat.clone();
    for (body, code, param) in [
        (json!({ "input": "Hello." }), "missing_required_parameter", "model"),
        (json!({ "model": "scripted" }), "missing_required_parameter", "input"),
        (with("model", Value::Null), "invalid_type", "model"),
        (with("input", json!([{ "role": "robot", "content": "" }])), "invalid_value", "input[0].role"),
        (with("input", json!([{ "role": "user" }])), "missing_required_parameter", "input[0].content"),
        (with("input", of_assistant), "invalid_value", "input[0].content[0].type"),
        (with("input", image), "invalid_type", "input[0].content[0].image_url"),
        (with("reasoning", json!({ "effort": "heroic" })), "invalid_value", "reasoning.effort"),
        (with("tools", nameless), "missing_required_parameter", "tools[1].name"),
        (with("tools", nested), "missing_required_parameter", "tools[0].name"),
        (choice, "invalid_value", "tool_choice.type"),
        (with("tool_choice", json!({ "type": "function", "name": "look" })), "invalid_value", "tool_choice"),
        (with("temperature", json!(3)), "decimal_out_of_range", "temperature"),
        (with("max_output_tokens", json!(1)), "integer_below_min_value", "max_output_tokens"),
        (with("novelty", json!(1)), "unknown_parameter", "novelty"),
        (with("stream", json!("yes")), "invalid_type", "stream"),
        (
            with("previous_response_id", json!("resp_of_another")),
            "previous_response_not_found",
            "previous_response_id",
        ),
    ] {
        let (status, error) = refused(&body).await;
        assert_eq!((status, &error["code"], &error["param"]), (400, &json!(code), &json!(param)), "{error}");
    }
    let untyped = json!([{ "type": "function", "name": "look", "parameters": {}, "strict": false }]);
    let lax = json!([{ "type": "function", "name": "look", "strict": true, "parameters": {
        "type": "object", "properties": { "at": { "type": "string" } }, "required": [],
        "additionalProperties": false,
    }}]);
    let bare =
        json!([{ "type": "function", "name": "look", "parameters": { "type": "object" }, "strict": false }]);
    let either = json!([{ "type": "function", "name": "look", "strict": false, "parameters": {
        "type": "object", "properties": {}, "anyOf": [{ "type": "object" }],
    }}]);
    let unknown = json!([{ "type": "function", "name": "look", "strict": true, "parameters": {
        "type": "object", "properties": { "at": { "oneOf": [{ "type": "string" }] } }, "required": ["at"],
        "additionalProperties": false,
    }}]);
    let open = json!([{ "type": "function", "name": "look", "strict": true, "parameters": {
        "type": "object", "properties": {}, "required": [], "additionalProperties": false,
        "definitions": { "leaf": { "type": "object", "properties": {} } },
    }}]);
    for tools in [untyped, lax, bare, either, unknown, open] {
        let (status, error) = refused(&with("tools", tools)).await;
        assert_eq!((status, &error["code"]), (400, &json!("invalid_function_parameters")));
    }
    let many = vec![flat[0].clone(); 129];
    let (status, error) = refused(&with("tools", json!(many))).await;
    assert_eq!((status, &error["code"]), (400, &json!("array_above_max_length")));
    let mut good = with("tool_choice", json!({ "type": "function", "name": "look" }));
    good["tools"] = flat;
    let reply = Server::new().reply(&good).await;
    assert_eq!(reply["output"][0]["name"], "look", "a forced tool is called");
}

#[tokio::test]
async fn every_call_needs_one_output_and_outputs_need_a_call() {
    let server = Server::new();
    let called = server.reply(&asking("[[script: call a {}; call b {}]]")).await;
    let call = |index: usize| called["output"][index]["call_id"].clone();
    let output = |id: Value| json!({ "type": "function_call_output", "call_id": id, "output": "1" });
    let send = async |outputs: Vec<Value>| {
        let body = json!({
            "model": "scripted", "previous_response_id": called["id"], "input": outputs,
        });
        let response = server.send(&body).await;
        let status = response.status().as_u16();
        (status, json_of(response).await["error"]["message"].clone())
    };
    let (status, message) = send(vec![output(call(0))]).await;
    assert_eq!(status, 400);
    let expected = format!("No tool output found for function call {}.", call(1).as_str().unwrap());
    assert_eq!(message, json!(expected));
    let stranger = output(json!("call_stranger"));
    assert_eq!(send(vec![output(call(0)), output(call(1)), stranger]).await.0, 400);
    assert_eq!(send(vec![output(call(0)), output(call(1))]).await.0, 200);
}

#[tokio::test]
async fn unstored_response_cannot_be_continued() {
    let server = Server::new();
    let first = server.reply(&with("store", json!(false))).await;
    let next = with("previous_response_id", first["id"].clone());
    assert_eq!(server.send(&next).await.status(), 400);
}

#[tokio::test]
async fn invalid_keys_models_and_scripts_are_refused() {
    let server = Server::new();
    let body = asking("Hello.").to_string();
    assert_eq!(server.send_as("", body.clone()).await.status(), 401);
    assert_eq!(server.send_as("Bearer invalid-key", body).await.status(), 401);
    assert_eq!(refused(&with("model", json!("missing-1"))).await.0, 404);
    for script in ["[[script: sing]]", "[[script: say \"a\"", "[[script: say \"a\" \"b\"]]"] {
        let (status, error) = refused(&asking(script)).await;
        assert_eq!((status, &error["code"]), (400, &json!("invalid_script")));
    }
}

#[tokio::test]
async fn invalid_tools_and_calls_beyond_the_schema_are_refused() {
    let call = json!({ "type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}" });
    let output = json!({ "type": "function_call_output", "call_id": "call_1", "output": "1" });
    let user = json!({ "role": "user", "content": "Hello." });
    let input = |items: &[&Value]| with("input", json!(items));
    assert_eq!(Server::new().send(&input(&[&call, &output, &user])).await.status(), 200);
    for items in [
        [&output, &call, &user].as_slice(),
        &[&call, &output, &output, &user],
        &[&call, &call, &output, &user],
        &[&call, &user],
        &[&output, &user],
    ] {
        assert_eq!(refused(&input(items)).await.0, 400, "{items:?}");
    }
    let look = json!({
        "type": "function", "name": "look", "strict": false,
        "parameters": { "type": "object", "properties": {} },
    });
    let (status, error) = refused(&with("tools", json!([look, look]))).await;
    assert_eq!((status, &error["param"]), (400, &json!("tools[1].name")));
    let (status, error) = refused(&with("tool_choice", json!("required"))).await;
    assert_eq!((status, &error["param"]), (400, &json!("tool_choice")));
    assert_eq!(Server::new().send(&with("tool_choice", json!("auto"))).await.status(), 200);
}

#[tokio::test]
async fn unknown_route_names_the_offered_ones() {
    let request = Request::post("/v1/chat/completions").body(Body::empty()).unwrap();
    let response = Server::new().router.oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    let message = "Unknown route POST /v1/chat/completions. This mock model offers POST /v1/responses.";
    assert_eq!(json_of(response).await["error"]["message"], message);
}
