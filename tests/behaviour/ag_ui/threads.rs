//! Threads: connect, stop, lists, and their sessions.

use std::time::Instant;

use local::{Data, Options};
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    BASE, connect, connect_path, error, input, kinds, messages, of, parsed, request, run, send, text,
    turn_counts, user,
};
use crate::support::{LEASE, PATIENCE, System, options, turn_in};

#[tokio::test]
async fn connect_shows_the_history_and_the_running_turn() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    assert_eq!(kinds(&connect(&ada, "t").await), ["RUN_STARTED", "RUN_FINISHED"]);
    run(&ada, &input("t", "r1", &json!([user("u1", "Hi [[script: say \"Hello.\"]]")]))).await;
    assert_eq!(kinds(&connect(&ada, "t").await), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    let more = input("t", "r2", &json!([user("u2", "More [[script: words 5; hang 60s; words 5]]")]));
    let (answered, connected) = futures::join!(run(&ada, &more), async {
        system.model_called(2).await;
        let connecting = request(&ada, &connect_path(), &input("t", "connect", &json!([])));
        let mut response = connecting.send().await.unwrap();
        let mut received = String::new();
        while let Some(piece) = response.chunk().await.unwrap() {
            received.push_str(std::str::from_utf8(&piece).unwrap());
            if received.contains("TEXT_MESSAGE_CONTENT") {
                system.cloud.model().unwrap().end_pauses();
            }
        }
        parsed(&received)
    });
    let shown = messages(&connected);
    let contents: Vec<&str> = shown.iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!((contents.len(), contents[1], contents[3]), (4, "Hello.", text(&answered).as_str()));
    assert_eq!((&shown[2]["id"], &shown[3]["id"]), (&json!("u2"), &messages(&answered)[0]["id"]));
    assert_eq!(connected.last().unwrap()["type"], "RUN_FINISHED");
    assert!(of(&connected, "TEXT_MESSAGE_CONTENT").len() > 1, "the turn's text was followed");
    assert_eq!(system.model_calls().len(), 2);
}

#[tokio::test]
async fn stop_cancels_the_running_turn() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let stop = format!("{BASE}/agent/default/stop/t");
    let nothing = send(&ada, &stop, &json!({})).await;
    assert_eq!((nothing.status, &nothing.json()["stopped"]), (200, &json!(false)));
    let request = input("t", "r", &json!([user("u", "Hi [[script: pace 50ms; words 400]]")]));
    let (stopped, answer) = futures::join!(run(&ada, &request), async {
        system.model_called(1).await;
        send(&ada, &stop, &json!({})).await
    });
    assert_eq!((answer.status, &answer.json()["stopped"]), (200, &json!(true)), "{}", answer.text);
    let end = stopped.last().unwrap();
    assert_eq!((&end["type"], &end["outcome"]), (&json!("RUN_FINISHED"), &json!({"type": "cancelled"})));
    let next = input("t", "r2", &json!([user("u2", "Go on [[script: say \"Yes.\"]]")]));
    assert_eq!(text(&run(&ada, &next).await), "Yes.");
}

#[tokio::test]
async fn colleagues_thread_of_the_same_name_has_no_effect() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let request = |text: &str| input("t", "r", &json!([user("u", text)]));
    assert_eq!(text(&run(&bob, &request("Hi [[script: say \"Bob's.\"]]")).await), "Bob's.");
    // Not even a session of the thread's own name.
    let squat = bob.execute(&turn_in("t", "Hi [[script: say \"Squat.\"]]")).await;
    assert_eq!(squat.status, 200);
    assert_eq!(kinds(&connect(&ada, "t").await), ["RUN_STARTED", "RUN_FINISHED"]);
    assert_eq!(text(&run(&ada, &request("Hi [[script: say \"Ada's.\"]]")).await), "Ada's.");
    let shown = messages(&connect(&ada, "t").await);
    assert_eq!((shown.len(), &shown[1]["content"]), (2, &json!("Ada's.")));
    let stop = send(&bob, &format!("{BASE}/agent/default/stop/t"), &json!({})).await;
    assert_eq!(stop.json()["stopped"], false);
    let threads = ada.get(&format!("{BASE}/threads")).await.json();
    assert_eq!(threads["threads"].as_array().unwrap().len(), 1, "{threads}");
}

#[tokio::test]
async fn thread_is_a_session_of_the_other_apis() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let begun = run(&ada, &input("t", "r", &json!([user("u", "Hi [[script: say \"Hello.\"]]")]))).await;
    let turn = &of(&begun, "CUSTOM")[0]["value"];
    let session = turn["SessionId"].as_str().unwrap();
    let read = ada
        .get(&format!("/api/ai/agent/sessions/{session}/turns/{}", turn["TurnId"].as_str().unwrap()))
        .await;
    assert!(read.result().to_string().contains("Hello."), "{}", read.text);
    let more = ada.execute(&turn_in(session, "More [[script: say \"From the API.\"]]")).await.result();
    assert_eq!(more["PrimaryOutputText"], "From the API.");
    let last = run(&ada, &input("t", "r2", &json!([user("u2", "And? [[script: say \"Back.\"]]")]))).await;
    assert_eq!((text(&last).as_str(), turn_counts(&ada).await), ("Back.", vec![3]));
    let contents: Vec<Value> =
        messages(&connect(&ada, "t").await).into_iter().map(|m| m["content"].clone()).collect();
    assert_eq!(
        contents[1..=3],
        [json!("Hello."), json!("More [[script: say \"From the API.\"]]"), json!("From the API.")]
    );

    // A session that the API began is the thread of its name.
    let own = turn_in("from-the-api", "One [[script: say \"Uno.\"]]");
    ada.execute(&own).await.result();
    assert_eq!(messages(&connect(&ada, "from-the-api").await).len(), 2);
    run(&ada, &input("from-the-api", "r3", &json!([user("u3", "Two [[script: say \"Due.\"]]")]))).await;
    assert_eq!(turn_counts(&ada).await, [2, 3]);
    let threads = ada.get(&format!("{BASE}/threads?agentId=default&limit=5")).await.json();
    let mut ids: Vec<&str> =
        threads["threads"].as_array().unwrap().iter().map(|t| t["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["from-the-api", "t"], "{threads}");
}

#[tokio::test]
async fn thread_is_one_session_over_every_protocol() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let begun = run(&ada, &input("t", "r1", &json!([user("u1", "One [[script: say \"Uno.\"]]")]))).await;
    let session = of(&begun, "CUSTOM")[0]["value"]["SessionId"].as_str().unwrap().to_owned();
    let post = async |path: &str, body: Value| {
        let answer = ada.post(path, body.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    };
    let second = json!({
        "model": "scripted", "conversation": format!("conv_{session}"), "input": "Two [[script: say \"Due.\"]]",
    });
    let response = post("/v1/responses", second).await;
    // Ids of all protocols name the same turns.
    let previous = response["id"].as_str().unwrap().replace("resp_", "msg_");
    let third = json!({
        "model": "scripted", "max_tokens": 100, "messages": [user("", "Three [[script: say \"Tre.\"]]")],
        "thread": {"type": "continue", "previous_message_id": previous},
    });
    let mut third = third;
    third["messages"][0].as_object_mut().unwrap().remove("id");
    assert_eq!(post("/v1/messages", third).await["content"][0]["text"], "Tre.");
    let read = ada.get(&format!("/api/ai/agent/sessions/{session}")).await.result();
    assert_eq!((&read["TurnCount"], turn_counts(&ada).await), (&json!(3), vec![3]));
    let shown = messages(&connect(&ada, "t").await);
    let answers = [1, 3, 5].map(|at| shown[at]["content"].as_str().unwrap());
    assert_eq!(answers, ["Uno.", "Due.", "Tre."]);
    let fourth =
        run(&ada, &input("t", "r4", &json!([user("u4", "Four [[script: say \"Quattro.\"]]")]))).await;
    assert_eq!((text(&fourth).as_str(), turn_counts(&ada).await), ("Quattro.", vec![4]));
    let model = system.model_calls().pop().unwrap().to_string();
    assert_eq!(model.matches("Quattro.").count(), 1, "the model has each message once: {model}");
}

#[tokio::test]
async fn repeated_run_takes_over_from_a_dead_function() {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let ada = system.client("acme", "ada");
    let request = input("t", "r", &json!([user("u", "Hi [[script: words 6; hang 60s; say \" End.\"]]")]));
    let mut response = super::request(&ada, BASE, &request).send().await.unwrap();
    let mut seen = String::new();
    while !seen.contains("word5") {
        let piece = response.chunk().await.unwrap().expect("more");
        seen.push_str(std::str::from_utf8(&piece).unwrap());
    }
    system.crash_execute().await;
    while let Ok(Some(piece)) = response.chunk().await {
        seen.push_str(std::str::from_utf8(&piece).unwrap());
    }
    assert!(!seen.contains("RUN_FINISHED"), "{seen}");
    system.cloud.model().unwrap().end_pauses();
    let give_up = Instant::now() + PATIENCE;
    let ended = loop {
        let again = run(&ada, &request).await;
        if again.last().unwrap()["type"] == "RUN_FINISHED" {
            break again;
        }
        assert!(Instant::now() < give_up, "{again:?}");
    };
    assert!(text(&ended).ends_with(" End."), "{ended:?}");
    assert_eq!((system.model_calls().len(), turn_counts(&ada).await), (2, vec![1]));
}

#[tokio::test]
async fn rotated_key_still_finds_threads_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let with_key = async |key: &str| {
        let environment = [("PAGE_TOKEN_KEY".to_owned(), key.to_owned())].into();
        System::with(Options { environment, data: Data::Folder(folder.path().to_owned()), ..options() }).await
    };
    let first = input("t", "r1", &json!([user("u1", "Hi [[script: say \"Hello.\"]]")]));
    let before = with_key("old").await;
    run(&before.client("acme", "ada"), &first).await;
    before.cloud.shutdown().await;

    let after = with_key("new,old").await;
    let ada = after.client("acme", "ada");
    assert_eq!(text(&run(&ada, &first).await), "Hello.");
    assert_eq!(after.model_calls().len(), 0, "the run is the old one");
    let more = input("t", "r2", &json!([user("u2", "More [[script: say \"Again.\"]]")]));
    assert_eq!(text(&run(&ada, &more).await), "Again.");
    assert_eq!(text(&run(&ada, &more).await), "Again.");
    assert_eq!((after.model_calls().len(), turn_counts(&ada).await), (1, vec![2]));
    assert_eq!(messages(&connect(&ada, "t").await).len(), 4);
}

#[tokio::test]
async fn info_lists_agents_and_threads_have_messages() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let own =
        json!([{"Kind": "agent", "Id": "engineer", "Name": "The Engineer", "Description": "Writes code."}]);
    system.put_contexts("acme", &own).await;
    let info = ada.get(&format!("{BASE}/info")).await.json();
    let agents = &info["agents"];
    assert_eq!((&agents["default"]["name"], &info["mode"]), (&json!("default"), &json!("sse")), "{info}");
    let descriptions = ["default", "engineer"].map(|agent| agents[agent]["description"].as_str().unwrap());
    assert_eq!(descriptions, ["", "Writes code."]);
    run(&ada, &input("t/1 ü", "r", &json!([user("u", "Hi [[script: say \"Hello.\"]]")]))).await;
    let path = format!("{BASE}/threads/t%2F1%20%C3%BC");
    let shown = ada.get(&format!("{path}/messages")).await.json();
    assert_eq!(shown["messages"][1]["content"], "Hello.");
    assert_eq!(ada.get(&format!("{path}/state")).await.json(), json!({"state": null}));
    for limit in ["0", "51", "x"] {
        assert_eq!(error(&ada.get(&format!("{BASE}/threads?limit={limit}")).await).0, 400);
    }
    let deleted = ada.raw(Method::DELETE, &path, &[], Vec::new()).await;
    assert_eq!((deleted.status, &deleted.json()["deleted"]), (200, &json!(true)), "{}", deleted.text);
    assert_eq!(error(&ada.get(&format!("{path}/messages")).await).0, 404);
    // The name is free for another thread.
    run(&ada, &input("t/1 ü", "r", &json!([user("u", "Hi [[script: say \"New.\"]]")]))).await;
    assert_eq!(messages(&connect(&ada, "t/1 ü").await)[1]["content"], "New.");
}
