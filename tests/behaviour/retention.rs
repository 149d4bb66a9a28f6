//! Retention of deleted sessions: the context's, else the org's, else the deployment's.

use contracts::Timestamp;
use local::{Function, Options};
use serde_json::{Value, json};

use crate::org_settings::set;
use crate::session_edits::{delete, restore};
use crate::support::{Client, System, in_context, options, session_path, turn};

async fn system() -> System {
    let environment = [("SESSION_RETENTION_DAYS".to_owned(), "5".to_owned())].into();
    System::with(Options { environment, ..options() }).await
}

/// After how many days a session is purged that is deleted now.
async fn days(client: &Client, request: &Value) -> u64 {
    let deleted = delete(client, request).await.result();
    let read = client.get(&session_path(request)).await.result();
    assert_eq!(read["KeptUntilDate"], deleted["KeptUntilDate"]);
    let at = |name: &str| read[name].as_str().unwrap().parse::<Timestamp>().unwrap();
    at("DeletedDate").until(at("KeptUntilDate")).as_secs() / 86_400
}

#[tokio::test]
async fn retention_of_context_overrides_org_and_deployment() {
    let system = system().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("rival", "eve"));
    let (of_org, of_deployment, of_context) = (turn("org"), turn("deployment"), in_context("context"));
    system.put_context(json!({"RetentionDays": 9})).await;
    set(&system, "acme", json!({"RetentionDays": 7})).await;
    for (client, request, expected) in [(&ada, &of_org, 7), (&eve, &of_deployment, 5), (&ada, &of_context, 9)]
    {
        client.execute(request).await.result();
        assert_eq!(days(client, request).await, expected, "{request}");
    }
}

#[tokio::test]
async fn retention_is_fixed_when_a_session_is_deleted() {
    let system = system().await;
    let ada = system.client("acme", "ada");
    let request = in_context("first words");
    system.put_context(json!({"RetentionDays": 9})).await;
    ada.execute(&request).await.result();
    assert_eq!(days(&ada, &request).await, 9);
    let kept = ada.get(&session_path(&request)).await.result()["KeptUntilDate"].clone();
    system.put_context(json!({"RetentionDays": 2})).await;
    delete(&ada, &request).await.result();
    assert_eq!(
        ada.get(&session_path(&request)).await.result()["KeptUntilDate"],
        kept,
        "it is deleted already"
    );
    restore(&ada, &request).await.result();
    // Contexts are kept in memory for a while: another process has not read it.
    system.cloud.crash(Function::Execute);
    while restore(&ada, &request).await.status == 502 {}
    assert_eq!(days(&ada, &request).await, 2, "it is deleted anew");
}
