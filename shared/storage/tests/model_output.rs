//! Model output is data (I15): it never becomes a key, a path outside its turn, or another tenant's id (I7). Real
//! flows over in-memory ports, with a model that writes anything at all.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use agent::{
    model::{Error, FunctionCall, Model, Observer, Reply, Request},
    retrieval::NoSources,
    tool::remote::NoRemoteTools,
};
use contracts::request::limits::MAX_TOOL_CALL_ID_CHARS;
use futures::FutureExt;
use proptest::{prelude::*, sample::select};
use protocol::timing::Timing;
use serde_json::{Value, json};
use storage::key::{Item, object};
use testkit::{
    build,
    client::PendingCalls,
    deployment::{ClientRequest, Queue, QueueFaults},
    ledger::Ledger,
    memory::{Objects, Table},
    schedule::{Faults, Latency, Process, ProcessId, Schedule},
};
use turns::{
    flow::{Executor, Invocation, finalize_turn},
    ports::{Adapters, AgentAdapters, NoProviders},
    stream::Writer,
};

const MINUTES: Duration = Duration::from_secs(840);

/// Returns these replies, one per request, and then an answer.
struct Anything(Mutex<VecDeque<Reply>>);

impl Model for Anything {
    async fn reply(&self, _: &Request, _: Duration, _: &mut Observer<'_>) -> Result<Reply, Error> {
        let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Ok(next.unwrap_or_else(|| reply("Done.".to_owned(), "resp".to_owned(), Vec::new())))
    }
}

fn reply(text: String, response_id: String, calls: Vec<FunctionCall>) -> Reply {
    Reply {
        response_id,
        model: "m".to_owned(),
        text,
        calls,
        is_stored: true,
        is_truncated: false,
        replaces_stream: false,
        reasoning: Vec::new(),
        hosted: Vec::new(),
        text_parts: Vec::new(),
    }
}

/// Text that tries to escape its place, or random text.
fn anything() -> impl Strategy<Value = String> {
    let tricky = [
        "",
        ".",
        "..",
        "../../globex/s/t",
        "..\\..\\x",
        "/etc/passwd",
        "a/../b.txt",
        "%2e%2e%2f",
        "O#globex#S#s",
        "TURN#t#RESULT",
        "SESSION",
        "globex",
        "files/../result.json",
        "x\0y",
        "\u{202e}txt.exe",
        "CON",
        "a#b#c",
        "https://evil.example/x",
        "{\"SessionId\":\"other\"}",
    ];
    prop_oneof![
        select(tricky.to_vec()).prop_map(str::to_owned),
        "\\PC{0,24}",
        "[a-z]{1,8}\\.[a-z]{1,4}",
        any::<char>().prop_map(|letter| letter.to_string().repeat(300)),
    ]
}

fn call() -> impl Strategy<Value = FunctionCall> {
    let publish = (anything(), anything(), anything()).prop_map(|(name, kind, contents)| {
        let media_type = if kind.len() % 2 == 0 { "text/plain".to_owned() } else { kind };
        let arguments = json!({
            "name": name, "media_type": media_type, "contents": contents, "encoding": "utf8", "description": name,
        });
        ("publish_file".to_owned(), arguments.to_string())
    });
    let modes = prop_oneof![anything(), Just("ddr_authoring".to_owned())];
    let change = (modes, anything()).prop_map(|(mode, reason)| {
        let arguments = json!({ "mode": mode, "branch": true, "reason": reason });
        ("agent_change_mode".to_owned(), arguments.to_string())
    });
    let client_call =
        anything().prop_map(|path| ("workspace_read_file".to_owned(), json!({ "path": path }).to_string()));
    let other = (anything(), anything());
    (anything(), prop_oneof![3 => publish, 1 => change, 1 => client_call, 1 => other])
        .prop_map(|(call_id, (name, arguments))| FunctionCall { call_id, name, arguments })
}

/// An answer, sometimes with an embedded file, as models write them unasked.
fn text() -> impl Strategy<Value = String> {
    let blob = (anything(), anything()).prop_map(|(name, kind)| {
        format!("{name} data:{kind};name={name};base64,{} ![{name}]", "QUJD".repeat(200))
    });
    prop_oneof![anything(), blob]
}

fn replies() -> impl Strategy<Value = Vec<Reply>> {
    let one = (text(), anything(), prop::collection::vec(call(), 1..5))
        .prop_map(|(text, response_id, calls)| reply(text, response_id, calls));
    let last = (text(), anything()).prop_map(|(text, response_id)| reply(text, response_id, Vec::new()));
    (prop::collection::vec(one, 0..4), last).prop_map(|(mut replies, last)| {
        replies.push(last);
        replies
    })
}

/// Runs a turn with these replies to its end. Returns the answer and the stored state.
fn run(replies: Vec<Reply>, sent: &ClientRequest) -> (Value, Table, Objects) {
    let reply_count = replies.len();
    let schedule: Schedule<()> = Schedule::new(1, Latency::Instant, false);
    let clock = schedule.clock().clone();
    let ledger = Ledger::new(clock.clone());
    let (table, objects) = (Table::new(ledger.clone()), Objects::new(ledger.clone()));
    let process = Process::new(ProcessId(0), "one".to_owned(), clock.clone(), ledger, Faults::None);
    let base = || Adapters {
        store: table.clone(),
        payloads: objects.clone(),
        host: process.clone(),
        timing: Timing::default(),
    };
    let executor = Executor::new(AgentAdapters {
        base: base(),
        queue: Queue::new(clock, QueueFaults::RELIABLE),
        model: Anything(Mutex::new(replies.into())),
        retrieval: NoSources,
        remote_tools: NoRemoteTools,
        config: build::config(),
    });
    let invocation = Invocation::with_budget(MINUTES);
    let first = poll_to_end(executor.execute(&sent.caller, &sent.request, &invocation, &Writer::silent()));
    let mut body = first.unwrap().to_bytes();
    let mut continuations = 0;
    while let Some(calls) = PendingCalls::parse(&body) {
        continuations += 1;
        assert!(continuations <= reply_count, "the same continuation again and again: {calls:?}");
        assert!(calls.ids.iter().all(|id| id.chars().count() <= MAX_TOOL_CALL_ID_CHARS), "{calls:?}");
        let results = calls.correct_request("ann");
        let next = poll_to_end(executor.resume(&sent.caller, &results, &invocation, &Writer::silent()));
        body = next.unwrap().to_bytes();
    }
    assert!(poll_to_end(finalize_turn(&base(), &NoProviders, &sent.turn())).unwrap().is_done());
    (serde_json::from_slice(&body).unwrap(), table, objects)
}

/// In-memory ports never wait, so a flow over them only yields for a moment.
fn poll_to_end<T>(flow: impl Future<Output = T>) -> T {
    let mut flow = pin!(flow);
    let moments = 0..1_000;
    moments.map(|_| flow.as_mut().now_or_never()).find_map(|poll_to_end| poll_to_end).unwrap()
}

/// True for a path segment without special meaning.
fn is_segment(segment: &str) -> bool {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte);
    !segment.is_empty() && segment != "." && segment != ".." && segment.bytes().all(unreserved)
}

#[test]
fn repeated_call_ids_across_rounds_still_finish() {
    let round = || {
        let arguments = json!({ "path": "a" }).to_string();
        let call =
            FunctionCall { call_id: "a".to_owned(), name: "workspace_read_file".to_owned(), arguments };
        reply(String::new(), "resp".to_owned(), vec![call])
    };
    let (body, ..) = run(vec![round(), round(), round()], &ClientRequest::new("ann", "s", "t", "Go"));
    assert_eq!(body["Result"]["PrimaryOutputText"], "Done.");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn model_output_stays_within_its_turn(replies in replies()) {
        let sent = ClientRequest::new("ann", "s", "t", "Go");
        let key = sent.turn();
        let (body, table, objects) = run(replies, &sent);

        for payload in objects.stored().keys() {
            prop_assert_eq!(&payload.turn, &key);
            let path = object(payload);
            let within = path.strip_prefix("org/s/t/");
            prop_assert!(within.is_some_and(|path| path.split('/').all(is_segment)), "{}", path);
            prop_assert!(path.len() <= 1_024, "the bucket takes no longer key: {}", path);
        }

        let contents = table.contents();
        prop_assert_eq!(contents.sessions.keys().collect::<Vec<_>>(), [&key.session]);
        prop_assert_eq!(contents.heads.keys().collect::<Vec<_>>(), [&key]);
        let session = &contents.sessions[&key.session];
        prop_assert!(["general", "ddr_authoring"].contains(&session.mode.as_str()), "{}", session.mode);
        for ((of, place), change) in &contents.modes {
            prop_assert_eq!((of, &change.key, place.sequence), (&key.session, &key, 1));
            let item = Item::ModeChange(of, *place);
            let expected = format!("MODE#0000000001#{:x}", place.number);
            prop_assert_eq!((item.pk(), item.sk()), ("O#org#S#s".to_owned(), expected));
        }

        if body["Successful"] == json!(true) {
            let result = &body["Result"];
            prop_assert_eq!((&result["SessionId"], &result["TurnId"]), (&json!("s"), &json!("t")));
            let stored: Vec<String> = objects.stored().keys().map(object).collect();
            for file in result["Files"].as_array().into_iter().flatten() {
                let url = file["Url"].as_str().unwrap();
                let path = url.strip_prefix("api/ai/agent/sessions/s/turns/t/payloads/").unwrap();
                let segments: Vec<&str> = path.split('/').collect();
                prop_assert_eq!((segments.len(), segments[0]), (3, "files"));
                prop_assert!(segments.iter().all(|segment| is_segment(segment)), "{}", url);
                prop_assert!(stored.contains(&format!("org/s/t/{path}")), "{} has no object", url);
            }
        }
    }
}
