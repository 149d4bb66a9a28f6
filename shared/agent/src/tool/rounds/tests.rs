use contracts::{FileAddress, response::ToolOutcome};

use super::*;
use crate::model::{FunctionCall, HostedCall, Reasoning, ReplyItem};

fn called(id: &str, result: &str) -> ToolCallRecord {
    ToolCallRecord {
        call_id: id.to_owned(),
        provider_id: None,
        name: "look".to_owned(),
        arguments: "{}".to_owned(),
        outcome: Some(ToolOutcome::ResultJson(result.to_owned())),
        ran_by: None,
        execution_ms: None,
        files: CallFiles::default(),
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

#[test]
fn duplicate_call_id_is_replaced() {
    let call = |id: &str| called(id, "").to_call();
    let before = [round(vec![called("a", ""), called("call_2_0_0", "")])];
    let records = record_calls(["a", "a", "b"].map(call).to_vec(), &before, 2);
    let ids = |of: fn(&ToolCallRecord) -> FunctionCall| records.iter().map(move |call| of(call).call_id);
    assert_eq!(ids(ToolCallRecord::to_call).collect::<Vec<_>>(), ["call_2_0_1", "call_2_1_0", "b"]);
    assert_eq!(ids(ToolCallRecord::to_provider_call).collect::<Vec<_>>(), ["a", "a", "b"], "the provider's");
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
fn reply_items_keep_order_and_reasoning_goes_to_its_author() {
    let message = AssistantMessage {
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
    };
    let reply = Round { message, calls: vec![called("c1", "1"), called("c2", "2")], ..Round::default() };
    let reader = |provider| Some(ReasoningReader { model: "m", provider });
    let names = |items: Vec<ReplyItem>| -> Vec<String> {
        let name = |item| match item {
            ReplyItem::Text(text) => text,
            ReplyItem::Reasoning(reasoning) => reasoning.id,
            ReplyItem::Hosted(call) => call.item["id"].as_str().unwrap().to_owned(),
            ReplyItem::Call(call) => call.call_id,
        };
        items.into_iter().map(name).collect()
    };
    assert_eq!(
        names(reply.reply_items(reader("p"))),
        ["ws_0", "rs_1", "ws_1", "Let me look.", "c1", "ws_2", "rs_2", "c2", "ws_3"]
    );
    assert_eq!(names(reply.reply_items(reader("q"))), ["Let me look.", "c1", "c2"]);
    let open = Round { calls: vec![ToolCallRecord { outcome: None, ..called("c1", "") }], ..reply };
    assert_eq!(names(open.reply_items(None)), ["Let me look."], "nobody answered the call");
}
