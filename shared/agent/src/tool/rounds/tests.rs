use std::collections::HashSet;

use contracts::{
    FileAddress,
    id::{OrgId, SessionId, TurnId},
    response::ToolOutcome,
};
use protocol::id::{SessionKey, TurnKey};

use super::*;
use crate::model::{FunctionCall, HostedCall, MessagePhase, Reasoning, ReplyItem, TextPart, Wire};

fn called(id: &str, result: &str) -> ToolCallRecord {
    ToolCallRecord {
        call_id: id.to_owned(),
        provider_id: None,
        name: "look".to_owned(),
        arguments: "{}".to_owned(),
        outcome: Some(ToolOutcome::ResultJson(result.to_owned())),
        ran_by: None,
        connection: None,
        execution_ms: None,
        files: CallFiles::default(),
        approval: None,
    }
}

fn round(calls: Vec<ToolCallRecord>) -> Round {
    Round { calls, ..Round::default() }
}

fn thought(calls_before: usize, id: &str) -> Reasoning {
    Reasoning { calls_before, id: id.to_owned(), summary: Vec::new(), encrypted: "gAAAA".to_owned() }
}

fn searched(calls_before: usize, reasoning_before: usize, id: &str) -> HostedCall {
    HostedCall { calls_before, reasoning_before, item: serde_json::json!({ "id": id }) }
}

fn turn_key(turn: &str) -> TurnKey {
    let session = SessionKey { org: OrgId::new("acme").unwrap(), session: SessionId::new("s").unwrap() };
    TurnKey { session, turn: TurnId::new(turn).unwrap() }
}

fn target(provider: &str, wire: Wire) -> ReplayTarget<'_> {
    ReplayTarget { model: "m", provider, wire, includes_reasoning: true }
}

/// A round of a reply from provider `p`, as it is recorded now.
fn recorded(turn: &str, calls: &[(&str, &str, &str)]) -> Round {
    let received = calls.iter().map(|(id, name, arguments)| FunctionCall {
        call_id: (*id).to_owned(),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    });
    let mut calls = record_calls(received.collect(), &[], &turn_key(turn), 1);
    for call in &mut calls {
        call.outcome = Some(ToolOutcome::ResultJson("1".to_owned()));
    }
    let (model, provider, wire) = ("m".to_owned(), "p".to_owned(), Some(Wire::ChatCompletions));
    Round {
        message: AssistantMessage { model, provider, wire, ..Default::default() },
        calls,
        ..Round::default()
    }
}

/// The calls of rounds as a request has them.
fn replayed(rounds: &[Round], target: ReplayTarget<'_>) -> Vec<FunctionCall> {
    let mut ids = CallIds::default();
    let calls = rounds.iter().flat_map(|round| {
        let (items, outputs) = ids.replay(round, target);
        let calls: Vec<_> = items
            .into_iter()
            .filter_map(|item| match item {
                ReplyItem::Call(call) => Some(call),
                _ => None,
            })
            .collect();
        assert!(outputs.iter().map(|output| &output.call).eq(&calls), "each call is answered");
        calls
    });
    calls.collect()
}

fn ids(calls: &[FunctionCall]) -> Vec<&str> {
    calls.iter().map(|call| call.call_id.as_str()).collect()
}

#[test]
fn call_ids_are_ours_and_differ_within_a_turn() {
    let call = |id: &str| called(id, "").to_call();
    let before = [round(record_calls(vec![call("a")], &[], &turn_key("t"), 2))];
    let records = record_calls(["a", "a", "b"].map(call).to_vec(), &before, &turn_key("t"), 2);
    let own: HashSet<&str> =
        before[0].calls.iter().chain(&records).map(|call| call.call_id.as_str()).collect();
    assert_eq!(own.len(), 4, "{own:?}");
    assert!(own.iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())));
    assert_eq!(records.iter().map(ToolCallRecord::provider_id).collect::<Vec<_>>(), ["a", "a", "b"]);
    assert_eq!(records, record_calls(["a", "a", "b"].map(call).to_vec(), &before, &turn_key("t"), 2));
}

#[test]
fn provider_gets_its_own_ids_back_and_others_get_ours() {
    let signed = format!("call_1__thought__{}+/=", "Q".repeat(4_600));
    let rounds = [
        recorded("t1", &[(&signed, "look", "{}"), ("functions.look:0", "look", "{}")]),
        recorded("t2", &[("functions.look:0", "look", "{}")]),
    ];
    let own: Vec<&str> =
        rounds.iter().flat_map(|round| &round.calls).map(|call| call.call_id.as_str()).collect();
    let author = replayed(&rounds, target("p", Wire::ChatCompletions));
    assert_eq!(ids(&author), [&signed, "functions.look:0", own[2]], "a repeated id is replaced by ours");
    for other in [target("q", Wire::ChatCompletions), target("p", Wire::BedrockConverse)] {
        assert_eq!(ids(&replayed(&rounds, other)), own);
    }
    let outputs = rounds[0].outputs();
    assert_eq!(outputs[0].call.call_id, signed, "a chain continues with the provider's id");
}

#[test]
fn ids_of_older_records_stay_apart_on_every_wire() {
    let old = |id: &str| {
        let mut round = round(vec![called(id, "1")]);
        round.message.provider = "p".to_owned();
        round
    };
    let rounds = [old("call.1"), old("call:1"), old("call_1"), old("call_1")];
    let author = replayed(&rounds, target("p", Wire::ChatCompletions));
    assert_eq!(ids(&author)[..3], ["call.1", "call:1", "call_1"]);
    for replayed in [author, replayed(&rounds, target("q", Wire::BedrockConverse))] {
        assert_eq!(ids(&replayed).into_iter().collect::<HashSet<_>>().len(), 4, "{replayed:?}");
    }
}

#[test]
fn invented_names_become_valid_and_stay_apart() {
    let long = "x".repeat(65);
    let invented =
        ["functions.look", "functions:look", "m\u{fc}nze", &long, "", "look now", "browser.tabs.open"];
    let calls: Vec<_> = invented.iter().map(|name| ("a", *name, "{}")).collect();
    let sent = replayed(&[recorded("t", &calls)], target("p", Wire::AnthropicMessages));
    let names: HashSet<&str> = sent.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names.len(), invented.len(), "{names:?}");
    let is_valid = |name: &&str| {
        (1..=64).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    assert!(names.iter().all(is_valid), "{names:?}");
    let valid = "a".repeat(64);
    assert_eq!(
        replayed(&[recorded("t", &[("a", &valid, "{}")])], target("p", Wire::Responses))[0].name,
        valid
    );
}

#[test]
fn arguments_that_are_no_object_become_one() {
    let deep = format!("{}1{}", "{\"a\":".repeat(70), "}".repeat(70));
    for odd in ["[1]", "null", "\"x\"", r#""{\"a\":1}""#, "1", "{", "NaN", r#"{"a":"\ud800"}"#, &deep] {
        let sent = replayed(&[recorded("t", &[("a", "look", odd)])], target("p", Wire::Responses));
        let parsed: serde_json::Value = serde_json::from_str(&sent[0].arguments).unwrap();
        assert_eq!(parsed, serde_json::json!({ "malformed": odd }));
    }
    for (written, expected) in [(" ", "{}"), (r#"{ "a": 1.50 }"#, r#"{ "a": 1.50 }"#)] {
        let sent = replayed(&[recorded("t", &[("a", "look", written)])], target("p", Wire::Responses));
        assert_eq!(sent[0].arguments, expected);
    }
}

#[test]
fn newest_rounds_are_complete_next_truncated_older_dropped() {
    let long = "x".repeat(6_000);
    let rounds: Vec<Round> = (0..4).map(|n| round(vec![called(&format!("c{n}"), &long)])).collect();
    assert_eq!(within_bytes(rounds.clone(), 1 << 20), rounds, "what fits stays as it is");
    let newest = within_bytes(rounds, 16_800);
    let lengths: Vec<usize> = newest.iter().map(Round::size).collect();
    assert_eq!(newest.last().unwrap().calls[0].call_id, "c3");
    assert!(matches!(lengths.as_slice(), [truncated, 6_008, 6_008] if *truncated < 4_200), "{lengths:?}");
}

#[test]
fn truncated_value_names_file_with_complete_value() {
    let long = "x".repeat(MAX_INLINE_VALUE_BYTES + 1);
    let complete = round(vec![called("long", &long), called("short", &"y".repeat(MAX_INLINE_VALUE_BYTES))]);
    let brief = complete.brief().brief();
    assert!(brief.has_truncated_values());
    assert_eq!(brief.calls[0].long_value_files().outcome, Some(FileAddress::hash_bytes(long.as_bytes())));
    assert_eq!(brief.calls[0].long_value_files(), complete.calls[0].long_value_files());
    assert_eq!(brief.calls[1].long_value_files(), CallFiles::default());
}

#[test]
fn truncated_arguments_are_valid_json() {
    let mut call = called("c", "1");
    call.arguments = format!("{{\"text\":\"{}\"}}", "ä".repeat(6_000));
    let brief = round(vec![call]).brief();
    let arguments: serde_json::Value = serde_json::from_str(&brief.calls[0].arguments).unwrap();
    assert!(arguments["cut"].as_str().unwrap().contains("[cut here:"));
}

#[test]
fn reply_items_keep_the_places_of_texts_and_of_a_blank_between_thoughts() {
    let part = |calls_before, reasoning_before, start| TextPart {
        calls_before,
        reasoning_before,
        start,
        phase: None,
    };
    let message = AssistantMessage {
        text: "\n\n\n\nLook.\n\nThen.".to_owned(),
        text_parts: vec![part(0, 1, 0), part(0, 2, 2), part(1, 2, 9)],
        reasoning: vec![thought(0, "a"), thought(0, "b")],
        model: "m".to_owned(),
        provider: "p".to_owned(),
        ..AssistantMessage::default()
    };
    let reply = Round { message, calls: vec![called("c1", "1"), called("c2", "2")], ..Round::default() };
    let shown = |provider| {
        let (items, _) = CallIds::default().replay(&reply, target(provider, Wire::AnthropicMessages));
        let shown = items.into_iter().map(|item| match item {
            ReplyItem::Text { text, .. } => text,
            ReplyItem::Reasoning(thought) => thought.id,
            ReplyItem::Call(_) => "call".to_owned(),
            ReplyItem::Hosted(_) => "hosted".to_owned(),
        });
        shown.collect::<Vec<_>>()
    };
    assert_eq!(shown("p"), ["a", "\n\n", "b", "Look.", "call", "Then.", "call"]);
    assert_eq!(shown("q"), ["Look.", "call", "Then.", "call"]);
}

#[test]
fn phases_of_texts_are_replayed_whatever_is_truncated() {
    let (commentary, answer) = (Some(MessagePhase::Commentary), Some(MessagePhase::FinalAnswer));
    let phases = |round: &Round| {
        let (items, _) = CallIds::default().replay(round, target("other", Wire::Responses));
        let phases = items.into_iter().filter_map(|item| match item {
            ReplyItem::Text { text, phase } => Some((text.len() < 10, phase)),
            _ => None,
        });
        phases.collect::<Vec<_>>()
    };
    for (first, shown, brief) in [
        (
            "Look.".to_owned(),
            vec![(true, commentary), (true, answer)],
            vec![(true, commentary), (true, answer)],
        ),
        ("a".repeat(6_000), vec![(false, commentary), (true, answer)], vec![(false, answer)]),
    ] {
        let part = |start, phase| TextPart { calls_before: 0, reasoning_before: 0, start, phase };
        let message = AssistantMessage {
            text: format!("{first}\n\nDone."),
            text_parts: vec![part(0, commentary), part(first.len(), answer)],
            ..AssistantMessage::default()
        };
        let round = Round { message, calls: vec![called("c1", "1")], ..Round::default() };
        assert_eq!((phases(&round), phases(&round.brief())), (shown, brief));
    }
}

#[test]
fn reply_items_keep_order_and_reasoning_goes_to_its_author() {
    let message = AssistantMessage {
        text_parts: Vec::new(),
        text_file: None,
        text: "Let me look.".to_owned(),
        reasoning: vec![thought(0, "rs_1"), thought(1, "rs_2")],
        hosted: vec![
            searched(0, 0, "ws_0"),
            searched(0, 1, "ws_1"),
            searched(1, 1, "ws_2"),
            searched(2, 2, "ws_3"),
        ],
        model: "m".to_owned(),
        provider: "p".to_owned(),
        wire: None,
    };
    let reply = Round { message, calls: vec![called("c1", "1"), called("c2", "2")], ..Round::default() };
    let items =
        |round: &Round, provider| CallIds::default().replay(round, target(provider, Wire::Responses)).0;
    let names = |items: Vec<ReplyItem>| -> Vec<String> {
        let name = |item| match item {
            ReplyItem::Text { text, .. } => text,
            ReplyItem::Reasoning(reasoning) => reasoning.id,
            ReplyItem::Hosted(call) => call.item["id"].as_str().unwrap().to_owned(),
            ReplyItem::Call(call) => call.call_id,
        };
        items.into_iter().map(name).collect()
    };
    assert_eq!(
        names(items(&reply, "p")),
        ["ws_0", "rs_1", "ws_1", "Let me look.", "c1", "ws_2", "rs_2", "c2", "ws_3"]
    );
    assert_eq!(names(items(&reply, "q"))[0], "Let me look.", "no reasoning");
    let open = Round { calls: vec![ToolCallRecord { outcome: None, ..called("c1", "") }], ..reply };
    assert_eq!(names(items(&open, "q")), ["Let me look."], "nobody answered the call");
}
