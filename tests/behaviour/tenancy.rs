//! The tenant comes from the verified caller and from nowhere else (I7).

use serde_json::json;

use crate::support::{System, session_path, turn, turn_path};

#[tokio::test]
async fn the_same_ids_under_another_org_are_another_session_and_a_foreign_one_is_not_found() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("rival", "eve"));
    let request = turn("our secret");
    ada.execute(&request).await.result();

    for path in [
        session_path(&request),
        turn_path(&request),
        format!("{}/turns/last", session_path(&request)),
        format!("{}/summary", turn_path(&request)),
        format!("{}/payloads/instruction", turn_path(&request)),
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
async fn an_org_whose_name_holds_separators_stays_in_its_own_partition() {
    let system = System::start().await;
    let sly = system.client("acme#S#x/../y", "eve");
    let request = turn("hello");
    sly.execute(&request).await.result();
    assert_eq!(sly.get(&session_path(&request)).await.result()["OwnerOrganization"]["Id"], "acme#S#x/../y");
    assert_eq!(system.client("acme", "ada").get(&session_path(&request)).await.status, 404);
}

#[tokio::test]
async fn every_member_of_an_org_reads_and_continues_its_sessions() {
    let system = System::start().await;
    let request = turn("first");
    system.client("acme", "ada").execute(&request).await.result();
    let bob = system.client("acme", "bob");
    bob.execute(&crate::support::turn_in(request["SessionId"].as_str().unwrap(), "second")).await.result();
    let session = bob.get(&session_path(&request)).await.result();
    assert_eq!(session["OwnerUser"]["Id"], "ada");
    assert_eq!(session["Turns"][1]["CreatedByUser"]["Id"], "bob");
}
