//! What a model wrote is replayed in the form that the API has for it, whatever the model wrote: on every wire, in later
//! rounds and turns, after a lost chain, and by a fallback.

use serde_json::{Value, json};

use crate::{
    client_tools::{results, submit},
    support::{final_text_and_result, reading_tool},
    wires::{WIRES, Wires, on, says},
};

/// Calls that fit no grammar: names of tools that don't exist, and arguments that are no object.
fn odd_calls() -> String {
    let names = ["functions.look", "functions:look", "m\u{fc}nze", "browser.tabs.open", "", &"x".repeat(65)];
    let named = names.iter().map(|name| format!("call {} {{}}; ", json!(name)));
    let arguments = ["[1]", "null", "\"x\"", "\"{\\\"mode\\\":1}\""];
    // A space ends `null`.
    let argued = arguments.iter().map(|arguments| format!("call agent_list_modes {arguments} ; "));
    named.chain(argued).collect()
}

#[tokio::test]
async fn odd_calls_are_answered_and_replayed_on_every_wire() {
    let wires = Wires::start(json!({})).await;
    for (wire, provider) in wires.each() {
        let name = wire.name;
        let script = format!("Go [[script: {}then; {}then; say \"Sorry.\"]]", odd_calls(), odd_calls());
        assert_eq!(says(&wires.ada, &on(wire, &script)).await, "Sorry.", "{name}");
        let last = provider.calls().last().unwrap().to_string();
        assert!(last.contains("There is no such tool in this turn."), "{name}: {last}");

        let next = wires.ada.execute_streaming(&on(wire, "Next [[script: say \"Yes.\"]]"), None).await;
        let Ok(next) = next else { panic!("{name} does not stream") };
        assert_eq!(final_text_and_result(&next.rest().await).0, "Yes.", "{name}");
        // A chain that is lost is replayed.
        let lost = on(wire, "Again [[script: forget; say \"Still here.\"]]");
        assert_eq!(says(&wires.ada, &lost).await, "Still here.", "{name}");
        let last = provider.calls().last().unwrap().to_string();
        assert!(last.contains("malformed") && last.contains("functions_look_"), "{name}: {last}");
    }
    wires.end().await;
}

#[tokio::test]
async fn odd_calls_reach_a_fallback_on_every_wire() {
    let next = |name: &str| format!("next-{name}");
    let fallbacks: Vec<Value> =
        WIRES.iter().map(|wire| json!({ "Provider": wire.name, "ModelName": next(wire.name) })).collect();
    let wires = Wires::start(json!({ "Fallbacks": fallbacks })).await;
    for (wire, _) in wires.each() {
        let mut failing = format!("status 503 for {} retry-after-ms 1; ", wire.model);
        for other in &WIRES {
            let script = format!("Go [[script: {}then; {failing}say \"{}.\"]]", odd_calls(), other.name);
            let answer = says(&wires.ada, &on(wire, &script)).await;
            assert_eq!(answer, format!("{}.", other.name), "{}", wire.name);
            failing.push_str(&format!("status 503 for {} retry-after-ms 1; ", next(other.name)));
        }
    }
    wires.end().await;
}

#[tokio::test]
async fn signed_call_id_goes_back_whole_and_the_client_gets_ours() {
    let wires = Wires::start(json!({ "ClientTools": [reading_tool()] })).await;
    let (wire, provider) = wires.each().nth(1).unwrap();
    let script = "Read [[script: quirk signed-call-id; call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]";
    let waits = wires.ada.execute(&on(wire, script)).await.result();
    let id = waits["ToolCalls"][0]["ToolCallId"].as_str().unwrap();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    let answer = submit(&wires.ada, &results(&waits, "contents")).await.result();
    assert_eq!(answer["PrimaryOutputText"], "Read.");
    assert_eq!(says(&wires.ada, &on(wire, "Next [[script: say \"Yes.\"]]")).await, "Yes.");
    for request in &provider.calls()[1..] {
        let messages = request["messages"].as_array().unwrap();
        let call = messages.iter().find_map(|message| message["tool_calls"][0]["id"].as_str()).unwrap();
        let result = messages.iter().find_map(|message| message["tool_call_id"].as_str()).unwrap();
        assert!(call.len() > 4_600 && call.ends_with("+/==") && call == result, "{call}");
    }
    wires.end().await;
}
