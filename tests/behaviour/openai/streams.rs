//! Streamed responses, and streams that are taken up again.

use futures::StreamExt;
use reqwest::Method;
use serde_json::{Value, json};

use super::{RESPONSES, create, events, id, kinds, number, path, request, streamed, text, with};
use crate::support::{Client, System};

fn streaming(input: &str) -> Value {
    with(request(input), &json!({"stream": true}))
}

/// Reads a stream until its text has `enough`, and drops the connection.
async fn read_until(client: &Client, sent: &Value, enough: &str) -> String {
    let headers = [("content-type", "application/json")];
    let response = client.request(Method::POST, RESPONSES, &headers, sent.to_string().into_bytes());
    let mut bytes = response.send().await.expect("a head").bytes_stream();
    let mut read = String::new();
    while let Some(piece) = bytes.next().await {
        read.push_str(std::str::from_utf8(&piece.expect("a piece")).expect("UTF-8"));
        if read.contains(enough) && read.ends_with("\n\n") {
            break;
        }
    }
    read
}

#[tokio::test]
async fn stream_has_every_event_in_order() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let answer = create(&ada, &streaming("Hi [[script: say \"Hello there.\"; usage 9 3]]")).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let all = events(&answer.text);
    let mut names = kinds(&all);
    names.dedup();
    assert_eq!(
        names,
        [
            "created",
            "in_progress",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "completed",
        ]
    );
    assert_eq!(streamed(&all, 0), "Hello there.");
    assert_eq!((number(&all[0]), number(&all[1])), (0, 1));
    assert_eq!(
        (&all[0]["response"]["status"], &all[0]["response"]["output"]),
        (&json!("in_progress"), &json!([]))
    );
    let response = &all.last().unwrap()["response"];
    assert_eq!((text(response).as_str(), &response["usage"]["total_tokens"]), ("Hello there.", &json!(12)));
    assert_eq!(response["id"], all[0]["response"]["id"]);
    assert_eq!(ada.get(&path(response)).await.json()["output"], response["output"]);
}

#[tokio::test]
async fn text_before_a_server_tool_is_an_item_of_its_own() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let sent = streaming(
        "Go [[script: say \"One moment.\"; hang 500ms; call agent_list_modes {}; then; say \"Done.\"]]",
    );
    let all = events(&create(&ada, &sent).await.text);
    assert_eq!((streamed(&all, 0).as_str(), streamed(&all, 1).as_str()), ("One moment.", "Done."));
    let done: Vec<_> = all.iter().filter(|event| event["type"] == "response.output_item.done").collect();
    assert_eq!(
        (&done[0]["item"]["status"], &done[1]["item"]["status"]),
        (&json!("incomplete"), &json!("completed"))
    );
    assert_eq!(text(&all.last().unwrap()["response"]), "Done.", "the response holds the answer alone");
}

#[tokio::test]
async fn stream_continues_after_every_number() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let all = events(&create(&ada, &streaming("Hi [[script: pace 10ms; words 8]]")).await.text);
    let response = all.last().unwrap()["response"].clone();
    for (n, event) in all.iter().enumerate() {
        let rest =
            ada.get(&format!("{}?stream=true&starting_after={}", path(&response), number(event))).await;
        assert_eq!(rest.status, 200, "{}", rest.text);
        let rest = events(&rest.text);
        let joined = streamed(&all[..=n], 0) + &streamed(&rest, 0);
        assert_eq!(joined, text(&response), "after {event}");
        let ends: Vec<u64> = rest.iter().rev().take(4).map(number).collect();
        let expected: Vec<u64> = all[n + 1..].iter().rev().take(4).map(number).collect();
        assert!(expected.iter().all(|number| ends.contains(number)), "{expected:?} {ends:?}");
    }
    let whole = events(&ada.get(&format!("{}?stream=true", path(&response))).await.text);
    assert_eq!((streamed(&whole, 0), kinds(&whole)[0]), (text(&response), "created"));
}

#[tokio::test]
async fn broken_stream_of_a_running_response_is_taken_up() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let sent = with(streaming("Write [[script: words 5; hang 60s; words 30]]"), &json!({"background": true}));
    let words = |count| (1..=count).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
    let whole = words(5) + &words(30);
    let seen = events(&read_until(&ada, &sent, "word3").await);
    let response = &seen[0]["response"];
    assert_eq!(ada.get(&path(response)).await.json()["status"], "in_progress");
    let after = number(seen.last().unwrap());
    let follow = format!("{}?stream=true&starting_after={after}", path(response));
    let following = ada.request(Method::GET, &follow, &[], Vec::new()).send().await.unwrap();
    system.cloud.model().unwrap().end_pauses();
    let rest = events(&following.text().await.unwrap());
    assert_eq!(streamed(&seen, 0) + &streamed(&rest, 0), whole);
    assert_eq!(kinds(&rest).last(), Some(&"completed"));
    assert_eq!(text(&ada.get(&path(response)).await.json()), whole);
    assert_eq!(system.model_calls().len(), 1);
}

#[tokio::test]
async fn failed_response_ends_its_stream() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for (script, kind, status) in [
        ("say \"Half\"; incomplete", "incomplete", "incomplete"),
        ("status 400 code invalid_prompt", "failed", "failed"),
    ] {
        let answer = create(&ada, &streaming(&format!("Hi [[script: {script}]]"))).await;
        let all = events(&answer.text);
        assert_eq!(kinds(&all).last(), Some(&kind), "{}", answer.text);
        let response = &all.last().unwrap()["response"];
        assert_eq!(response["status"], status);
        assert_eq!(ada.get(&format!("{RESPONSES}/{}", id(response))).await.json()["status"], status);
    }
}

#[tokio::test]
async fn reasoning_is_streamed_as_an_item_that_a_client_may_send_back() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let summary = json!({"reasoning": {"summary": "auto"}});
    let sent = with(streaming("Hi [[script: think \"Let me look.\"; say \"Hello there.\"]]"), &summary);
    let all = events(&create(&ada, &sent).await.text);
    let mut names = kinds(&all);
    names.dedup();
    assert_eq!(
        names[2..10],
        [
            "output_item.added",
            "reasoning_summary_part.added",
            "reasoning_summary_text.delta",
            "reasoning_summary_text.done",
            "reasoning_summary_part.done",
            "output_item.done",
            "output_item.added",
            "content_part.added",
        ]
    );
    assert!(all.windows(2).all(|pair| number(&pair[0]) < number(&pair[1])), "{all:?}");
    assert_eq!(streamed(&all, 1), "Hello there.");
    let response = &all.last().unwrap()["response"];
    assert_eq!(response["reasoning"]["summary"], "auto");
    assert_eq!(text(response), "Hello there.");
    let call = system.model_calls().pop().unwrap();
    assert_eq!(call["reasoning"], json!({"summary": "auto"}));

    let items =
        all.iter().filter(|event| event["type"] == "response.output_item.done").map(|event| &event["item"]);
    let mut input: Vec<Value> = items.cloned().collect();
    assert_eq!(
        (&input[0]["summary"][0]["text"], &input[1]["phase"]),
        (&json!("Let me look."), &json!("final_answer"))
    );
    input.push(json!({"role": "user", "content": "Next [[script: say \"Yes.\"]]"}));
    let next = create(&ada, &with(request("x"), &json!({"input": input}))).await;
    assert_eq!(text(&next.json()), "Yes.", "{}", next.text);
}
