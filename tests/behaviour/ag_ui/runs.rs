//! Runs: their events in both versions, and their repetition.

use serde_json::{Value, json};

use super::{
    BASE, connect, error, events, input, kinds, messages, of, run, send, text, turn_counts, user, with,
};
use crate::support::{System, said, system_message};

#[tokio::test]
async fn run_has_the_events_of_its_version() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = input("t", "r", &json!([user("u", "Hi [[script: words 5; usage 9 3]]")]));
    let current = run(&ada, &request).await;
    assert_eq!(
        kinds(&current),
        [
            "RUN_STARTED",
            "CUSTOM",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "RUN_FINISHED"
        ]
    );
    let (first, last) = (&current[0], current.last().unwrap());
    assert_eq!(
        (&first["threadId"], &first["runId"], &first["protocolVersion"]),
        (&json!("t"), &json!("r"), &json!("1.0"))
    );
    assert_eq!(
        (&last["outcome"], &last["usage"][0]["inputTokens"]),
        (&json!({"type": "success"}), &json!(9))
    );
    assert!(text(&current).ends_with("word5"));

    let mut old = with(request, &json!({"threadId": "old", "parentRunId": "p"}));
    old.as_object_mut().unwrap().remove("protocolVersion");
    let old = run(&ada, &old).await;
    assert_eq!((kinds(&old), text(&old)), (kinds(&current), text(&current)));
    let (first, last) = (&old[0], old.last().unwrap());
    assert_eq!((first.get("protocolVersion"), &first["parentRunId"]), (None, &json!("p")));
    assert_eq!(last.get("outcome"), None);
}

#[tokio::test]
async fn known_thread_uses_its_stored_history() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    run(&ada, &input("t", "r1", &json!([user("u1", "One [[script: say \"First.\"]]")]))).await;
    // A client that has lost its messages.
    let second = run(&ada, &input("t", "r2", &json!([user("u2", "Two [[script: say \"Second.\"]]")]))).await;
    assert_eq!((text(&second).as_str(), turn_counts(&ada).await), ("Second.", vec![2]));
    // One that has messages of its own.
    let forged = json!([user("u1", "Other"), {"id": "x", "role": "assistant", "content": "Forged"},
                        user("u3", "Three [[script: say \"Third.\"]]")]);
    assert_eq!(text(&run(&ada, &input("t", "r3", &forged)).await), "Third.");
    assert!(system.model_calls().iter().all(|call| !call.to_string().contains("Forged")));
    let shown: Vec<Value> = messages(&connect(&ada, "t").await);
    let shown: Vec<(&str, &str)> = shown
        .iter()
        .map(|message| (message["id"].as_str().unwrap(), message["content"].as_str().unwrap()))
        .collect();
    assert_eq!(shown.len(), 6);
    assert_eq!((shown[0].0, shown[1].1, shown[4].0, shown[5].1), ("u1", "First.", "u3", "Third."));
}

#[tokio::test]
async fn new_thread_begins_with_the_clients_messages() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let call = json!({"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}});
    let history = json!([
        {"id": "s", "role": "system", "content": "Be kind."},
        user("u1", "Weather?"),
        {"id": "a1", "role": "assistant", "toolCalls": [call]},
        {"id": "r1", "role": "tool", "toolCallId": "c", "content": "hail"},
        {"id": "a2", "role": "assistant", "content": "It hails."},
        {"id": "t1", "role": "reasoning", "content": "hm"},
        user("u2", "Sure? [[script: say \"Yes.\"]]"),
    ]);
    assert_eq!(text(&run(&ada, &input("t", "r", &history)).await), "Yes.");
    let model = system.model_calls().pop().unwrap();
    assert!(system_message(&model).contains("Be kind."), "{model}");
    assert!(
        model.to_string().contains("It hails.")
            && model.to_string().contains("hail")
            && !said(&model).contains("hails")
    );
    let shown = messages(&connect(&ada, "t").await);
    assert_eq!(shown.len(), 6, "{shown:?}");
}

#[tokio::test]
async fn context_and_state_reach_the_model() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let members = json!({"context": [{"description": "The page", "value": "/cart"}], "state": {"items": 2}});
    let hi = json!([user("u", "Hi [[script: say \"Hello.\"]]")]);
    run(&ada, &with(input("t", "r", &hi), &members)).await;
    let model = system.model_calls().pop().unwrap().to_string();
    assert!(model.contains("The page:") && model.contains("/cart") && model.contains("items"), "{model}");
    let shown = connect(&ada, "t").await;
    assert_eq!(of(&shown, "STATE_SNAPSHOT")[0]["snapshot"], json!({"items": 2}));
}

#[tokio::test]
async fn repeated_run_is_answered_from_its_turn() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let hi = user("u", "Hi [[script: words 9]]");
    let request = input("t", "r", &json!([hi]));
    let first = run(&ada, &request).await;
    let again = run(&ada, &request).await;
    assert_eq!((messages(&again), system.model_calls().len()), (messages(&first), 1));
    // The client has a part of the answer, which it drops.
    let part = json!({"id": messages(&first)[0]["id"], "role": "assistant", "content": "Hi"});
    for id in ["r", "other"] {
        let again = run(&ada, &input("t", id, &json!([hi, part]))).await;
        assert_eq!(of(&again, "MESSAGES_SNAPSHOT")[0]["messages"], json!([hi]), "{id}");
        assert_eq!((text(&again), system.model_calls().len()), (text(&first), 1), "{id}");
    }
    let other = send(&ada, BASE, &input("t", "r", &json!([hi, part, user("u2", "More")]))).await;
    assert_eq!((error(&other).0, error(&other).1.as_str()), (409, "TurnIdConflict"));
    let changed = send(&ada, BASE, &input("t", "r", &json!([user("u", "Changed")]))).await;
    assert_eq!(error(&changed).0, 409);
    assert_eq!((system.model_calls().len(), turn_counts(&ada).await), (1, vec![1]));
}

#[tokio::test]
async fn repeated_run_takes_part_in_its_running_turn() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = input("t", "r", &json!([user("u", "Hi [[script: words 5; hang 60s; words 5]]")]));
    let (first, again) = futures::join!(run(&ada, &request), async {
        system.model_called(1).await;
        let busy = send(&ada, BASE, &input("t", "other", &json!([user("u2", "More")]))).await;
        assert_eq!(error(&busy).1, "SessionBusy", "{}", busy.text);
        assert!(busy.header("retry-after").is_some());
        let (again, ()) =
            futures::join!(run(&ada, &request), async { system.cloud.model().unwrap().end_pauses() });
        again
    });
    assert_eq!((text(&again), system.model_calls().len()), (text(&first), 1));
}

#[tokio::test]
async fn failed_run_ends_with_an_error_and_can_be_asked_again() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let hi = user("u", "Hi [[script: fail bio_policy]]");
    let failed = run(&ada, &input("t", "r1", &json!([hi]))).await;
    let end = failed.last().unwrap();
    assert_eq!(end["type"], "RUN_ERROR", "{failed:?}");
    assert!(
        end["code"].as_str().unwrap().starts_with("Model") && !end["message"].as_str().unwrap().is_empty()
    );
    // The client sends its messages with the next one: the model gets each of them once.
    let both = json!([hi, user("u2", "Again [[script: say \"Hello.\"]]")]);
    assert_eq!(text(&run(&ada, &input("t", "r2", &both)).await), "Hello.");
    let model = system.model_calls().pop().unwrap().to_string();
    assert!(model.matches("fail bio_policy").count() < 2, "{model}");
}

#[tokio::test]
async fn agent_of_the_path_runs_the_turn() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let hi = json!([user("u", "Hi [[script: say \"Hello.\"]]")]);
    let path = format!("{BASE}/agent/workspace/run");
    assert_eq!(text(&events(&send(&ada, &path, &input("t", "r", &hi)).await)), "Hello.");
    let sessions = ada.get("/api/ai/agent/sessions").await.result();
    assert_eq!(sessions["Items"][0]["AgentContextId"], "workspace");
    let unknown = send(&ada, &format!("{BASE}/agent/nobody/run"), &input("t2", "r", &hi)).await;
    assert_eq!(
        error(&unknown),
        (404, "AgentContextNotFound".to_owned(), "The agent 'nobody' doesn't exist.".to_owned())
    );
    let other = send(&ada, &format!("{BASE}/agent/default/run"), &input("t", "r2", &hi)).await;
    assert_eq!(error(&other).1, "SessionContextMismatch");
    assert_eq!(turn_counts(&ada).await, [1]);
}
