//! What a model wrote is replayed in the form that the API has for it, whatever the model wrote: on every wire, in later
//! rounds and turns, after a lost chain, and by a fallback.

use serde_json::{Value, json};

use crate::{
    cancel::cancel,
    client_tools::{results, submit},
    support::{Client, System, final_text_and_result, in_context, reading_tool},
    wires::{WIRES, Wire, Wires, in_session, on, says},
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

/// The types of the blocks of the last reply in a request.
fn block_types(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap().iter();
    let reply = messages.rev().find(|message| message["role"] == "assistant").unwrap();
    let kind = |block: &Value| match block["type"].as_str() {
        Some(kind) => kind.to_owned(),
        None => block.as_object().unwrap().keys().next().unwrap().clone(),
    };
    reply["content"].as_array().unwrap().iter().map(kind).collect()
}

#[tokio::test]
async fn thinking_text_and_calls_are_replayed_in_their_order() {
    let wires = Wires::start(json!({})).await;
    let script = "Go [[script: think \"A.\"; say \"\\n\\n\"; think \"B.\"; say \"One.\"; call agent_list_modes {}; \
                  say \"Two.\"; call agent_list_modes {}; then; say \"Done.\"]]";
    for (wire, provider) in wires.each() {
        assert_eq!(says(&wires.ada, &on(wire, script)).await, "Done.", "{}", wire.name);
        let (thinking, call) = match wire.name {
            "anthropic-messages" => ("thinking", "tool_use"),
            "bedrock-converse" => ("reasoningContent", "toolUse"),
            _ => continue,
        };
        let request = provider.calls().pop().unwrap();
        assert_eq!(block_types(&request), [thinking, "text", thinking, "text", call, "text", call]);
    }
    wires.end().await;
}

/// The conversation of the last model call.
fn request_text(system: &System) -> String {
    system.last_call()["input"].to_string()
}

#[tokio::test]
async fn calls_of_a_cancelled_turn_are_told_to_the_next_one() {
    for chain in ["provider", "local"] {
        let system = System::start().await;
        system.put_context(json!({ "Chain": chain, "ClientTools": [reading_tool()] })).await;
        let ada = system.client("acme", "ada");
        ada.execute(&in_context("Hello [[script: say \"Hi.\"]]")).await.result();
        let read = "call workspace_read_file {\"path\":\"doomed.rs\"}";
        let doomed = in_context(&format!("Delete it [[script: {read}; then; {read}; then; say \"Never.\"]]"));
        let waits = ada.execute(&doomed).await.result();
        let waits = submit(&ada, &results(&waits, "file-is-gone")).await.result();
        assert_eq!(waits["Kind"], "client_tool_continuation", "{chain}");
        cancel(&ada, &doomed).await;

        let answer = ada.execute(&in_context("Is it there? [[script: say \"No.\"]]")).await.result();
        assert_eq!(answer["PrimaryOutputText"], "No.", "{chain}");
        let request = request_text(&system);
        for expected in
            ["Delete it", "doomed.rs", "file-is-gone", "may have run", "[NO_ANSWER]", "the user cancelled it"]
        {
            assert!(request.contains(expected), "{chain}, {expected}: {request}");
        }
        assert_eq!(system.last_call().get("previous_response_id").is_some(), chain == "provider");
        ada.execute(&in_context("And now? [[script: say \"No.\"]]")).await.result();
        assert_eq!(
            request_text(&system).contains("file-is-gone"),
            chain == "local",
            "a provider is told once"
        );
    }
}

/// Ends a turn whose first call was answered: the client stops it, its model fails, or the user goes on.
async fn end_turn(ada: &Client, end: &str, turn: &Value, waits: &Value) {
    match end {
        "cancelled" => {
            let waits = submit(ada, &results(waits, "file-is-gone")).await.result();
            assert_eq!(waits["Kind"], "client_tool_continuation");
            cancel(ada, turn).await;
        }
        "failed" => assert_eq!(submit(ada, &results(waits, "file-is-gone")).await.status, 502),
        _ => assert_eq!(waits["Kind"], "client_tool_continuation"),
    }
}

#[tokio::test]
async fn effects_of_an_unanswered_turn_are_told_on_every_wire_and_fallback() {
    let next = |wire: &Wire| format!("next-{}", wire.name);
    let fallbacks: Vec<Value> =
        WIRES.iter().map(|wire| json!({ "Provider": wire.name, "ModelName": next(wire) })).collect();
    let wires = Wires::start(json!({ "ClientTools": [reading_tool()], "Fallbacks": fallbacks })).await;
    let read = "call workspace_read_file {\"path\":\"doomed.rs\"}";
    let ends = [
        ("cancelled", "the user cancelled it"),
        ("failed", "it failed"),
        ("superseded", "the user sent the next message"),
    ];
    for (at, (wire, own)) in wires.each().enumerate() {
        for (number, (end, cause)) in ends.into_iter().enumerate() {
            // Each end is followed by a turn of the same provider, and by one that falls back to another.
            let moves_to = (at + number + 1) % WIRES.len();
            let before = WIRES[..moves_to].iter().map(next);
            let failing: String = [wire.model.to_owned()]
                .into_iter()
                .chain(before)
                .map(|model| format!("status 503 for {model} retry-after-ms 1; "))
                .collect();
            let (_, moved) = wires.each().nth(moves_to).unwrap();
            for (failing, provider) in [("", own), (failing.as_str(), moved)] {
                let session = format!("{}-{end}-{}", wire.name, failing.len());
                let turn = |instruction: &str| in_session(wire, &session, instruction);
                assert_eq!(
                    says(&wires.ada, &turn("Hello [[script: say \"Hi.\"]]")).await,
                    "Hi.",
                    "{session}"
                );
                let rest = if end == "failed" { "status 400" } else { read };
                let doomed = turn(&format!("Delete it [[script: {read}; then; {rest}]]"));
                let waits = wires.ada.execute(&doomed).await.result();
                end_turn(&wires.ada, end, &doomed, &waits).await;

                let script = format!("Is it there? [[script: {failing}say \"No.\"]]");
                assert_eq!(says(&wires.ada, &turn(&script)).await, "No.", "{session}");
                let request = provider.calls().pop().unwrap().to_string();
                let result = if end == "superseded" { "may have run" } else { "file-is-gone" };
                for expected in ["Delete it", "doomed.rs", result, "[NO_ANSWER]", cause] {
                    assert!(request.contains(expected), "{session}, {expected}: {request}");
                }
            }
        }
    }
    wires.end().await;
}

#[tokio::test]
async fn calls_of_a_failed_or_superseded_turn_are_told_to_the_next_one() {
    let system = System::start().await;
    system.put_context(json!({ "ClientTools": [reading_tool()] })).await;
    let ada = system.client("acme", "ada");
    let turn = |session: &str, instruction: &str| {
        let mut turn = in_context(instruction);
        turn["SessionId"] = json!(session);
        turn
    };
    let read = "call workspace_read_file {\"path\":\"doomed.rs\"}";
    let failing = turn("failed", &format!("Delete it [[script: {read}; then; status 400]]"));
    let waits = ada.execute(&failing).await.result();
    assert_eq!(submit(&ada, &results(&waits, "file-is-gone")).await.status, 502);
    ada.execute(&turn("failed", "Is it there? [[script: say \"No.\"]]")).await.result();
    let request = request_text(&system);
    for expected in ["Delete it", "file-is-gone", "it failed"] {
        assert!(request.contains(expected), "{expected}: {request}");
    }

    ada.execute(&turn("new", &format!("Delete it [[script: {read}; then; say \"Never.\"]]"))).await.result();
    ada.execute(&turn("new", "Stop. [[script: say \"Stopped.\"]]")).await.result();
    let request = request_text(&system);
    for expected in ["Delete it", "doomed.rs", "may have run", "the user sent the next message"] {
        assert!(request.contains(expected), "{expected}: {request}");
    }
    ada.execute(&turn("server", "Look [[script: call agent_list_modes {}; then; status 400]]")).await;
    ada.execute(&turn("server", "Again [[script: say \"Yes.\"]]")).await.result();
    assert!(request_text(&system).contains("agent_list_modes"), "calls of server tools, too");
}

#[tokio::test]
async fn phases_go_back_with_their_messages_on_the_responses_wire_alone() {
    let wires = Wires::start(json!({})).await;
    let script = "Go [[script: phase commentary; say \"Looking.\"; call agent_list_modes {}; then; phase commentary; \
                  say \"Found it.\"; phase final_answer; say \"Done.\"]]";
    for (wire, provider) in wires.each() {
        let answer = says(&wires.ada, &on(wire, script)).await;
        // A chain that is lost is replayed.
        let lost = on(wire, "Next [[script: forget; say \"Yes.\"]]");
        assert_eq!(says(&wires.ada, &lost).await, "Yes.", "{}", wire.name);
        let request = provider.calls().pop().unwrap();
        if wire.name != "responses" {
            assert!(!request.to_string().contains("\"phase\""), "{}: {request}", wire.name);
            continue;
        }
        assert_eq!(
            answer, "Found it.\n\nDone.",
            "all texts of the last reply, and nothing from before its calls"
        );
        let items = request["input"].as_array().unwrap().iter().filter(|item| item["role"] == "assistant");
        let messages: Vec<_> = items.map(|item| [&item["phase"], &item["content"]]).collect();
        let expected = [
            [json!("commentary"), json!("Looking.")],
            [json!("commentary"), json!("Found it.")],
            [json!("final_answer"), json!("Done.")],
        ];
        assert_eq!(messages, expected.each_ref().map(|[phase, text]| [phase, text]));
    }
    wires.end().await;
}
