//! The tenant comes from the verified caller and from nowhere else (I7).

use serde_json::json;

use crate::support::{System, session_path, turn, turn_path};

#[tokio::test]
async fn same_ids_in_another_org_are_separate_and_foreign_is_404() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("rival", "eve"));
    let request = turn("our secret");
    ada.execute(&request).await.result();

    for path in [
        session_path(&request),
        turn_path(&request),
        format!("{}/turns", session_path(&request)),
        format!("{}/mode-history", session_path(&request)),
        format!("{}/turns/last", session_path(&request)),
        format!("{}/turns/last?status=completed", session_path(&request)),
        format!("{}/summary", turn_path(&request)),
        format!("{}/steps", turn_path(&request)),
        format!("{}/payloads/instruction", turn_path(&request)),
        format!("{}/payloads/instruction?inline=true", turn_path(&request)),
        format!("{}/payloads/answer?inline=true", turn_path(&request)),
        format!("{}/feedback", turn_path(&request)),
        format!("{}/export", session_path(&request)),
    ] {
        let foreign = eve.get(&path).await;
        assert_eq!(foreign.status, 404, "{path}");
        let unknown = eve
            .get(&path.replace(request["SessionId"].as_str().unwrap(), "0123456789abcdef0123456789abcdef"))
            .await;
        assert_eq!(foreign.text, unknown.text, "foreign and unknown look the same");
    }

    let mut theirs = request.clone();
    theirs["Instruction"] = json!("their own");
    let answer = eve.execute(&theirs).await.result();
    assert!(answer["PrimaryOutputText"].as_str().unwrap().contains("their own"));
    assert_eq!(eve.get(&session_path(&request)).await.result()["TurnCount"], 1);
    assert_eq!(ada.get(&turn_path(&request)).await.result()["InstructionSummary"], "our secret");
}

#[tokio::test]
async fn foreign_turn_cannot_be_rerun_or_forked_and_looks_unknown() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("rival", "eve"));
    let request = turn("our secret");
    ada.execute(&request).await.result();
    let rerun = (format!("{}/rerun", turn_path(&request)), json!({"TurnId": "t2"}).to_string());
    let forked = json!({"SessionId": "s2", "TurnId": request["TurnId"]}).to_string();
    for (path, body) in [rerun, (format!("{}/fork", session_path(&request)), forked)] {
        let foreign = eve.post(&path, body.clone()).await;
        let path = path.replace(request["SessionId"].as_str().unwrap(), "0123456789abcdef0123456789abcdef");
        let body = body.replace(request["TurnId"].as_str().unwrap(), "fedcba9876543210fedcba9876543210");
        let unknown = eve.post(&path, body).await;
        assert_eq!((foreign.status, &foreign.text), (404, &unknown.text), "{path}");
    }
    assert_eq!(ada.get(&session_path(&request)).await.result()["TurnCount"], 1);
    assert_eq!(system.model_calls().len(), 1);
}

#[tokio::test]
async fn org_name_with_separators_stays_in_its_partition() {
    let system = System::start().await;
    let sly = system.client("acme#S#x/../y", "eve");
    let request = turn("hello");
    sly.execute(&request).await.result();
    assert_eq!(sly.get(&session_path(&request)).await.result()["OwnerOrganization"]["Id"], "acme#S#x/../y");
    assert_eq!(system.client("acme", "ada").get(&session_path(&request)).await.status, 404);
}

#[tokio::test]
async fn identity_too_long_for_a_key_is_refused_by_claim() {
    let system = System::start().await;
    let long = "/".repeat(100);
    for (org, user, claim) in [
        ("..", "ada", "custom:org"),
        (".", "ada", "custom:org"),
        (&long, "ada", "custom:org"),
        ("acme", "..", "sub"),
    ] {
        let client = system.client(org, user);
        let request = turn("hello");
        for refused in [client.execute(&request).await, client.get(&session_path(&request)).await] {
            assert_eq!((refused.status, refused.error().as_str()), (401, "Unauthenticated"), "{org} {user}");
            assert!(refused.text.contains(claim), "{}", refused.text);
        }
    }
    assert!(system.has_no_trace().await);
    let named = system.client("acme", "ada").get(&format!("{}?userId=..", contracts::paths::SESSIONS)).await;
    assert_eq!((named.status, named.error().as_str()), (400, "ParameterInvalid"));
}

#[tokio::test]
async fn multibyte_id_works_like_any_other() {
    let system = System::start().await;
    let long = system.client("組織/甲", &"組".repeat(100));
    let request = turn("hello");
    long.execute(&request).await.result();
    assert_eq!(long.get(&session_path(&request)).await.result()["OwnerOrganization"]["Id"], "組織/甲");
    let mine = format!("{}?userId={}", contracts::paths::SESSIONS, "組".repeat(100));
    assert_eq!(long.get(&mine).await.result()["Items"][0]["Id"], request["SessionId"]);
}

#[tokio::test]
async fn one_turn_id_in_two_sessions_is_two_turns() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let (one, mut two) = (turn("one"), turn("two"));
    two["TurnId"] = one["TurnId"].clone();
    for request in [&one, &two] {
        let answer = ada.execute(request).await.result();
        assert_eq!(answer["SessionId"], request["SessionId"]);
    }
    for request in [&one, &two] {
        let read = ada.get(&turn_path(request)).await.result();
        assert_eq!(
            (&read["InstructionSummary"], &read["SequenceNumber"]),
            (&request["Instruction"], &json!(1))
        );
        assert_eq!(ada.get(&session_path(request)).await.result()["TurnCount"], 1);
    }
    assert_eq!(system.model_calls().len(), 2);
}

#[tokio::test]
async fn org_members_read_and_continue_its_sessions() {
    let system = System::start().await;
    let request = turn("first");
    system.client("acme", "ada").execute(&request).await.result();
    let bob = system.client("acme", "bob");
    bob.execute(&crate::support::turn_in(request["SessionId"].as_str().unwrap(), "second")).await.result();
    let session = bob.get(&session_path(&request)).await.result();
    assert_eq!(session["OwnerUser"]["Id"], "ada");
    assert_eq!(session["Turns"][1]["CreatedByUser"]["Id"], "bob");
}
