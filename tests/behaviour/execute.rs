//! `POST /api/ai/agent/execute`.

use contracts::paths;
use futures::future::join_all;
use serde_json::json;

use crate::support::{System, id, session_path, turn, turn_in, turn_path};

#[tokio::test]
async fn user_turn_is_answered_and_finalized_within_two_seconds() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("What is a lease?");

    let answer = ada.execute(&request).await.result();
    assert_eq!(answer["Kind"], "final");
    assert_eq!((&answer["SessionId"], &answer["TurnId"]), (&request["SessionId"], &request["TurnId"]));
    assert_eq!(answer["ModeDisplayName"], "General");
    assert!(answer["PrimaryOutputText"].as_str().unwrap().contains("What is a lease?"));
    assert!(answer["Usage"]["TotalTokens"].as_u64().unwrap() > 0);
    for forbidden in ["ToolCalls", "ToolContinuationMessage", "Mode", "ConversationId"] {
        assert!(answer.get(forbidden).is_none(), "{forbidden}");
    }

    let path = turn_path(&request);
    let read = ada.get(&path).await.result();
    assert_eq!(read["Status"], json!({"Id": "completed", "Text": "Completed"}));
    assert_eq!(read["SequenceNumber"], 1);
    assert_eq!(read["InstructionSummary"], "What is a lease?");
    assert_eq!(read["AgentAnswerSummary"], answer["PrimaryOutputText"]);
    let link = |name: &str| format!("{}/payloads/{name}", path.trim_start_matches('/'));
    assert_eq!(read["FullInstructionUrl"], link("instruction"));
    assert_eq!(read["FullAgentAnswerUrl"], link("answer"));
    assert_eq!(read["StatusTimeStamp"], read["OpenAIResponseReceivedDate"]);
    assert_eq!(read["CreatedByUser"], json!({"Id": "ada", "Text": "ada"}));
    assert!(read.get("OpenAIResponseId").is_none(), "provider ids are for operators");

    let head = format!("TURN#{}", request["TurnId"].as_str().unwrap());
    system.until_attribute(&head, "Status", "completed").await;
    assert_eq!(system.attribute("SESSION", "LastTurnStatus").await.as_deref(), Some("completed"));
}

#[tokio::test]
async fn second_turn_has_sequence_two_and_continues_from_first_response() {
    let system = System::start().await;
    let operator = system.identified(&local::token::Identity {
        operator: true,
        ..local::token::Identity::user("acme", "ada")
    });
    let first = turn("one");
    let second = turn_in(first["SessionId"].as_str().unwrap(), "two");
    operator.execute(&first).await.result();
    operator.execute(&second).await.result();

    let session = operator.get(&session_path(&first)).await.result();
    let turns = session["Turns"].as_array().unwrap();
    assert_eq!(turns.iter().map(|turn| turn["SequenceNumber"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    let first_response = turns[0]["OpenAIResponseId"].as_str().unwrap();
    assert_eq!(turns[1]["PreviousOpenAIResponseId"], first_response);
    let calls = system.model_calls();
    assert!(calls[0].get("previous_response_id").is_none());
    assert_eq!(calls[1]["previous_response_id"], first_response);
}

#[tokio::test]
async fn repeated_request_gets_the_same_bytes_and_one_model_call() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("Answer once [[script: pace 5ms; words 20]]");
    let answers = join_all((0..6).map(|_| ada.execute(&request))).await;
    let later = ada.execute(&request).await;
    for answer in &answers {
        assert_eq!((answer.status, &answer.text), (200, &later.text));
    }
    assert_eq!(system.model_calls().len(), 1);
    assert_eq!(ada.get(&session_path(&request)).await.result()["TurnCount"], 1);
}

#[tokio::test]
async fn reused_ids_with_another_body_or_user_are_a_conflict() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("one");
    ada.execute(&request).await.result();
    let mut other = request.clone();
    other["Instruction"] = json!("another");
    let refused = ada.execute(&other).await;
    assert_eq!((refused.status, refused.error().as_str()), (409, "TurnIdConflict"));
    let stranger = system.client("acme", "bob").execute(&request).await;
    assert_eq!((stranger.status, stranger.error().as_str()), (409, "TurnIdConflict"));
    assert_eq!(system.model_calls().len(), 1);
}

#[tokio::test]
async fn second_turn_during_a_running_one_is_told_to_wait() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let slow = turn("Take your time [[script: delay 4s]]");
    let session = slow["SessionId"].as_str().unwrap().to_owned();
    let first = ada.execute(&slow);
    let second = async {
        system.model_called(1).await;
        ada.execute(&turn_in(&session, "me too")).await
    };
    let (first, second) = futures::join!(first, second);
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!((second.status, second.error().as_str()), (409, "SessionBusy"));
    // As long as the turn has run, not as long as its lease lasts.
    let wait: u64 = second.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=4).contains(&wait), "{wait} s");
    assert_eq!(second.errors()[0]["Retry"], "same_request");
}

#[tokio::test]
async fn back_to_back_turns_are_numbered_without_gaps() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let session = id();
    for number in 1..=6 {
        ada.execute(&turn_in(&session, &format!("turn {number}"))).await.result();
    }
    let read = ada.get(&paths::SESSION.fill(&session.parse().unwrap())).await.result();
    let numbers: Vec<u64> = read["Turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["SequenceNumber"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    assert!(read["Turns"].as_array().unwrap().iter().all(|turn| turn["Status"]["Id"] == "completed"));
}

#[tokio::test]
async fn model_failure_fails_the_turn_with_reason_and_session_continues() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("Fail please [[script: status 400]]");
    let refused = ada.execute(&request).await;
    assert_eq!((refused.status, refused.error().as_str()), (502, "ModelRejected"));
    assert_eq!(ada.execute(&request).await.text, refused.text, "a failed turn replays too");
    let read = ada.get(&turn_path(&request)).await.result();
    assert_eq!(read["Status"]["Id"], "failed");
    assert_eq!(read["Errors"][0], refused.errors()[0]["Message"]);
    assert!(read.get("AgentAnswerSummary").is_none() && read.get("FullAgentAnswerUrl").is_none());
    let next = ada.execute(&turn_in(request["SessionId"].as_str().unwrap(), "Go on")).await.result();
    assert_eq!(next["Kind"], "final");
}
