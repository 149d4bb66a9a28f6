//! `Streaming: true`: the answer as events while it is written (AGN-034 §4.7).

use std::time::Duration;

use contracts::paths::{EXECUTE, TOOL_RESULTS};
use local::Options;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, Events, System, answer_text, final_text_and_result, options, turn, turn_in, turn_path,
    workspace_turn,
};

async fn streamed(client: &Client, turn: &Value) -> Events {
    client.execute_streaming(turn, None).await.unwrap_or_else(|answer| panic!("no stream: {}", answer.text))
}

fn with(environment: &[(&str, &str)]) -> Options {
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Options { environment: environment.collect(), ..options() }
}

#[tokio::test]
async fn deltas_arrive_live_and_result_equals_unstreamed_response() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    // The model stops in the middle, so that whatever arrives before the cancel arrived while it wrote.
    let stuck = turn("Write [[script: say \"First words\"; hang 60s; say \" and last.\"]]");
    let mut events = streamed(&ada, &stuck).await;
    let first = events.next().await.unwrap();
    assert_eq!((first.kind.as_str(), first.data.contains("First")), ("delta", true), "{first:?}");
    assert_eq!(ada.get(&turn_path(&stuck)).await.result()["Status"]["Id"], "pending");
    ada.post(&format!("{}/cancel", turn_path(&stuck)), String::new()).await.result();

    let request = turn("Write [[script: pace 2ms; words 50]]");
    let events = streamed(&ada, &request).await;
    let kind = |name| events.headers.get(name).and_then(|value| value.to_str().ok());
    assert_eq!(kind("content-type"), Some("text/event-stream"));
    assert_eq!((kind("cache-control"), kind("x-accel-buffering")), (Some("no-store"), Some("no")));
    assert_eq!((kind("content-length"), kind("access-control-allow-origin")), (None, Some("*")));
    let events = events.rest().await;
    let (text, result) = final_text_and_result(&events);
    assert!(events.len() > 2 && events.iter().all(|event| event.kind != "reset"));
    assert_eq!(text, answer_text(&result));
    assert_eq!(ada.execute(&request).await.text, result, "the stored response, byte for byte");
}

#[tokio::test]
async fn answer_of_a_thousand_deltas_arrives_completely() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let events = streamed(&ada, &turn("Write [[script: words 1000]]")).await.rest().await;
    let (text, result) = final_text_and_result(&events);
    assert_eq!((text.as_str(), text.split_whitespace().count()), (answer_text(&result).as_str(), 1000));
}

/// AGN-033 §4.1: what a machine is to read stands in a fenced block, streamed and stored alike.
#[tokio::test]
async fn bundle_without_a_code_fence_is_streamed_at_once() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let bundle =
        json!({"Files": [{"Path": "src/a.rs", "Contents": "fn main() {}\n".repeat(50)}]}).to_string();
    let bundle = bundle.replace(r#""Contents""#, r#""Contents" "#);
    let other = json!({"Name": "no bundle"}).to_string();
    let said = json!(format!("Here:\n{bundle}\n\nNot this one:\n{other}\n"));
    let request = turn(&format!("Write [[script: chunk 3; say {said}]]"));
    let events = streamed(&ada, &request).await.rest().await;
    let (text, result) = final_text_and_result(&events);
    let expected = format!("Here:\n```aptix-json\n{bundle}\n```\n\nNot this one:\n{other}\n");
    assert_eq!((&text, &answer_text(&result)), (&expected, &expected));
    assert!(events.iter().all(|event| event.kind != "reset"));
}

/// A bundle is known by its files, not by its first member, and its fence by what is in it.
#[tokio::test]
async fn bundle_in_an_untagged_fence_is_tagged_and_other_base64_is_linked() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let base64 = "QUJD".repeat(200);
    let bundle = json!({"Title": "Two files", "Files": [{"Path": "a.bin", "Contents": base64}]}).to_string();
    let said = format!("```\n{bundle}\n```\n\n```js\nconst a = {base64}\n```\n");
    let request = turn(&format!("Write [[script: chunk 5; say {}]]", json!(said)));
    let events = streamed(&ada, &request).await.rest().await;
    let (text, result) = final_text_and_result(&events);
    let body: Value = serde_json::from_str(&result).unwrap();
    let url = body["Result"]["Files"][0]["Url"].as_str().unwrap();
    let expected = format!("```aptix-json\n{bundle}\n```\n\n```js\nconst a = [embedded-1.bin]({url})\n```\n");
    assert_eq!((&text, &answer_text(&result)), (&expected, &expected));
    assert!(events.iter().all(|event| event.kind != "reset"));
}

/// AGN-033 §4.1: an answer in a format for machines stands in a fence, streamed and stored alike.
#[tokio::test]
async fn answer_in_a_text_format_is_fenced() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let schema = json!({"type": "object", "properties": {"verdict": {"type": "string"}}});
    let context = json!({
        "Kind": "conversation", "Id": "c", "Name": "C", "System": "S",
        "TextFormat": {"Name": "verdict", "Schema": schema},
    });
    system.put_contexts("acme", &context).await;
    let verdict = json!({"verdict": "yes, it is"}).to_string();
    let mut request = turn(&format!("Judge [[script: chunk 4; say {}]]", json!(verdict)));
    request["ConversationContextId"] = json!("c");
    let events = streamed(&ada, &request).await.rest().await;
    let (text, result) = final_text_and_result(&events);
    let expected = format!("```json\n{verdict}\n```");
    assert_eq!((&text, &answer_text(&result)), (&expected, &expected));
    assert!(!result.contains("UserWarnings"), "{result}");
    assert!(events.iter().filter(|event| event.kind == "delta").count() > 1, "it is not held back");
}

/// A fence of the model's own gets its tag, and is the form that the context asks for.
#[tokio::test]
async fn answer_in_a_fence_of_its_own_is_tagged_without_a_warning() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let schema =
        json!({"type": "object", "properties": {"verdict": {"type": "string"}}, "required": ["verdict"]});
    let context = json!({
        "Kind": "conversation", "Id": "c", "Name": "C", "System": "S",
        "TextFormat": {"Name": "verdict", "Schema": schema},
    });
    system.put_contexts("acme", &context).await;
    let verdict = json!({"verdict": "yes, it is"}).to_string();
    for (said, expected, is_warned) in [
        (format!("```\n{verdict}\n```"), format!("```json\n{verdict}\n```"), false),
        (format!("\u{feff}```json\n{verdict}\n```\n"), format!("```json\n{verdict}\n```\n"), false),
        (format!("> ```\n> {verdict}\n> ```"), format!("> ```json\n> {verdict}\n> ```"), false),
        ("```\n{}\n```".to_owned(), "```json\n{}\n```".to_owned(), true),
        (format!("So: {verdict}"), format!("So: \n```json\n{verdict}\n```"), true),
    ] {
        for is_streamed in [true, false] {
            let mut request = turn(&format!("Judge [[script: chunk 3; say {}]]", json!(said)));
            request["ConversationContextId"] = json!("c");
            let (text, result) = if is_streamed {
                let events = streamed(&ada, &request).await.rest().await;
                let (text, result) = final_text_and_result(&events);
                (text, serde_json::from_str::<Value>(&result).unwrap()["Result"].clone())
            } else {
                let result = ada.execute(&request).await.result();
                (result["PrimaryOutputText"].as_str().unwrap().to_owned(), result)
            };
            assert_eq!((&text, &result["PrimaryOutputText"]), (&expected, &json!(expected)), "{said}");
            assert_eq!(result.get("UserWarnings").is_some(), is_warned, "{said}: {result}");
        }
    }
}

/// AGN-033 §4.1, §6.1: a bundle gets its fence where Markdown has it, and base64 in short lines becomes a file.
#[tokio::test]
async fn quoted_bundle_is_fenced_and_base64_in_short_lines_is_linked() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let bundle = json!({"Files": [{"Path": "a", "Contents": "b"}]}).to_string();
    let lines = "+QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNk\n".repeat(20);
    let said = format!("> - Take this: {bundle} Done.\n\n```aptix-json\n{lines}```\n");
    let request = turn(&format!("Write [[script: chunk 7; say {}]]", json!(said)));
    let events = streamed(&ada, &request).await.rest().await;
    let (text, result) = final_text_and_result(&events);
    let body: Value = serde_json::from_str(&result).unwrap();
    let url = body["Result"]["Files"][0]["Url"].as_str().unwrap();
    let expected = format!(
        "> - Take this: \n>   ```aptix-json\n>   {bundle}\n>   ``` \n>   Done.\n\n\
         ```aptix-json\n[embedded-1.bin]({url})\n```\n"
    );
    assert_eq!((&text, &answer_text(&result)), (&expected, &expected));
    assert_eq!(body["Result"]["Files"][0]["SizeBytes"], 600, "a sign of a patch is no part of it");
}

#[tokio::test]
async fn text_before_a_tool_round_is_retracted() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn(
        "Look [[script: say \"Let me look. \"; hang 500ms; call agent_list_modes {}; then; say \"Done, ünï🦀.\"]]",
    );
    let events = streamed(&ada, &request).await.rest().await;
    let (text, result) = final_text_and_result(&events);
    assert_eq!(events.iter().filter(|event| event.kind == "reset").count(), 1, "{events:?}");
    let before: String =
        events.iter().take_while(|event| event.kind != "reset").map(|event| event.data.as_str()).collect();
    assert!(before.contains("look"), "{before}");
    assert!(
        events.iter().any(|event| event.kind == "reset" && event.data == r#"{"Reason":"tools"}"#),
        "{events:?}"
    );
    // AGN-033 §1.3: no progress, no diagnostics in what is shown.
    assert!(events.iter().all(|event| !event.data.contains("agent_list_modes") || event.kind == "result"));
    assert!(text == answer_text(&result) && text.ends_with("Done, ünï🦀."), "{text}");
}

/// Returns the distinguishing members of statuses.
fn in_short(statuses: &[Value]) -> Vec<String> {
    let told = |status: &Value| {
        let tool = status["ToolName"].as_str().map_or_else(String::new, |name| format!(" {name}"));
        format!("{} {}.{}{tool}", status["Phase"].as_str().unwrap(), status["Attempt"], status["Round"])
    };
    statuses.iter().map(told).collect()
}

#[tokio::test]
async fn stream_reports_progress_and_the_reason_of_retractions() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = workspace_turn(
        "Look [[script: status 503 times 1; say \"Let me look.\"; call agent_list_modes {}; \
         call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]",
    );
    let (events, statuses) = streamed(&ada, &request).await.rest_with_statuses().await;
    let told = in_short(&statuses);
    assert_eq!(
        told,
        [
            "thinking 1.1",
            "retrying 1.1",
            "thinking 1.1",
            "tool 1.1 agent_list_modes",
            "waiting_for_tools 1.1"
        ],
    );
    assert!(statuses[1]["RetryAfterSeconds"].as_u64().is_some(), "{statuses:?}");
    let (_, result) = final_text_and_result(&events);
    let continuation: Value = serde_json::from_str(&result).unwrap();
    let call = &continuation["Result"]["ToolCalls"][0];
    assert_ne!(statuses[3]["ToolCallId"], call["ToolCallId"], "it is the server's call");
    let results = json!({"SessionId": request["SessionId"], "TurnId": request["TurnId"], "ToolResults": [
        {"ToolCallId": call["ToolCallId"], "ExecutionMs": 0.5, "ResultJson": "1"}]});
    let rest = ada.stream(Method::POST, TOOL_RESULTS, None, Some(&results)).await.expect("a stream");
    let (events, statuses) = rest.rest_with_statuses().await;
    assert_eq!(in_short(&statuses), ["thinking 1.2"]);
    assert_eq!(final_text_and_result(&events).0, "Read.");
}

#[tokio::test]
async fn following_connection_gets_progress_events() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("Write [[script: hang 1500ms; say \"Late.\"]]");
    let work = tokio::spawn({
        let (ada, request) = (system.client("acme", "ada"), request.clone());
        async move { ada.execute(&request).await }
    });
    system.model_called(1).await;
    let (events, statuses) = ada.follow(&request, None).await.expect("a stream").rest_with_statuses().await;
    assert_eq!(statuses, [json!({"Phase": "working", "Attempt": 1})]);
    assert_eq!(final_text_and_result(&events).0, "Late.");
    work.await.unwrap().result();
}

#[tokio::test]
async fn stream_result_carries_retry_after() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("Write [[script: status 429 retry-after 600]]");
    let (_, result) = final_text_and_result(&streamed(&ada, &request).await.rest().await);
    let result: Value = serde_json::from_str(&result).unwrap();
    let error = &result["Errors"][0];
    assert_eq!(error["ErrorCode"], "ModelRateLimited");
    assert_eq!((&error["Retry"], &error["RetryAfterSeconds"]), (&json!("new_turn"), &json!(600)));
}

#[tokio::test]
async fn link_appears_once_readable_and_works_after_reset() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let base64 = "QUJD".repeat(300);
    let request = turn(&format!(
        "Draw [[script: say \"Here: data:text/plain;base64,{base64} so far.\"; hang 2s; \
         call agent_list_modes {{}}; then; say \"Done.\"]]"
    ));
    let mut events = streamed(&ada, &request).await;
    let (mut shown, mut told) = (String::new(), Vec::new());
    while !shown.contains("so far") {
        told.push(events.next().await.expect("the text before the tool round"));
        let delta: Value = serde_json::from_str(&told.last().unwrap().data).unwrap();
        shown.push_str(delta["Text"].as_str().expect("a delta"));
    }
    let url = shown.split(['(', ')']).nth(1).unwrap();
    let read = async || {
        let link = ada.get(url).await;
        let read = reqwest::get(link.header("location").unwrap()).await.unwrap();
        (read.status().as_u16(), read.text().await.unwrap())
    };
    assert_eq!(ada.get(&turn_path(&request)).await.result()["Status"]["Id"], "pending");
    assert_eq!(read().await, (200, "ABC".repeat(300)), "while the model writes");
    told.extend(events.rest().await);
    let (text, result) = final_text_and_result(&told);
    assert_eq!((text.as_str(), answer_text(&result).as_str()), ("Done.", "Done."), "it was taken back");
    assert_eq!(read().await, (200, "ABC".repeat(300)), "after it was taken back");
}

#[tokio::test]
async fn turn_keeps_its_streaming_mode() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let script = "Read [[script: say \"Let me look.\"; call workspace_read_file {\"path\":\"a.rs\"}; then; pace 30ms; say \"It is read.\"]]";
    let results = |result: &Value| {
        let call = &result["ToolCalls"][0]["ToolCallId"];
        json!({"SessionId": result["SessionId"], "TurnId": result["TurnId"],
               "ToolResults": [{"ToolCallId": call, "ExecutionMs": 1, "ResultJson": "1"}]})
    };

    let (_, suspended) = final_text_and_result(&streamed(&ada, &workspace_turn(script)).await.rest().await);
    let suspended: Value = serde_json::from_str(&suspended).unwrap();
    assert_eq!(suspended["Result"]["Kind"], "client_tool_continuation");
    let right = results(&suspended["Result"]);
    let events = ada.stream(Method::POST, TOOL_RESULTS, None, Some(&right)).await;
    let events = events.unwrap_or_else(|answer| panic!("{}", answer.text)).rest().await;
    let (text, result) = final_text_and_result(&events);
    assert_eq!((text.as_str(), answer_text(&result).as_str()), ("It is read.", "It is read."));
    assert!(events.len() > 2, "{events:?}");

    let suspended = ada.execute(&workspace_turn(script)).await.result();
    let answer = ada.stream(Method::POST, TOOL_RESULTS, None, Some(&results(&suspended))).await;
    let Err(answer) = answer else { panic!("a turn that is not streamed") };
    assert_eq!(answer.result()["PrimaryOutputText"], "It is read.");
}

#[tokio::test]
async fn model_disconnect_ends_the_stream_with_an_error() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let breaks = (0..9).map(|events| format!("cut after {events} events"));
    let breaks = breaks.chain((1..6).map(|n| format!("reset after {} bytes", 333 * n)));
    for script in breaks.chain(["unended", "fail", "error", "malformed"].map(str::to_owned)) {
        let request = turn(&format!("Break [[script: {script}; words 4]]"));
        let stored = match ada.execute_streaming(&request, None).await {
            // Nothing was sent yet: the status can still tell.
            Err(answer) => {
                assert!(answer.status >= 500 && answer.errors().len() == 1, "{script}: {}", answer.text);
                answer.text
            }
            Ok(events) => {
                let (_, result) = final_text_and_result(&events.rest().await);
                let failed: Value = serde_json::from_str(&result).unwrap();
                assert_eq!(
                    (&failed["Successful"], &failed["Result"]),
                    (&json!(false), &Value::Null),
                    "{script}"
                );
                assert!(failed["Errors"][0]["ErrorCode"].as_str().unwrap().starts_with("Model"), "{failed}");
                result
            }
        };
        assert_eq!(ada.execute(&request).await.text, stored, "{script}");
        assert_eq!(ada.get(&turn_path(&request)).await.result()["Status"]["Id"], "failed", "{script}");
    }
}

#[tokio::test]
async fn invalid_stream_request_gets_a_json_error_with_its_status() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let bad = json!({"SessionId": "", "Instruction": 7, "Mode": "x", "Streaming": true});
    let refused = ada.execute_streaming(&bad, None).await.err().expect("a refusal");
    assert_eq!((refused.status, refused.header("content-type")), (400, Some("application/json")));
    assert!(refused.errors().len() >= 4, "{}", refused.text);
    assert_eq!(ada.execute(&bad).await.text, refused.text);

    for id in ["x", "-1", "9007199254740992"] {
        for (method, path) in
            [(Method::POST, EXECUTE.to_owned()), (Method::GET, format!("{}/stream", turn_path(&turn(""))))]
        {
            let body = if method == Method::POST { turn("Hi").to_string() } else { String::new() };
            let headers = [("last-event-id", id), ("content-type", "application/json")];
            let refused = ada.raw(method, &path, &headers, body.into_bytes()).await;
            assert_eq!((refused.status, refused.error().as_str()), (400, "ParameterInvalid"), "{id} {path}");
            assert_eq!(refused.errors()[0]["Details"], "Last-Event-ID");
        }
    }
    assert!(system.has_no_trace().await);
}

#[tokio::test]
async fn busy_session_gets_a_json_error_with_its_status() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = turn("Write [[script: say \"First words\"; hang 60s]]");
    let mut events = streamed(&ada, &first).await;
    events.next().await.expect("it runs");
    let second = turn_in(first["SessionId"].as_str().unwrap(), "me too");
    let busy = ada.execute_streaming(&second, None).await.err().expect("a refusal");
    assert_eq!((busy.status, busy.error().as_str()), (409, "SessionBusy"));
    assert!(busy.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    ada.post(&format!("{}/cancel", turn_path(&first)), String::new()).await.result();
}

fn ended(answer: &Answer) -> bool {
    answer.json()["Result"]["Status"]["Id"] == "completed"
}

#[tokio::test]
async fn client_disconnect_does_not_end_the_turn() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("Write [[script: pace 10ms; words 100]]");
    let mut events = streamed(&ada, &request).await;
    events.next().await.expect("it runs");
    drop(events);
    assert_eq!(ada.get(&turn_path(&request)).await.result()["Status"]["Id"], "pending");
    let read = ada.until(&turn_path(&request), Duration::from_secs(20), ended).await.result();
    assert_eq!(read["Status"]["Id"], "completed");
    assert_eq!(
        ada.execute(&request).await.result()["PrimaryOutputText"]
            .as_str()
            .unwrap()
            .split_whitespace()
            .count(),
        100
    );
    assert_eq!(system.model_calls().len(), 1);
}

#[tokio::test]
async fn slow_client_delays_nothing() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("Write [[script: chunk 200; repeat \"A paragraph.\\n\\n\" 60000]]");
    let events = streamed(&ada, &request).await;
    let read = ada.until(&turn_path(&request), Duration::from_secs(60), ended).await.result();
    assert_eq!(read["Status"]["Id"], "completed");
    let (text, result) = final_text_and_result(&events.rest().await);
    assert_eq!(text, answer_text(&result));
}

#[tokio::test]
async fn idle_stream_gets_keep_alive_comments() {
    let system = System::with(with(&[("STREAM_HEARTBEAT_SECONDS", "0.02")])).await;
    let ada = system.client("acme", "ada");
    let mut events = streamed(&ada, &turn("Think [[script: say \"So.\"; hang 1s; say \" Yes.\"]]")).await;
    let mut all = Vec::new();
    while let Some(event) = events.next().await {
        all.push(event);
    }
    assert!(events.comments >= 3 && events.hints == 1, "{} {}", events.comments, events.hints);
    let (text, result) = final_text_and_result(&all);
    assert_eq!((text.as_str(), answer_text(&result).as_str()), ("So. Yes.", "So. Yes."));
}

#[tokio::test]
async fn slow_response_starts_with_keep_alive_whitespace() {
    let soon = ["STREAM_HEARTBEAT_SECONDS", "KEEP_ALIVE_AFTER_SECONDS", "KEEP_ALIVE_INTERVAL_SECONDS"];
    let system = System::with(with(&soon.map(|name| (name, "0.05")))).await;
    let ada = system.client("acme", "ada");
    for script in ["delay 1s; say \"At last.\"", "delay 1s; status 400"] {
        let request = turn(&format!("Think [[script: {script}]]"));
        let late = ada.execute(&request).await;
        assert_eq!((late.status, late.header("content-type")), (200, Some("application/json")));
        assert!(late.text.starts_with("\n\n\n"), "{:?}", late.text);
        let again = ada.execute(&request).await;
        assert_eq!(late.text.trim_start(), again.text.trim_start(), "the stored response");
    }
    let request = turn("Think [[script: delay 1s; say \"At last.\"]]").to_string();
    let headers = [("content-type", "application/json"), ("accept", "text/plain")];
    let plain = ada.raw(Method::POST, EXECUTE, &headers, request.into_bytes()).await;
    assert_eq!((plain.status, plain.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    assert!(plain.text.starts_with("\n\n\n") && plain.text.trim_start() == "At last.", "{:?}", plain.text);
}

#[tokio::test]
async fn stream_wins_over_plain_text() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let mut request = turn("Say [[script: say \"Hello.\"]]");
    request["Streaming"] = json!(true);
    let headers = [("content-type", "application/json"), ("accept", "text/plain")];
    let answer = ada.raw(Method::POST, EXECUTE, &headers, request.to_string().into_bytes()).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    assert!(answer.text.contains("event: result\ndata: {\"Successful\":true"), "{}", answer.text);
}

#[tokio::test]
async fn long_answer_in_small_deltas_keeps_lease_with_one_model_call() {
    let system = System::measured(Options { lease: Some(Duration::from_secs(5)), ..options() }).await;
    let ada = system.client("acme", "ada");
    // 400 KB in deltas of four characters, and 3 MB in deltas of four thousand.
    let scripts = ["chunk 4; repeat \"QUJD\" 100000", "chunk 4096; repeat \"- a _b_ `c`\\n\" 262144"];
    for (before, script) in scripts.into_iter().enumerate() {
        let request = turn(&format!("Write [[script: {script}]]"));
        let (text, result) = final_text_and_result(&streamed(&ada, &request).await.rest().await);
        assert_eq!(text, answer_text(&result), "{script}");
        assert_eq!(system.model_calls().len(), before + 1, "{script}");
    }
}
