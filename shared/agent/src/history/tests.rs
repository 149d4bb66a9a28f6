use contracts::{
    AgentExecuteRequest, AgentExecuteResponse,
    id::{SessionId, TurnId},
    response::{Final, Metadata, ToolOutcome},
};
use proptest::prelude::*;

use super::*;
use crate::call::CallRecord;
use protocol::detail::Report;

fn called(id: &str, result: &str) -> CallRecord {
    CallRecord {
        call_id: id.to_owned(),
        name: "look".to_owned(),
        arguments: "{}".to_owned(),
        outcome: Some(ToolOutcome::ResultJson(result.to_owned())),
    }
}

fn told(instruction: &str, answer: &str) -> Exchange {
    Exchange { instruction: instruction.to_owned(), answer: answer.to_owned() }
}

fn request(members: serde_json::Value) -> UserTurn {
    let mut body = serde_json::json!({ "SessionId": "s", "TurnId": "t" });
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    match AgentExecuteRequest::parse(body.to_string().as_bytes()).unwrap() {
        AgentExecuteRequest::UserTurn(turn) => turn,
        AgentExecuteRequest::ToolContinuation(_) => unreachable!("there are no results"),
    }
}

fn answered(text: &str) -> Outcome {
    let answer = Final {
        metadata: Metadata {
            session_id: SessionId::new("s").unwrap(),
            turn_id: TurnId::new("t").unwrap(),
            mode_display_name: "General".to_owned(),
        },
        primary_output_text: text.to_owned(),
        files: Vec::new(),
        tool_results: Vec::new(),
        user_warnings: Vec::new(),
        usage: None,
    };
    Outcome::completed(AgentExecuteResponse::Final(answer), Report::default(), None)
}

#[test]
fn a_turn_is_told_by_the_users_words_and_the_tools_results_before_the_answer() {
    let request = request(serde_json::json!({ "Instruction": "Look it up." }));
    assert_eq!(exchange(&request, &answered("Found.")), Some(told("Look it up.", "Found.")));
    let outcome = answered("Found.").with_calls(vec![called("c1", "{\"at\":1}")]);
    let exchange = exchange(&request, &outcome).unwrap();
    assert_eq!(
        exchange.answer,
        "[TOOL_RESULTS]\n\n- CallId: c1\n  Name: look\n  ArgumentsJson:\n    {}\n  ResultJson:\n    {\"at\":1}\n\nFound."
    );
}

#[test]
fn a_turn_without_an_answer_is_not_told() {
    let outcome = Outcome::failed(contracts::ErrorCode::Internal.into(), Report::default());
    assert_eq!(exchange(&request(serde_json::json!({ "Instruction": "x" })), &outcome), None);
}

#[test]
fn the_newest_that_fit_are_kept_and_the_first_that_does_not_fit_ends_it() {
    let long = told(&"x".repeat(400), "y");
    let all = [told("one", "1"), long.clone(), told("two", "2"), told("three", "3")];
    assert_eq!(newest_within(&all, u32::MAX), &all);
    assert_eq!(
        newest_within(&all, 50),
        &all[2..],
        "the first is small enough, but lies beyond one that is not"
    );
    assert_eq!(newest_within(&all, total(&all[2..])), &all[2..]);
    assert_eq!(newest_within(&all, total(&all[2..]) - 1), &all[3..]);
    assert!(newest_within(&all, 0).is_empty());
}

proptest! {
    #[test]
    fn what_is_told_never_takes_more_than_its_room(
        lengths in prop::collection::vec((0_usize..300, 0_usize..300), 0..20),
        room in 0_u32..400,
    ) {
        let all: Vec<_> = lengths.iter().map(|(a, b)| told(&"é".repeat(*a), &"b".repeat(*b))).collect();
        let newest = newest_within(&all, room);
        prop_assert!(total(newest) <= room);
        prop_assert!(all.ends_with(newest));
        if let Some(next) = all.len().checked_sub(newest.len() + 1) {
            prop_assert!(total(&all[next..]) > room);
        }
    }
}
