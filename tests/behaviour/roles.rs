//! The functions' roles in `template.yaml`: no wider than what the functions do. Every test of this suite runs under
//! them, so they are no narrower either.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use contracts::paths::{EXECUTE, TOOL_RESULTS};
use local::{Function, Options};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    client_tools::{results, submit},
    export::operator,
    import::{import, text},
    mcp, openai,
    support::{
        Answer, Client, LEASE, PATIENCE, System, options, session_path, turn, turn_in, turn_path,
        workspace_turn,
    },
};

/// Permissions that no test can exercise: a statement or an action, and the reason.
const UNSEEN: [(&str, &str); 13] = [
    // Lambda does these on the function's behalf.
    ("execute", "WriteLogs"),
    ("tool-continuation", "WriteLogs"),
    ("session-read", "WriteLogs"),
    ("turn-finalizer", "WriteLogs"),
    ("knowledge-indexer", "WriteLogs"),
    ("authorizer", "WriteLogs"),
    ("turn-finalizer", "ConsumeAnnouncements"),
    ("execute", "ConsumeTurns"),
    // Calls of Secrets Manager don't pass through the proxy that records permissions.
    ("execute", "ReadConnectionSecrets"),
    ("execute", "WriteConnectionSecrets"),
    ("tool-continuation", "ReadConnectionSecrets"),
    ("turn-finalizer", "ReadWebhookSecrets"),
    ("knowledge-indexer", "ConsumeAnnouncements"),
];

const READ: &str =
    "Read [[script: call workspace_read_file {\"path\":\"a\"}; then; delay 700ms; say \"Read.\"]]";

/// A session in which everything goes well, and all of it read.
async fn ordinary(system: &System) {
    let ada = system.client("acme", "ada");
    let file = json!({
        "name": "a.txt", "media_type": "text/plain", "contents": "text", "encoding": "utf8", "description": null,
    });
    let first = workspace_turn(&format!("Publish [[script: call publish_file {file}; then; say \"Done.\"]]"));
    let answer = ada.execute(&first).await.result();
    let session = first["SessionId"].as_str().unwrap();
    let asks = turn_in(session, READ);
    let suspended = ada.execute(&asks).await.result();
    submit(&ada, &results(&suspended, "contents")).await.result();
    let mut other = asks.clone();
    other["Instruction"] = json!("Something else, too large for the table. ".repeat(150));
    assert_eq!(ada.execute(&other).await.status, 409, "what was stored of it is removed");
    let waits = turn_in(session, READ);
    ada.execute(&waits).await.result();
    // Its request has no object yet.
    let link = ada.get(&format!("{}/payloads/instruction", turn_path(&waits))).await;
    assert_eq!(link.status, 302, "{}", link.text);
    // Another user joins, and supersedes what waits.
    system.client("acme", "bob").execute(&turn_in(session, "Go on")).await.result();
    let file = answer["Files"][0]["Url"].as_str().unwrap().to_owned();
    for path in [
        session_path(&first),
        turn_path(&first),
        format!("{}/turns/last", session_path(&first)),
        format!("{}/mode-history", session_path(&first)),
        format!("{}/payloads/instruction", turn_path(&first)),
        format!("{}/payloads/answer", turn_path(&first)),
        format!("{}/stream", turn_path(&first)),
        "/api/ai/agent/sessions".to_owned(),
        file.clone(),
    ] {
        let read = ada.get(&path).await;
        assert!(read.status < 400, "{path}: {}", read.text);
    }
    ada.send(Method::PUT, &format!("{}/feedback", turn_path(&first)), Some(json!({"Rating": 5}).to_string()))
        .await
        .result();
    // The items of an import are written under a condition on its reservation.
    let copied = turn("Copied");
    ada.execute(&copied).await.result();
    let document = text(&operator(system, "acme"), &copied).await;
    import(&operator(system, "other"), &document, "").await.result();
    // Its objects have versions, and one of them was removed.
    let unwanted = turn("Unwanted");
    ada.execute(&unwanted).await.result();
    let purged = format!("{}?purge=true", session_path(&unwanted));
    ada.send(Method::DELETE, &purged, None).await.result();
    let upload = openai::upload(&ada, "a.txt", b"text").await;
    ada.send(Method::DELETE, &format!("/v1/files/{}", upload["id"].as_str().unwrap()), None).await;
    mcp::list_sessions(&ada).await;
    let missing = ada.get(&file.replacen("a.txt", "b.txt", 1)).await;
    assert_eq!(missing.status, 404, "{}", missing.text);
}

/// Conversations that are told from our own records.
async fn from_records(system: &System) {
    let ada = system.client("acme", "ada");
    let first = workspace_turn("First");
    ada.execute(&first).await.result();
    let asks = turn_in(first["SessionId"].as_str().unwrap(), READ);
    let suspended = ada.execute(&asks).await.result();
    submit(&ada, &results(&suspended, "contents")).await.result();
    ada.execute(&turn_in(first["SessionId"].as_str().unwrap(), "Third")).await.result();
}

/// Sessions that are indexed.
async fn indexed(system: &System) {
    system.indexed("sources", 3, &[]).await;
    system.client("acme", "ada").execute(&turn("Found")).await.result();
}

/// Functions that die in a stream while clients come back, and one that nobody comes back for.
async fn crash_execute(system: &System) {
    let ada = system.client("acme", "ada");
    let mut streamed = workspace_turn(&READ.replace("say", "pace 20ms; words 100; say"));
    streamed["Streaming"] = json!(true);
    dies(system, Function::Execute, ada.stream(Method::POST, EXECUTE, None, Some(&streamed))).await;
    let suspended = answered(&ada, EXECUTE, &streamed).await;
    let right = results(&suspended, "contents");
    dies(system, Function::ToolContinuation, ada.stream(Method::POST, TOOL_RESULTS, None, Some(&right)))
        .await;
    answered(&ada, TOOL_RESULTS, &right).await;
    let left = turn("Leave [[script: delay 1s]]");
    dies(system, Function::Execute, ada.execute(&left)).await;
    let ended = |answer: &Answer| answer.json()["Result"]["Status"]["Id"] == "failed";
    ada.until(&turn_path(&left), PATIENCE, ended).await;
}

/// Kills a function once its request has asked the model.
async fn dies<T>(system: &System, function: Function, request: impl Future<Output = T>) {
    let calls = system.model_calls().len();
    futures::join!(request, async {
        system.model_called(calls + 1).await;
        system.cloud.crash(function);
    });
}

/// The result of a request that is streamed, sent again until there is one.
async fn answered(client: &Client, path: &str, body: &Value) -> Value {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Ok(events) = client.stream(Method::POST, path, None, Some(body)).await
            && let Some(result) = events.rest().await.into_iter().find(|event| event.kind == "result")
        {
            let result: Value = serde_json::from_str(&result.data).unwrap();
            return result["Result"].clone();
        }
        assert!(Instant::now() < until, "no result of {path}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn every_role_permission_is_used() {
    let local = [("CONVERSATION_STATE".to_owned(), "local".to_owned())];
    let system = System::start().await;
    ordinary(&system).await;
    let recorded = System::with(Options { environment: local.into(), ..options() }).await;
    from_records(&recorded).await;
    let indexing = System::start().await;
    indexed(&indexing).await;
    let informed = System::start().await;
    crate::knowledge::upload_and_delete(&informed).await;
    crate::connections::file_in_a_resumed_turn(&informed).await;
    crate::webhooks::deliver_an_event(&informed).await;
    let sweep = Some(Duration::from_secs(1));
    let dying = System::with(Options { lease: Some(LEASE), sweep, ..options() }).await;
    crash_execute(&dying).await;
    crate::approvals::continue_by_answer_and_by_sweep(&dying).await;
    let trusting = crate::oidc::with_program().await;
    let allowed: BTreeSet<_> = system
        .roles
        .statements()
        .iter()
        .filter(|statement| !UNSEEN.contains(&(statement.function.as_str(), statement.sid.as_str())))
        .flat_map(|statement| {
            let parts = statement.actions.iter().chain(&statement.resources);
            parts.map(|part| (statement.function.clone(), statement.sid.clone(), part.clone()))
        })
        .collect();
    // The finalizer works beside us.
    let until = Instant::now() + PATIENCE;
    loop {
        let used: BTreeSet<_> = [&system, &recorded, &indexing, &informed, &dying, &trusting]
            .iter()
            .flat_map(|system| system.roles.used())
            .collect();
        let unused: Vec<_> = allowed.difference(&used).collect();
        if unused.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "allowed in template.yaml and not used: {unused:#?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
