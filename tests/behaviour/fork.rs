//! `POST …/sessions/{SessionId}/fork`.

use contracts::paths;
use serde_json::{Value, json};

use crate::rerun::{ONE, THREE, TWO, of_s, talk, told};
use crate::support::{
    Answer, Client, System, history, id, in_context, is_chained, session_path, turn, turn_in, turn_path,
};

pub async fn fork(client: &Client, of: &Value, body: &Value) -> Answer {
    client.post(&format!("{}/fork", session_path(of)), body.to_string()).await
}

fn from(of: &Value) -> Value {
    json!({"SessionId": id(), "TurnId": of["TurnId"]})
}

/// Returns the history of a model call, without client observations.
fn words(call: &Value) -> Vec<String> {
    let said = |text: String| text.split("\n[SOLUTION_CONTEXT]").next().unwrap_or_default().to_owned();
    history(call).into_iter().map(said).collect()
}

#[tokio::test]
async fn fork_is_an_empty_session_that_names_its_origin() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let turns = talk(&ada, of_s).await;
    let body = from(&turns[1]);
    let made = fork(&bob, &turns[0], &body).await.result();
    assert_eq!(made["ForkedFrom"], json!({"SessionId": "s", "TurnId": turns[1]["TurnId"]}));
    assert_eq!(
        (&made["Id"], &made["TurnCount"], &made["Turns"]),
        (&body["SessionId"], &json!(0), &json!([]))
    );
    assert_eq!((&made["OwnerUser"]["Id"], &made["TotalUsage"]["TotalTokens"]), (&json!("bob"), &json!(0)));
    assert_eq!(bob.get(&session_path(&body)).await.result(), made);
    assert_eq!(bob.get(&format!("{}/turns/last", session_path(&body))).await.error(), "TurnNotFound");
    let listed = bob.get(&format!("{}?userId=bob", paths::SESSIONS)).await.result();
    let line = &listed["Items"][0];
    assert_eq!((&line["Id"], line.get("LastTurnStatus")), (&body["SessionId"], None));
    let named = json!({"SessionId": id(), "TurnId": turns[1]["TurnId"], "Name": "Another way"});
    assert_eq!(fork(&ada, &turns[0], &named).await.result()["Name"], "Another way");
    assert!(ada.get(&session_path(&turns[0])).await.result().get("ForkedFrom").is_none());
}

#[tokio::test]
async fn first_turn_of_a_fork_continues_from_its_origin() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let turns = talk(&ada, of_s).await;
    let body = from(&turns[1]);
    fork(&ada, &turns[0], &body).await.result();
    let next = turn_in(body["SessionId"].as_str().unwrap(), "Next");
    let answer = ada.execute(&next).await.result();
    assert!(answer.get("UserWarnings").is_none(), "{answer}");
    let calls = system.model_calls();
    assert!(is_chained(&calls[3]));
    assert_eq!(calls[3]["previous_response_id"], calls[2]["previous_response_id"]);
    assert_eq!(ada.get(&turn_path(&next)).await.result()["SequenceNumber"], 1);
    // The session that it was forked from goes on as it would have.
    ada.execute(&of_s("Fourth")).await.result();
    assert_ne!(system.last_call()["previous_response_id"], calls[3]["previous_response_id"]);
}

#[tokio::test]
async fn fork_resends_shared_turns_and_so_do_its_forks_and_reruns() {
    let system = System::start().await;
    system.put_context(json!({"Chain": "local"})).await;
    let ada = system.client("acme", "ada");
    let mut turns = vec![in_context(ONE), in_context(TWO), in_context(THREE)];
    turns[1]["SolutionContextText"] = json!("A workspace in Rust.");
    for turn in &turns {
        ada.execute(turn).await.result();
    }
    let body = from(&turns[1]);
    fork(&ada, &turns[0], &body).await.result();
    let session = body["SessionId"].as_str().unwrap();
    let own = turn_in(session, "Own [[script: say \"Mine.\"]]");
    let answer = ada.execute(&own).await.result();
    assert!(answer.get("UserWarnings").is_none(), "{answer}");
    let shared = told(&[(ONE, "One."), (TWO, "Two.")]);
    assert_eq!(words(&system.last_call()), shared);
    assert!(system.last_call().to_string().contains("A workspace in Rust."));

    ada.execute(&turn_in(session, "Again")).await.result();
    let mine = told(&[(ONE, "One."), (TWO, "Two."), ("Own [[script: say \"Mine.\"]]", "Mine.")]);
    assert_eq!(words(&system.last_call()), mine);

    // A fork of the fork, from the fork's own turn.
    let second = from(&own);
    fork(&ada, &body, &second).await.result();
    ada.execute(&turn_in(second["SessionId"].as_str().unwrap(), "Deeper")).await.result();
    assert_eq!(words(&system.last_call()), mine);

    let rerun = format!("{}/rerun", turn_path(&own));
    ada.post(&rerun, json!({"TurnId": id()}).to_string()).await.result();
    assert_eq!(words(&system.last_call()), shared);
}

#[tokio::test]
async fn repeated_fork_is_a_no_op_and_a_different_one_conflicts() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let turns = talk(&ada, of_s).await;
    let body = from(&turns[1]);
    let first = fork(&ada, &turns[0], &body).await.result();
    assert_eq!(fork(&ada, &turns[0], &body).await.result(), first);
    let of_another = json!({"SessionId": body["SessionId"], "TurnId": turns[2]["TurnId"]});
    let of_itself = json!({"SessionId": "s", "TurnId": turns[1]["TurnId"]});
    for refused in [
        fork(&ada, &turns[0], &of_another).await,
        fork(&ada, &turns[0], &of_itself).await,
        fork(&bob, &turns[0], &body).await,
    ] {
        assert_eq!((refused.status, refused.error().as_str()), (409, "SessionIdConflict"));
    }
}

#[tokio::test]
async fn fork_needs_a_completed_turn_named_in_the_body() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let fails = turn("Fails [[script: status 400]]");
    assert_ne!(ada.execute(&fails).await.status, 200);
    let refused = fork(&ada, &fails, &from(&fails)).await;
    assert_eq!((refused.status, refused.error().as_str()), (409, "TurnNotCompleted"));
    let unknown = json!({"SessionId": id(), "TurnId": id()});
    assert_eq!(fork(&ada, &fails, &unknown).await.error(), "TurnNotFound");
    for (body, code, member) in [
        (json!({"TurnId": "t"}), "MemberRequired", "SessionId"),
        (json!({"SessionId": id(), "TurnId": "t", "Name": ""}), "MemberInvalid", "Name"),
        (json!({"SessionId": id(), "TurnId": "t", "Copy": true}), "MemberUnknown", "Copy"),
    ] {
        let refused = fork(&ada, &fails, &body).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, code), "{}", refused.text);
        assert_eq!(refused.errors()[0]["Details"], member);
    }
    assert_eq!(ada.get(paths::SESSIONS).await.result()["Items"].as_array().unwrap().len(), 1);
}
