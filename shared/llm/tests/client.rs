//! The client against the mock model, over the loopback.
//!
//! Uses real time, since a paused clock would run ahead of the sockets. Long delays are tested as pure decisions, next to
//! the code.

// Clippy allows `unwrap` only in functions marked as tests, and not in their helpers.
#![allow(clippy::unwrap_used)]

use std::sync::Mutex;
use std::time::Duration;

use agent::model::model_settings::ModelSettings;
use agent::model::{
    CallMeter, Chain, Instruction, Message, Model, Observer, RawPayloads, Reply, Request, Tool, ToolOutput,
    Wire,
};
use contracts::{Usage, response::ToolOutcome};
use llm::client::Timeouts;
use llm::retry::Policy;
use llm::{ApiKey, Client, Config, Error};
use mock_model::{Provider, Recorder};
use tokio::net::TcpListener;

const DEADLINE: Duration = Duration::from_secs(20);

/// A mock model on a free port, and its client.
struct Upstream {
    recorder: Recorder,
    client: Client,
}

impl Upstream {
    async fn new() -> Self {
        Self::with_config(Config::default()).await
    }

    async fn with_config(config: Config) -> Self {
        Self::with_provider(Provider::default(), config).await
    }

    async fn with_provider(provider: Provider, config: Config) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1/", listener.local_addr().unwrap());
        let recorder = Recorder::default();
        tokio::spawn(mock_wires::serve(listener, provider, recorder.clone()));
        let config = Config { base_url: base, ..config };
        let client = Client::new(config, ApiKey::new("key")).unwrap();
        Self { recorder, client }
    }

    async fn ask(&self, instruction: &str) -> Result<Reply, Error> {
        self.send(&request(instruction)).await
    }

    async fn send(&self, request: &Request) -> Result<Reply, Error> {
        self.send_observed(request).await.0
    }

    /// Returns the reply, the usage and the captured bodies.
    async fn send_observed(&self, request: &Request) -> (Result<Reply, Error>, Option<Usage>, RawPayloads) {
        let mut text = String::new();
        let mut deltas = |delta: &str| text.push_str(delta);
        let mut observer = Observer::new(&mut deltas).with_raw_payloads(true);
        let reply = self.client.reply(request, DEADLINE, &mut observer).await;
        let (usage, raw) = (observer.usage, observer.raw.unwrap());
        if let Ok(reply) = &reply
            && !reply.replaces_stream
        {
            assert_eq!(reply.text, text);
        }
        (reply, usage, raw)
    }
}

fn request(instruction: &str) -> Request {
    Request {
        provider: None,
        model: "scripted".to_owned(),
        settings: ModelSettings::default(),
        identifiers: None,
        store: true,
        chain: Chain::Initial {
            system: "You are an agent.".to_owned(),
            parts: Vec::new(),
            history: Vec::new(),
        },
        message: Message {
            instruction: Instruction::User(instruction.to_owned()),
            ..Message::in_mode("general")
        },
        tools: vec![Tool {
            name: "look".to_owned(),
            description: "Looks something up.".to_owned(),
            parameters: serde_json::json!({ "type": "object", "properties": {} }),
            strict: false,
        }],
        tool_choice: None,
        wants_reasoning: false,
    }
}

fn after(reply: &Reply) -> Chain {
    Chain::Continues { previous_response_id: reply.response_id.clone() }
}

#[tokio::test]
async fn reply_has_text_model_and_usage() {
    let upstream = Upstream::new().await;
    let request = request(r#"[[script: say "One two."; say " Three."; usage 100 20 cached 5 reasoning 7]]"#);
    let (reply, usage, raw) = upstream.send_observed(&request).await;
    let reply = reply.unwrap();
    assert_eq!(reply.text, "One two. Three.");
    assert_eq!(reply.model, "scripted");
    let usage = usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (100, 20));
    assert_eq!((usage.cached_tokens, usage.reasoning_tokens), (Some(5), Some(7)));
    let sent: serde_json::Value = serde_json::from_slice(&raw.request).unwrap();
    assert_eq!(sent, upstream.recorder.bodies()[0], "the captured request is the sent one");
    let received: serde_json::Value = serde_json::from_slice(&raw.response).unwrap();
    assert_eq!((&received["id"], &received["status"]), (&reply.response_id.into(), &"completed".into()));
}

/// Returns the tokens of input and output that count, and the part of them that is estimated.
async fn counted(upstream: &Upstream, instruction: &str) -> Option<(u64, u64, u64)> {
    let mut deltas = |_: &str| {};
    let mut observer = Observer::new(&mut deltas).with_meter(CallMeter::new(30));
    let _ = upstream.client.reply(&request(instruction), DEADLINE, &mut observer).await;
    let metered = observer.meter.usage()?;
    Some((metered.usage.prompt_tokens, metered.usage.completion_tokens, metered.estimated_tokens))
}

#[tokio::test]
async fn usage_that_the_provider_does_not_tell_is_estimated() {
    for wire in [Wire::Responses, Wire::ChatCompletions] {
        let config = Config { wire, retry: Policy { retries: 0, ..Policy::default() }, ..Config::default() };
        let upstream = Upstream::with_config(config).await;
        for end in ["unended", "no usage", "usage 0 0"] {
            let script = format!("[[script: words 40; {end}]]");
            assert_eq!(counted(&upstream, &script).await, Some((30, 40, 70)), "{wire:?} {end}");
        }
        assert_eq!(counted(&upstream, "[[script: usage 100 20; say \"Done.\"]]").await, Some((100, 20, 0)));
        assert_eq!(counted(&upstream, "[[script: status 500]]").await, None, "a refusal costs nothing");
        assert_eq!(counted(&upstream, "[[script: drop]]").await, None, "as does silence");
    }
}

#[tokio::test]
async fn failed_and_incomplete_replies_report_usage() {
    let upstream = Upstream::new().await;
    for end in ["fail server_error", "incomplete", "incomplete content_filter"] {
        let request = request(&format!("[[script: say \"Half.\"; usage 100 20; {end}]]"));
        let (reply, usage, _) = upstream.send_observed(&request).await;
        assert!(reply.is_err() || end == "incomplete", "{end}");
        assert_eq!(usage.map(|usage| usage.total_tokens), Some(120), "{end}");
    }
    let (reply, usage, raw) = upstream.send_observed(&request("[[script: status 400 code some_code]]")).await;
    assert_eq!((reply.unwrap_err(), usage), (Error::Rejected { status: 400 }, None));
    let refused: serde_json::Value = serde_json::from_slice(&raw.response).unwrap();
    assert_eq!((&refused["Status"], &refused["Body"]["error"]["code"]), (&400.into(), &"some_code".into()));
}

#[tokio::test]
async fn tool_round_and_next_turn_continue_the_chain() {
    let upstream = Upstream::new().await;
    let called = upstream
        .ask(r#"[[script: say "Looking."; call look {"at":1}; call look {"at":2}; then; say "Found."]]"#)
        .await
        .unwrap();
    assert_eq!(called.text, "Looking.");
    assert_eq!(called.calls.len(), 2);

    let mut results = request("");
    results.message.instruction = Instruction::ToolResults;
    results.chain = after(&called);
    let output = |call: &agent::model::FunctionCall| ToolOutput {
        call: call.clone(),
        outcome: ToolOutcome::ResultJson("{}".to_owned()),
    };
    results.message.tool_outputs = called.calls.iter().map(output).collect();
    let answered = upstream.send(&results).await.unwrap();
    assert_eq!(answered.text, "Found.");

    let mut next = request("And now?");
    next.chain = after(&answered);
    let reply = upstream.send(&next).await.unwrap();
    assert!(reply.text.contains("One turn of this chain came before."), "{}", reply.text);
}

#[tokio::test]
async fn rejected_chained_request_is_chain_lost() {
    let upstream = Upstream::new().await;
    let called = upstream.ask("[[script: call look {}]]").await.unwrap();
    let mut unanswered = request("And now?");
    unanswered.chain = after(&called);
    assert_eq!(upstream.send(&unanswered).await, Err(Error::ChainLost));
    let mut gone = request("And now?");
    gone.chain = Chain::Continues { previous_response_id: "resp_gone".to_owned() };
    assert_eq!(upstream.send(&gone).await, Err(Error::ChainLost));
}

#[tokio::test]
async fn stateless_providers_are_detected_by_the_second_request() {
    for provider in Provider::all() {
        let keeps = ["openai", "azure", "lmstudio"].contains(&provider.name());
        let upstream = Upstream::with_provider(provider, Config::default()).await;
        let first = upstream.ask("First.").await.unwrap();
        // Providers that echo neither member are detected by the next request.
        let silent = ["vllm", "llamacpp"].contains(&provider.name());
        assert_eq!(first.is_stored, keeps || silent, "{provider}");
        let mut second = request("Second.");
        second.chain = after(&first);
        let second = upstream.send(&second).await;
        match keeps {
            true => assert!(second.unwrap().is_stored, "{provider}"),
            false => assert_eq!(second, Err(Error::ChainLost), "{provider}"),
        }
        assert_eq!(upstream.recorder.count(), 2, "{provider}");
    }
    let local = Request { store: false, ..request("Hello.") };
    assert!(!Upstream::new().await.send(&local).await.unwrap().is_stored, "the request was not stored");
}

#[tokio::test]
async fn every_providers_context_overflow_is_recognized() {
    for provider in Provider::all().filter(|provider| provider.name() != "ollama") {
        let upstream = Upstream::with_provider(provider, Config::default()).await;
        assert_eq!(upstream.ask("[[script: overflow]]").await, Err(Error::ContextTooLong), "{provider}");
        assert_eq!(upstream.recorder.count(), 1, "{provider}");
        let unknown = Request { model: "missing-1".to_owned(), ..request("Hello.") };
        assert_eq!(upstream.send(&unknown).await, Err(Error::ModelNotFound), "{provider}");
    }
}

#[tokio::test]
async fn permanent_errors_are_not_retried() {
    let upstream = Upstream::new().await;
    let limited = Error::RateLimited { retry_after: Some(Duration::from_secs(600)) };
    for (script, expected) in [
        ("status 400 code context_length_exceeded", Error::ContextTooLong),
        ("status 401", Error::Unauthenticated),
        ("status 422", Error::Rejected { status: 422 }),
        ("status 429 code insufficient_quota", Error::QuotaExceeded),
        ("status 429 retry-after 600", limited),
        ("status 500 x-should-retry false", Error::UNAVAILABLE),
    ] {
        upstream.recorder.clear();
        assert_eq!(upstream.ask(&format!("[[script: {script}]]")).await, Err(expected));
        assert_eq!(upstream.recorder.count(), 1, "{script}");
    }
}

#[tokio::test]
async fn started_response_is_never_retried() {
    let upstream = Upstream::new().await;
    for (script, expected) in [
        ("fail", Error::UNAVAILABLE),
        ("fail rate_limit_exceeded", Error::RateLimited { retry_after: None }),
        ("error", Error::UNAVAILABLE),
        ("incomplete content_filter", Error::ContentFiltered),
        ("malformed", Error::Malformed),
        ("unended", Error::Malformed),
        ("cut after 6 events", Error::Malformed),
        ("cut after 2500 bytes", Error::Malformed),
        ("reset after 6 events", Error::Malformed),
    ] {
        upstream.recorder.clear();
        let reply = upstream.ask(&format!("[[script: say \"Half of it.\"; {script}]]")).await;
        assert_eq!(reply, Err(expected), "{script}");
        assert_eq!(upstream.recorder.count(), 1, "{script}");
    }
}

#[tokio::test]
async fn failure_before_any_output_is_retried() {
    for script in
        ["fail", "fail rate_limit_exceeded", "error", "cut after 2 events", "reset after 2 events", "unended"]
    {
        let config = Config {
            retry: Policy { initial_backoff: Duration::from_millis(1), ..Policy::default() },
            ..Config::default()
        };
        let upstream = Upstream::with_config(config).await;
        let reply = upstream.ask(&format!("[[script: usage 100 20; {script}]]")).await;
        assert!(reply.is_err(), "{script}");
        assert_eq!(upstream.recorder.count(), 3, "{script}");
    }
}

#[tokio::test]
async fn empty_reply_is_retried_once() {
    let upstream = Upstream::new().await;
    for script in ["quirk nothing", "say \"  \""] {
        upstream.recorder.clear();
        let request = request(&format!("[[script: {script}; usage 100 20]]"));
        let (reply, usage, _) = upstream.send_observed(&request).await;
        assert_eq!(reply, Err(Error::Empty), "{script}");
        assert_eq!(usage.map(|usage| usage.total_tokens), Some(240), "{script}: both were billed");
        assert_eq!(upstream.recorder.count(), 2, "{script}");
    }
}

#[tokio::test]
async fn paid_reply_survives_malformed_details() {
    let upstream = Upstream::new().await;
    for quirk in ["odd-usage", "no-id", "no-type", "no-blank-line", "json"] {
        let reply = upstream.ask(&format!("[[script: say \"Hello.\"; quirk {quirk}]]")).await;
        assert_eq!(reply.map(|reply| reply.text).as_deref(), Ok("Hello."), "{quirk}");
    }
    let restated = upstream.ask(r#"[[script: say "Shown."; finally "Meant."; as "m-2026"]]"#).await.unwrap();
    assert_eq!(
        (restated.text.as_str(), restated.replaces_stream, restated.model.as_str()),
        ("Meant.", true, "m-2026")
    );
    let cut = upstream.ask(r#"[[script: say "Half"; incomplete]]"#).await.unwrap();
    assert_eq!((cut.text.as_str(), cut.is_truncated), ("Half", true));
    for quirk in ["object-arguments", "no-call-id", "same-call-id", "null-content"] {
        let script =
            format!(r#"[[script: say "a"; call look {{"at":1}}; call look {{"at":2}}; quirk {quirk}]]"#);
        let reply = upstream.ask(&script).await.unwrap();
        let arguments: Vec<&str> = reply.calls.iter().map(|call| call.arguments.as_str()).collect();
        assert_eq!(arguments, [r#"{"at":1}"#, r#"{"at":2}"#], "{quirk}");
        let ids: std::collections::BTreeSet<&str> =
            reply.calls.iter().map(|call| call.call_id.as_str()).collect();
        assert_eq!(ids.len(), 2, "{quirk}");
        assert_eq!(reply.is_stored, !quirk.ends_with("call-id"), "{quirk}");
    }
}

#[tokio::test]
async fn open_breaker_rejects_calls() {
    let breaker = breaker::Policy { failures: 2, pause: Duration::from_secs(600) };
    let config = Config { breaker, ..Config::default() };
    let upstream = Upstream::with_config(config).await;
    let down = "[[script: status 503 x-should-retry false]]";
    for _ in 0..2 {
        assert_eq!(upstream.ask(down).await, Err(Error::UNAVAILABLE));
    }
    let refused = upstream.ask("Hello.").await.unwrap_err();
    let remaining = refused.retry_after().unwrap();
    assert!(remaining > Duration::from_secs(500) && remaining <= breaker.pause, "{remaining:?}");
    assert_eq!(upstream.recorder.count(), 2);
}

#[tokio::test]
async fn call_stops_at_the_total_timeout() {
    let timeouts = Timeouts { total: Duration::from_millis(300), ..Timeouts::default() };
    let upstream = Upstream::with_config(Config { timeouts, ..Config::default() }).await;
    let steady = upstream.ask("[[script: pace 50ms; words 1000]]").await;
    assert_eq!(steady, Err(Error::TimedOut), "it never falls silent and never ends");
}

#[tokio::test]
async fn unknown_events_are_skipped() {
    let upstream = Upstream::new().await;
    let reply = upstream.ask(r#"[[script: unknown event; say "ok"]]"#).await.unwrap();
    assert_eq!(reply.text, "ok");
}

#[tokio::test]
async fn silence_ends_at_the_timeout_or_the_deadline() {
    let soon = Duration::from_millis(50);
    let timeouts = Timeouts { first_byte: soon, idle: soon, ..Timeouts::default() };
    let upstream = Upstream::with_config(Config { timeouts, ..Config::default() }).await;
    for script in ["silent", "delay 5s", r#"say "Half."; hang 5s; say "ok""#] {
        let reply = upstream.ask(&format!("[[script: {script}]]")).await;
        assert_eq!(reply, Err(Error::TimedOut), "{script}");
    }
    let patient = Upstream::new().await;
    for script in ["silent", "delay 5s", "status 500 retry-after 1"] {
        let request = request(&format!("[[script: {script}]]"));
        let reply = patient.client.reply(&request, soon, &mut Observer::new(&mut |_| {})).await;
        let timed_out = matches!(reply, Err(Error::TimedOut | Error::Unavailable { .. }));
        assert!(timed_out, "{script}");
    }
}

#[tokio::test]
async fn dropping_a_call_cancels_it_upstream() {
    let upstream = Upstream::new().await;
    let request = request(r#"[[script: say "Half."; hang 5m]]"#);
    let (first_delta, received) = tokio::sync::oneshot::channel();
    let mut first_delta = Some(first_delta);
    let mut deltas = |_: &str| {
        first_delta.take().map(|sender| sender.send(()));
    };
    let mut observer = Observer::new(&mut deltas);
    let call = upstream.client.reply(&request, DEADLINE, &mut observer);
    tokio::select! {
        _ = call => panic!("the call ended"),
        _ = received => {}
    }
    let abandoned = async {
        while upstream.recorder.abandoned() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, abandoned).await.unwrap();
}

#[tokio::test]
async fn calls_share_a_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let accepted = std::sync::Arc::new(Mutex::new(0));
    let counted = accepted.clone();
    // A proxy that counts connections.
    let model = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let behind = model.local_addr().unwrap();
    tokio::spawn(mock_wires::serve(model, Provider::default(), Recorder::default()));
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            *counted.lock().unwrap() += 1;
            tokio::spawn(async move {
                let mut far = tokio::net::TcpStream::connect(behind).await.unwrap();
                tokio::io::copy_bidirectional(&mut near, &mut far).await
            });
        }
    });
    let config = Config { base_url: base, ..Config::default() };
    let client = Client::new(config, ApiKey::new("key")).unwrap();
    for _ in 0..5 {
        client.reply(&request("Hello."), DEADLINE, &mut Observer::new(&mut |_| {})).await.unwrap();
    }
    assert_eq!(*accepted.lock().unwrap(), 1);
}

#[tokio::test]
async fn request_accepts_event_streams_and_always_streams() {
    let upstream = Upstream::new().await;
    upstream.ask("Hello.").await.unwrap();
    let requests = upstream.recorder.requests();
    let request = requests.first().unwrap();
    let header = |name: &str| request.pointer(&format!("/headers/{name}")).cloned();
    assert_eq!(header("accept"), Some("text/event-stream".into()));
    assert_eq!(header("content-type"), Some("application/json".into()));
    assert_eq!(request.pointer("/body/stream"), Some(&true.into()));
}

#[test]
fn invalid_base_url_is_named_in_the_error() {
    for base in ["", "api.example.com", "ftp://example.com"] {
        let config = Config { base_url: base.to_owned(), ..Config::default() };
        let client = Client::new(config, ApiKey::new("key"));
        assert!(client.is_err_and(|error| error.to_string().contains("base URL")), "{base}");
    }
}
