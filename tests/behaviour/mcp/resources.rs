//! Sessions and turns as resources: pages, search, and what other users don't see.

use serde_json::{Value, json};

use super::{ERAS, Era, answered, error, failed, in_session, message, read, result, turn_uri, uri};
use crate::support::System;

#[tokio::test]
async fn sessions_are_listed_in_pages_and_found_by_their_words() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let mut begun = Vec::new();
    for n in 0..51 {
        let call = message(&format!("Lemon{n} [[script: say \"Tree.\"]]"));
        begun.push(uri(&answered(&ada, Era::PerRequest, call).await));
    }
    begun.reverse();
    for era in ERAS {
        let first = result(&ada, era, "resources/list", json!({})).await;
        let second = result(&ada, era, "resources/list", json!({"cursor": first["nextCursor"]})).await;
        let uris = |page: &Value| -> Vec<String> {
            let resources = page["resources"].as_array().unwrap().iter();
            resources.map(|resource| resource["uri"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!([uris(&first), uris(&second)].concat(), begun);
        assert_eq!(second.get("nextCursor"), None);
        let found: Value = serde_json::from_str(&read(&ada, era, "aptix://search?q=lemon7").await).unwrap();
        let ids: Vec<String> = found["Items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| format!("aptix://sessions/{}", one["Session"]["Id"].as_str().unwrap()))
            .collect();
        assert_eq!(ids, [begun[50 - 7].clone()], "{found}");
        let page: Value = serde_json::from_str(&read(&ada, era, "aptix://search?q=tree").await).unwrap();
        let next = page["ContinuationToken"].as_str().unwrap();
        let rest = read(&ada, era, &format!("aptix://search?q=tree&continuationToken={next}")).await;
        let rest: Value = serde_json::from_str(&rest).unwrap();
        let count = |page: &Value| page["Items"].as_array().unwrap().len();
        assert_eq!((count(&page), count(&rest)), (50, 1));
    }
    let templates = result(&ada, Era::PerRequest, "resources/templates/list", json!({})).await;
    assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn private_session_of_another_user_is_not_found() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("acme", "eve"));
    let private = answered(&ada, Era::PerRequest, message("Lemon [[script: say \"Hello.\"]]")).await;
    let path = format!("/api/ai/agent/sessions/{}", private["session"].as_str().unwrap());
    let hide = json!({"Visibility": "participants"}).to_string();
    ada.send(reqwest::Method::PATCH, &path, Some(hide)).await.result();
    for era in ERAS {
        let code = if era == Era::PerRequest { -32602 } else { -32002 };
        let answer = format!("{}/answer", turn_uri(&private));
        for uri in
            [&uri(&private), &turn_uri(&private), &answer, "aptix://sessions/nobodys", "file:///etc/passwd"]
        {
            let refused = error(&eve, era, "resources/read", json!({"uri": uri})).await;
            assert_eq!(refused, (200, code, "Resource not found".to_owned()), "{uri}");
        }
        assert_eq!(result(&eve, era, "resources/list", json!({})).await["resources"], json!([]));
        let found: Value = serde_json::from_str(&read(&eve, era, "aptix://search?q=lemon").await).unwrap();
        assert_eq!(found["Items"], json!([]));
        let nobodys = failed(&eve, era, in_session(&json!("nobodys"), "Hi")).await;
        assert_eq!(failed(&eve, era, in_session(&private["session"], "Hi")).await, nobodys);
    }
    assert_eq!(ada.get(&path).await.result()["TurnCount"], 1);
}
