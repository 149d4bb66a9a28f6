//! `GET …/sessions/{SessionId}/export`, `GET /api/ai/agent/export` and `POST /api/ai/agent/import`.

use contracts::paths;
use local::{Function, token::Identity};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    client_tools::{results, submit},
    session_edits::{delete, edit, session_of},
    support::{Client, System, id, session_path, turn, turn_in, turn_path, workspace_turn},
};

pub fn operator(system: &System, org: &str) -> Client {
    system.identified(&Identity { operator: true, ..Identity::user(org, "op") })
}

/// A session that has a bit of everything, all of it over: its turns, oldest first.
pub async fn full(system: &System, org: &str) -> Vec<Value> {
    let (ada, bob) = (system.client(org, "ada"), system.client(org, "bob"));
    let file = json!({
        "name": "ü.md", "media_type": "text/markdown", "contents": "# Hi", "encoding": "utf8", "description": null,
    });
    let bytes = json!({
        "name": "b.bin", "media_type": "image/png", "contents": "/wD/", "encoding": "base64", "description": null,
    });
    let change = json!({"mode": "ddr_authoring", "branch": false, "reason": "It is a decision."});
    let first = workspace_turn(&format!(
        "Publish [[script: call publish_file {file}; call publish_file {bytes}; then; say \"There.\"]]"
    ));
    let session = session_of(&first).to_owned();
    let mut changes =
        turn_in(&session, &format!("Change [[script: call agent_change_mode {change}; then; say \"So.\"]]"));
    changes["SolutionContextText"] = json!("A Rust workspace.");
    let asks =
        turn_in(&session, "Read [[script: call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]");
    let fails = turn_in(&session, "Fail [[script: status 400]]");
    ada.execute(&first).await.result();
    bob.execute(&changes).await.result();
    let suspended = ada.execute(&asks).await.result();
    submit(&ada, &results(&suspended, "contents of a")).await.result();
    ada.execute(&fails).await;
    let rerun = json!({"TurnId": id(), "Instruction": "Again, please."});
    ada.post(&format!("{}/rerun", turn_path(&first)), rerun.to_string()).await.result();
    for (client, rating) in [(&ada, 5), (&bob, 2)] {
        let said = json!({"Rating": rating, "Label": "right", "Note": "Yes."}).to_string();
        client.send(Method::PUT, &format!("{}/feedback", turn_path(&first)), Some(said)).await.result();
    }
    let change = json!({"Name": "All of it", "Description": "Everything", "Category": "docs"});
    edit(&ada, &first, change).await.result();
    let again = json!({"SessionId": session, "TurnId": rerun["TurnId"]});
    let all = vec![first, changes, asks, fails, again];
    system.until_finalized(&session, all.len()).await;
    all
}

pub async fn exported(client: &Client, of: &Value, query: &str) -> Value {
    let answer = client.get(&format!("{}/export{query}", session_path(of))).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn kinds(turn: &Value) -> Vec<&str> {
    let mut kinds: Vec<&str> =
        turn["Payloads"].as_array().unwrap().iter().map(|one| one["Kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    kinds
}

#[tokio::test]
async fn export_has_all_reads_and_import_data_for_operators() {
    let system = System::start().await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let turns = full(&system, "acme").await;
    let answer = ada.get(&format!("{}/export", session_path(&turns[0]))).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(answer.header("content-disposition").unwrap().contains(session_of(&turns[0])));
    let document = answer.json();
    assert_eq!(document["Format"], "aptix-export/1");
    let mut session = ada.get(&session_path(&turns[0])).await.result();
    let modes = session["ModeHistory"].take();
    (session["ModeHistory"], session["Turns"]) = (json!([]), json!([]));
    assert_eq!((&document["Session"], &document["ModeHistory"]), (&session, &modes));
    assert!(!modes.as_array().unwrap().is_empty());
    assert_eq!(document["Turns"].as_array().unwrap().len(), turns.len());
    for (one, asked) in document["Turns"].as_array().unwrap().iter().zip(&turns) {
        assert_eq!(one["Turn"], ada.get(&turn_path(asked)).await.result());
        let said = ada.get(&format!("{}/feedback", turn_path(asked))).await.result();
        assert_eq!(one["Feedback"], said["Items"]);
        for payload in one["Payloads"].as_array().unwrap() {
            let name = match payload["Kind"].as_str().unwrap() {
                "instruction" => "payloads/instruction".to_owned(),
                "answer" => "payloads/answer".to_owned(),
                "file" => format!("payloads/{}", payload["Object"].as_str().unwrap()),
                other => panic!("{other} is for operators"),
            };
            let value = ada.get(&format!("{}/{name}?inline=true", turn_path(asked))).await.result();
            for member in ["Name", "MimeType", "SizeBytes", "Sha256", "Text", "Base64"] {
                assert_eq!(payload.get(member), value.get(member), "{member} of {name}");
            }
        }
    }
    let of = |number: usize| kinds(&document["Turns"][number]);
    assert_eq!((of(0).len(), of(1), of(3)), (4, vec!["answer", "instruction"], vec!["instruction"]));
    assert_eq!(document["Turns"][0]["Feedback"].as_array().unwrap().len(), 2);
    assert!(
        document.get("Stored").is_none()
            && document["Turns"][4]["Turn"]["RerunOfTurnId"] == turns[0]["TurnId"]
    );

    let whole = exported(&op, &turns[0], "").await;
    assert!(
        kinds(&whole["Turns"][2]).contains(&"outcome") && kinds(&whole["Turns"][2]).contains(&"tool_results")
    );
    let keys: Vec<&str> =
        whole["Stored"].as_array().unwrap().iter().map(|item| item["Key"].as_str().unwrap()).collect();
    assert_eq!(keys.iter().filter(|key| key.starts_with("TURN#")).count(), 3 * turns.len());
    assert!(keys.contains(&"SESSION") && keys.contains(&"USER#bob"));
    let secret = |name: &str| whole["Stored"].to_string().contains(name);
    assert!(!secret("GSI1PK") && !secret("\"PK\""), "an export says nothing of keys that follow from others");

    let links = exported(&op, &turns[0], "?payloads=links").await;
    assert!(links.get("Stored").is_none());
    for payload in
        links["Turns"].as_array().unwrap().iter().flat_map(|turn| turn["Payloads"].as_array().unwrap())
    {
        assert!(payload.get("Text").is_none() && payload.get("Base64").is_none(), "{payload}");
        assert_eq!(op.get(payload["Url"].as_str().unwrap()).await.status, 302, "{payload}");
    }
    let wrong = ada.get(&format!("{}/export?payloads=none", session_path(&turns[0]))).await;
    assert_eq!((wrong.status, wrong.error().as_str()), (400, "ParameterInvalid"));
}

#[tokio::test]
async fn org_export_has_one_line_per_session_and_needs_an_operator() {
    let system = System::start().await;
    let (ada, op, eve) =
        (system.client("acme", "ada"), operator(&system, "acme"), operator(&system, "rival"));
    let (first, private, deleted) = (turn("first"), turn("private"), turn("deleted"));
    for request in [&first, &private, &deleted] {
        ada.execute(request).await.result();
        system.until_finalized(session_of(request), 1).await;
    }
    edit(&ada, &private, json!({"Visibility": "participants"})).await.result();
    delete(&ada, &deleted).await.result();
    let answer = op.get(paths::EXPORT).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/jsonl")));
    let lines: Vec<Value> = answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [newer, older, end] = &lines[..] else { panic!("{}", answer.text) };
    assert_eq!(*newer, exported(&op, &private, "").await);
    assert_eq!(*older, exported(&op, &first, "").await);
    assert_eq!(*end, json!({"Format": "aptix-export-end/1", "SessionCount": 2}));
    let all = op.get(&format!("{}?includeDeleted=true&payloads=links", paths::EXPORT)).await;
    assert_eq!(all.text.lines().count(), 4);
    assert_eq!(eve.get(paths::EXPORT).await.text.lines().count(), 1, "of another org only the end");

    let refused = ada.get(paths::EXPORT).await;
    assert_eq!((refused.status, refused.error().as_str()), (403, "Forbidden"));
    let unknown = eve.get(&paths::SESSION_EXPORT.fill(&id().parse().unwrap())).await;
    let foreign = eve.get(&format!("{}/export", session_path(&first))).await;
    let hidden = system.client("acme", "bob").get(&format!("{}/export", session_path(&private))).await;
    for answer in [&foreign, &hidden] {
        assert_eq!((answer.status, &answer.text), (404, &unknown.text));
    }
    let of_export = |line: &Value| line["message"] == "audit" && line["action"] == "export";
    let audited = system.logged(Function::SessionRead, "audit", of_export).await;
    assert!(audited.iter().any(|line| line["session"] == private["SessionId"] && line["user"] == "op"));
}

#[tokio::test]
async fn oversized_session_ends_with_a_link_and_the_export_goes_on() {
    let system = System::start().await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let older = turn("older");
    ada.execute(&older).await.result();
    system.until_finalized(session_of(&older), 1).await;
    let large = turn("large");
    let session = session_of(&large).to_owned();
    let mut turns = vec![large.clone()];
    turns.extend((0..4).map(|number| turn_in(&session, &format!("more {number}"))));
    for (number, request) in turns.iter().enumerate() {
        ada.execute(request).await.result();
        system.until_finalized(&session, number + 1).await;
        assert_eq!(ada.get(&format!("{}/payloads/answer", turn_path(request))).await.status, 302);
    }
    let of_session = |key: &&String| key.contains(&session) && key.ends_with("/answer.md");
    for key in system.objects().await.iter().filter(of_session) {
        let put = system.cloud.s3().put_object().bucket(system.cloud.bucket()).key(key);
        put.body(vec![b'x'; 9 * 1024 * 1024].into()).send().await.unwrap();
    }
    let lines = async |path: String| -> Vec<Value> {
        op.get(&path).await.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let [cut, end] = &lines(paths::EXPORT.to_owned()).await[..] else { panic!("a session and the end") };
    assert_eq!(cut["Session"]["Id"], session);
    assert!(cut["Turns"].as_array().unwrap().len() < 5 && cut.get("Stored").is_none());
    let token = end["ContinuationToken"].as_str().unwrap();
    let rest = lines(format!("{}?continuationToken={token}", paths::EXPORT)).await;
    assert_eq!(rest[0]["Session"]["Id"], older["SessionId"], "it goes on");
    assert!(rest[1].get("ContinuationToken").is_none() && rest[0].get("RemainderUrl").is_none());
    let own = op.get(&format!("/{}", cut["RemainderUrl"].as_str().unwrap())).await.json();
    assert_eq!(own["Turns"].as_array().unwrap().len(), 5);

    let refused = op.raw(
        Method::POST,
        paths::IMPORT,
        &[("content-type", "application/jsonl")],
        json!({"Format": "aptix-export/1", "Session": own["Session"], "ModeHistory": [], "Turns": [],
               "Stored": [], "RemainderUrl": "x"})
        .to_string()
        .into_bytes(),
    );
    let refused = refused.await;
    assert_eq!((refused.status, &refused.errors()[0]["Details"]), (400, &json!("[0].RemainderUrl")));
}

#[tokio::test]
async fn oversized_export_ends_with_a_continuation_token() {
    let system = System::start().await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let turns = [turn("one"), turn("two"), turn("three")];
    for request in &turns {
        ada.execute(request).await.result();
        system.until_finalized(session_of(request), 1).await;
        assert_eq!(ada.get(&format!("{}/payloads/answer", turn_path(request))).await.status, 302);
    }
    for key in system.objects().await.iter().filter(|key| key.ends_with("/answer.md")) {
        let put = system.cloud.s3().put_object().bucket(system.cloud.bucket()).key(key);
        put.body(vec![b'x'; 9 * 1024 * 1024].into()).send().await.unwrap();
    }
    let mut seen = Vec::new();
    let mut path = paths::EXPORT.to_owned();
    let mut calls = 0;
    loop {
        let text = op.get(&path).await.text;
        let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let end = lines.pop().unwrap();
        assert_eq!(end["SessionCount"], lines.len());
        seen.extend(lines.iter().map(|line| line["Session"]["Id"].clone()));
        calls += 1;
        let Some(token) = end["ContinuationToken"].as_str() else { break };
        path = format!("{}?continuationToken={token}", paths::EXPORT);
    }
    let newest_first: Vec<Value> = turns.iter().rev().map(|turn| turn["SessionId"].clone()).collect();
    assert_eq!((seen, calls), (newest_first, 2), "each once");
}
