//! Tools of clients besides functions: freeform tools, namespaces, and web searches.

use reqwest::Method;
use serde_json::{Value, json};

use super::{created, events, id, path, request, streamed, text, with};
use crate::{
    org_settings::set,
    support::{NamedProvider, System, declaring},
};

const INPUT: &str = "*** Begin Patch\n+\"one\"";

fn patch() -> Value {
    let format = json!({"type": "grammar", "syntax": "lark", "definition": "start: /.+/s"});
    json!({"type": "custom", "name": "apply_patch", "description": "Applies a patch.", "format": format})
}

fn search() -> Value {
    json!({"type": "web_search", "external_web_access": false, "search_context_size": "low"})
}

/// A system whose context `c` has a provider of the Responses API with these types of tools. Its model gets the whole history.
async fn declared(tool_types: &Value) -> (System, NamedProvider) {
    let provider = NamedProvider::with_profile("openai").await;
    let mut entry = json!({"Name": "own", "BaseUrl": provider.base, "KeySetting": "OWN_KEY"});
    entry["ToolTypes"] = tool_types.clone();
    let mut options = declaring(&json!([entry]));
    options.environment.insert("OWN_KEY".to_owned(), "secret".to_owned());
    options.environment.insert("MODEL_PROVIDER".to_owned(), "own".to_owned());
    options.environment.insert("CONVERSATION_STATE".to_owned(), "local".to_owned());
    (System::with(options).await, provider)
}

fn asking(tools: &Value) -> Value {
    let script = format!(
        "[[script: say \"Look.\"; call apply_patch {}; then; say \"Patched.\"]]",
        json!({ "input": INPUT })
    );
    with(request(&format!("Patch it. {script}")), &json!({"tools": tools}))
}

fn output(call: &Value) -> Value {
    json!({"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "done"})
}

fn of_type<'a>(list: &'a Value, kind: &str) -> Vec<&'a Value> {
    list.as_array().unwrap().iter().filter(|item| item["type"] == kind).collect()
}

#[tokio::test]
async fn freeform_tool_keeps_its_form_at_a_provider_that_has_it() {
    let (system, provider) = declared(&json!(["custom"])).await;
    let ada = system.client("acme", "ada");
    let called = created(&ada, &asking(&json!([patch()]))).await;
    let call = &called["output"][1];
    assert_eq!(
        (&call["type"], &call["name"], &call["input"], call.get("arguments")),
        (&json!("custom_tool_call"), &json!("apply_patch"), &json!(INPUT), None)
    );
    assert_eq!(called["tools"], json!([patch()]));
    assert_eq!(of_type(&provider.calls()[0]["tools"], "custom"), [&patch()]);
    let resume = with(request(""), &json!({"previous_response_id": id(&called), "input": [output(call)]}));
    let resumed = created(&ada, &resume).await;
    assert_eq!(text(&resumed), "Patched.");
    let sent = &provider.calls()[1]["input"];
    assert_eq!(of_type(sent, "custom_tool_call")[0]["input"], INPUT);
    assert_eq!(of_type(sent, "custom_tool_call_output")[0]["output"], "\"done\"");
    assert!(of_type(sent, "function_call_output").is_empty());
    let inputs = ada.get(&format!("{}/input_items", path(&resumed))).await.json();
    assert_eq!(
        (&inputs["data"][0]["type"], &inputs["data"][0]["output"]),
        (&json!("custom_tool_call_output"), &json!("done"))
    );
    assert_eq!(ada.get(&path(&called)).await.json()["output"], called["output"]);

    // The whole chat again, as clients send it that keep no ids: one session, and the call is sent as it was.
    let mut list = vec![json!({"role": "user", "content": asking(&json!([]))["input"]})];
    list.extend(called["output"].as_array().unwrap().clone());
    list.extend([output(call), json!({"role": "assistant", "content": "Patched."})]);
    for item in &mut list {
        item.as_object_mut().unwrap().remove("id");
    }
    list.push(json!({"role": "user", "content": "More [[script: say \"Yes.\"]]"}));
    let more = created(&ada, &with(request(""), &json!({"input": list, "tools": [patch()]}))).await;
    assert_eq!(text(&more), "Yes.");
    let sent = &provider.calls()[2]["input"];
    assert_eq!(of_type(sent, "custom_tool_call")[0]["input"], INPUT);
    let sessions = ada.get("/api/ai/agent/sessions").await.result();
    assert_eq!(
        (sessions["Items"].as_array().unwrap().len(), &sessions["Items"][0]["TurnCount"]),
        (1, &json!(2))
    );

    // Without the tool, the history has a function's call. So it is at any other provider.
    list.extend([json!({"role": "assistant", "content": "Yes."}), json!({"role": "user", "content": "Hm"})]);
    created(&ada, &with(request(""), &json!({"input": list}))).await;
    let sent = &provider.calls()[3]["input"];
    assert_eq!(of_type(sent, "function_call")[0]["arguments"], json!({"input": INPUT}).to_string());
    assert_eq!(provider.invalid_requests(), [""; 0]);
}

#[tokio::test]
async fn freeform_tool_is_a_function_elsewhere() {
    let (system, provider) = declared(&json!([])).await;
    let ada = system.client("acme", "ada");
    let streamed_request = with(asking(&json!([patch()])), &json!({"stream": true}));
    let answer = ada.post("/v1/responses", streamed_request.to_string()).await;
    let events = events(&answer.text);
    let of = |kind: &str| events.iter().find(|event| event["type"] == format!("response.{kind}"));
    assert_eq!(of("custom_tool_call_input.delta").unwrap()["delta"], INPUT);
    assert_eq!(of("custom_tool_call_input.done").unwrap()["input"], INPUT);
    assert!(of("function_call_arguments.done").is_none());
    let called = of("completed").unwrap()["response"].clone();
    assert_eq!(streamed(&events, 0), "Look.");
    let calls = provider.calls();
    let function = of_type(&calls[0]["tools"], "function");
    let function = function.iter().find(|tool| tool["name"] == "apply_patch").unwrap();
    assert_eq!(function["parameters"]["required"], json!(["input"]));
    let call = &called["output"][1];
    assert_eq!((&call["type"], &call["input"]), (&json!("custom_tool_call"), &json!(INPUT)));
    let resume = with(request(""), &json!({"previous_response_id": id(&called), "input": [output(call)]}));
    assert_eq!(text(&created(&ada, &resume).await), "Patched.");

    // The same tool of a chat.
    let custom = json!({"name": "apply_patch", "description": "Applies a patch."});
    let mut messages = vec![json!({"role": "user", "content": asking(&json!([]))["input"]})];
    let mut replies = Vec::new();
    for _ in 0..2 {
        let body = json!({"model": "scripted", "messages": messages, "tools": [{"type": "custom", "custom": custom}]});
        let answer = ada.post("/v1/chat/completions", body.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let reply = answer.json()["choices"][0]["message"].clone();
        let call_id = reply["tool_calls"][0]["id"].clone();
        messages.extend([reply.clone(), json!({"role": "tool", "tool_call_id": call_id, "content": "done"})]);
        replies.push(reply);
    }
    let call = &replies[0]["tool_calls"][0];
    assert_eq!((&call["type"], &call["custom"]["input"]), (&json!("custom"), &json!(INPUT)));
    assert_eq!(replies[1]["content"], "Patched.");
}

#[tokio::test]
async fn namespace_is_flattened_for_the_model_alone() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let look = json!({"type": "function", "name": "look", "description": "Looks.", "strict": false,
                      "parameters": {"type": "object", "properties": {}}});
    let tools =
        json!([{"type": "namespace", "name": "files", "description": "Files.", "tools": [look, patch()]}]);
    let script =
        "[[script: call files__look {}; call files__apply_patch {\"input\":\"x\"}; then; say \"Seen.\"]]";
    let called = created(&ada, &with(request(&format!("Look. {script}")), &json!({"tools": tools}))).await;
    assert_eq!(called["tools"], tools);
    let calls = called["output"].as_array().unwrap();
    let shown: Vec<Value> =
        calls.iter().map(|call| json!([call["type"], call["namespace"], call["name"]])).collect();
    assert_eq!(
        shown,
        [json!(["function_call", "files", "look"]), json!(["custom_tool_call", "files", "apply_patch"])]
    );
    let mut list = vec![json!({"role": "user", "content": format!("Look. {script}")})];
    list.extend(calls.clone());
    let look = json!({"type": "function_call_output", "call_id": calls[0]["call_id"], "output": "seen"});
    list.extend([look, output(&calls[1])]);
    let seen = created(&ada, &with(request(""), &json!({"input": list, "tools": tools}))).await;
    assert_eq!((text(&seen).as_str(), system.model_calls().len()), ("Seen.", 2));
}

#[tokio::test]
async fn web_search_goes_to_a_provider_that_is_declared_to_run_it() {
    let script = "Search [[script: hosted web_search_call {\"action\":{\"type\":\"search\",\"query\":\"so\"}}; say \"Found.\"]]";
    let wanted = with(request(script), &json!({"tools": [search()]}));
    let (system, provider) = declared(&json!(["web_search"])).await;
    let headers = [("content-type", "application/json")];
    let send = |client: crate::support::Client, body: Value| async move {
        client.raw(Method::POST, "/v1/responses", &headers, body.to_string().into_bytes()).await
    };
    let answer = send(system.client("acme", "ada"), wanted.clone()).await;
    assert_eq!((answer.status, answer.header("x-aptix-ignored")), (200, None), "{}", answer.text);
    assert_eq!((text(&answer.json()).as_str(), &answer.json()["tools"]), ("Found.", &json!([search()])));
    assert_eq!(of_type(&provider.calls()[0]["tools"], "web_search"), [&search()]);
    // The org's policy on tools counts for it too.
    set(&system, "acme", json!({"Policy": {"Tools": ["publish_file"]}})).await;
    send(system.client("acme", "ada"), with(request("Hi"), &json!({"tools": [search()]}))).await;
    assert!(of_type(&provider.calls()[1]["tools"], "web_search").is_empty());

    let system = System::start().await;
    let answer = send(system.client("acme", "ada"), with(request("Hi"), &json!({"tools": [search()]}))).await;
    assert_eq!((answer.status, answer.header("x-aptix-ignored")), (200, Some("tools[0]")));
    assert!(!system.model_calls()[0].to_string().contains("web_search"));
}

#[tokio::test]
async fn invalid_client_tools_are_refused_by_name() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let grammar = |definition: &str, syntax: &str| json!({"type": "grammar", "syntax": syntax, "definition": definition});
    let custom = |format: Value| json!({"type": "custom", "name": "p", "format": format});
    for (tool, param) in [
        (custom(json!({"type": "xml"})), "tools[0].format.type"),
        (custom(grammar("a", "ebnf")), "tools[0].format.syntax"),
        (custom(grammar(&"a".repeat(40_000), "lark")), "tools[0].format"),
        (json!({"type": "custom"}), "tools[0].name"),
        (json!({"type": "namespace", "name": "n", "tools": [{"type": "mcp"}]}), "tools[0].tools[0].type"),
    ] {
        let answer = super::create(&ada, &with(request("Hi"), &json!({"tools": [tool]}))).await;
        assert_eq!((answer.status, super::error(&answer).1.as_str()), (400, param), "{}", answer.text);
    }
    assert!(system.model_calls().is_empty());
}
