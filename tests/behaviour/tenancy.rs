//! The tenant comes from the verified caller and from nowhere else (I7).

use serde_json::json;

use crate::support::{System, session_path, turn, turn_path};

#[tokio::test]
async fn the_same_ids_under_another_org_are_another_session_and_a_foreign_one_is_not_found() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("rival", "eve"));
    let asked = turn("our secret");
    ada.execute(&asked).await.result();

    for path in [
        session_path(&asked),
        turn_path(&asked),
        format!("{}/turns/last", session_path(&asked)),
        format!("{}/summary", turn_path(&asked)),
        format!("{}/payloads/instruction", turn_path(&asked)),
    ] {
        let foreign = eve.get(&path).await;
        assert_eq!(foreign.status, 404, "{path}");
        let unknown = eve
            .get(&path.replace(asked["SessionId"].as_str().unwrap(), "0123456789abcdef0123456789abcdef"))
            .await;
        assert_eq!(foreign.text, unknown.text, "foreign and unknown look the same");
    }

    let mut theirs = asked.clone();
    theirs["Instruction"] = json!("their own");
    let answer = eve.execute(&theirs).await.result();
    assert!(answer["PrimaryOutputText"].as_str().unwrap().contains("their own"));
    assert_eq!(eve.get(&session_path(&asked)).await.result()["TurnCount"], 1);
    assert_eq!(ada.get(&turn_path(&asked)).await.result()["InstructionSummary"], "our secret");
}

#[tokio::test]
async fn an_org_whose_name_holds_separators_stays_in_its_own_partition() {
    let system = System::start().await;
    let sly = system.client("acme#S#x/../y", "eve");
    let asked = turn("hello");
    sly.execute(&asked).await.result();
    assert_eq!(sly.get(&session_path(&asked)).await.result()["OwnerOrganization"]["Id"], "acme#S#x/../y");
    assert_eq!(system.client("acme", "ada").get(&session_path(&asked)).await.status, 404);
}

#[tokio::test]
async fn every_member_of_an_org_reads_and_continues_its_sessions() {
    let system = System::start().await;
    let asked = turn("first");
    system.client("acme", "ada").execute(&asked).await.result();
    let bob = system.client("acme", "bob");
    bob.execute(&crate::support::turn_in(asked["SessionId"].as_str().unwrap(), "second")).await.result();
    let session = bob.get(&session_path(&asked)).await.result();
    assert_eq!(session["OwnerUser"]["Id"], "ada");
    assert_eq!(session["Turns"][1]["CreatedByUser"]["Id"], "bob");
}
