//! The members of an import's items: each of them follows the rule of the service's own writes, whatever a document says.

use contracts::paths::{BUDGET_USE, BUDGETS, USAGE};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    budgets::budget,
    export::{exported, full, operator},
    fork::fork,
    import::import,
    session_edits::session_of,
    support::{System, id, session_path, turn, turn_in, turn_path},
};

/// A change of one member of one item: the item by the end of its key, the member and the value.
type Change = (&'static str, &'static str, Value);

/// Returns the position of the first item of a kind.
fn position(document: &Value, kind: &str) -> usize {
    let key = |item: &Value| item["Key"].as_str().unwrap().to_owned();
    let is_kind = |item: &Value| match kind {
        "head" => key(item).starts_with("TURN#") && key(item).matches('#').count() == 1,
        "request" => key(item).ends_with("#REQUEST"),
        "result" => key(item).ends_with("#RESULT"),
        kind => key(item).starts_with(kind),
    };
    document["Stored"].as_array().unwrap().iter().position(is_kind).unwrap_or_else(|| panic!("no {kind}"))
}

/// Sets a member at a path of names.
fn set(item: &mut Value, path: &str, value: Value) {
    let last = path.split('.').fold(item, |at, name| &mut at[name]);
    *last = value;
}

/// Waits until the sweep has finalized the turn of a session of the org `other`: nobody announces an imported one.
async fn finalized(system: &System, session: &str) {
    system.cloud.sweep().await.unwrap();
    let key = format!("O#other#S#{session}");
    system
        .until_item(|item| {
            let is = |name: &str, text: &str| item[name].as_s().is_ok_and(|found| found == text);
            is("PK", &key) && is("SK", "SESSION") && !item.contains_key("OpenTurn")
        })
        .await;
}

fn changes() -> Vec<Change> {
    let far = json!("2999-01-01T00:00:00.000Z");
    let huge = json!(1_000_000_000_000_000_u64);
    let long = json!("x".repeat(70_000));
    let usage = |name: &str| {
        let mut usage = json!({"PromptTokens": 1, "CompletionTokens": 1, "TotalTokens": 2});
        usage[name] = huge.clone();
        usage
    };
    let meter =
        |window: &str, start: &str| json!([{"Scope": "org", "Window": window, "Start": start, "Entry": 7}]);
    vec![
        ("head", "Meters", meter("month", "2999-01")),
        ("head", "Meters", meter("day", "2026")),
        (
            "head",
            "Meters",
            json!([{"Scope": "agent", "Window": "concurrent", "Start": "", "Agent": "other"}]),
        ),
        ("head", "Meters", json!([meter("concurrent", "")[0], meter("concurrent", "")[0]])),
        ("result", "Usage", usage("TotalTokens")),
        ("result", "Usage", usage("PromptTokens")),
        ("result", "Usage", usage("CachedTokens")),
        ("result", "Cost", json!({"Amount": "1000000000", "Currency": "EUR"})),
        ("result", "Cost", json!({"Amount": "1", "Currency": "=cmd()"})),
        ("result", "ModelCalls", json!(4_000_000_000_u32)),
        ("result", "ModelMs", huge.clone()),
        ("result", "Model", long.clone()),
        ("result", "ReceivedAt", far.clone()),
        ("SESSION", "Rev", json!(u64::MAX)),
        ("SESSION", "LastActivity", far.clone()),
        ("SESSION", "Mode", json!("no mode")),
        ("SESSION", "OpenTurn", json!("another")),
        ("SESSION", "LastTurn", json!("another")),
        ("SESSION", "Tip", json!(99)),
        ("SESSION", "WorkspaceId", json!("x".repeat(300))),
        ("SESSION", "Solution.Turn", json!("another")),
        ("SESSION", "Solution.Session", json!("another")),
        ("SESSION", "Cutoff", json!({"Session": "another", "Sequence": 1})),
        ("head", "Created", far.clone()),
        ("head", "Due", json!("2026-01-01T00:00:00.000Z")),
        ("head", "Owner", json!("../other")),
        ("head", "Writer", json!("a/b")),
        ("head", "Takeovers", json!(3)),
        ("head", "BaseDepth", json!(4)),
        ("head", "LastStep", json!({"By": "a", "Step": 4_000_000_000_u32})),
        ("request", "RequestedById", json!("eve")),
        ("request", "RequestedByName", json!("x".repeat(2_000))),
        ("request", "Fingerprint", json!("0".repeat(64))),
        ("USER#", "LastActivity", far.clone()),
        ("FEEDBACK#", "ByName", json!("x".repeat(2_000))),
        ("FEEDBACK#", "At", far.clone()),
        ("MODE#", "New", json!("no mode")),
        ("MODE#", "Turn", json!("another")),
        ("MODE#", "Reason", long),
    ]
}

#[tokio::test]
async fn import_refuses_members_that_the_service_never_writes() {
    let system = System::start().await;
    let turns = full(&system, "acme").await;
    let document = exported(&operator(&system, "acme"), &turns[0], "").await;
    let other = operator(&system, "other");
    let before = (system.items().await.len(), system.objects().await.len());
    let mut accepted = Vec::new();
    for (kind, member, value) in changes() {
        let mut changed = document.clone();
        let at = position(&changed, kind);
        set(&mut changed["Stored"][at], member, value.clone());
        let answer = import(&other, &changed.to_string(), "").await;
        match answer.status {
            400 => assert_eq!(answer.error(), "MemberInvalid", "{kind}.{member}: {}", answer.text),
            status => accepted.push(format!("{kind}.{member} {value:.40}: {status}")),
        }
    }
    assert!(accepted.is_empty(), "{accepted:#?}");
    assert_eq!((system.items().await.len(), system.objects().await.len()), before);
    import(&other, &document.to_string(), "").await.result();
}

#[tokio::test]
async fn import_of_a_settled_turn_counts_no_usage_and_changes_no_budget() {
    let system = System::start().await;
    let (ada, theirs) = (system.client("acme", "ada"), system.client("other", "ada"));
    let (op, other) = (operator(&system, "acme"), operator(&system, "other"));
    let month = budget(json!({"Scope": "org", "Window": "month", "Limit": 1_000_000}));
    for client in [&op, &other] {
        let budgets = json!({"Currency": "EUR", "Budgets": [month]}).to_string();
        client.send(Method::PUT, BUDGETS, Some(budgets)).await.result();
    }
    system.cloud.pause_finalizer().await;
    let asked = turn("What is a lease?");
    ada.execute(&asked).await.result();
    let mut document = exported(&op, &asked, "").await;
    let head = position(&document, "head");
    assert!(document["Stored"][head]["Meters"].is_array(), "{document}");
    import(&other, &document.to_string(), "").await.result();
    system.cloud.resume_finalizer().await;
    finalized(&system, session_of(&asked)).await;
    let used = theirs.get(&turn_path(&asked)).await.result()["Usage"]["TotalTokens"].as_u64().unwrap();
    assert!(used > 0);
    let total = other.get(USAGE).await.result()["Total"]["Turns"].clone();
    assert_eq!(total, json!(0), "the turn used nothing here");
    let of_budget = other.get(BUDGET_USE).await.result();
    assert_eq!(of_budget["Budgets"][0]["Meters"][0]["Used"], json!(0), "{of_budget}");

    // Its sums are those of its turns, whatever the document says.
    document["Session"]["Id"] = json!("copy");
    let session = position(&document, "SESSION");
    set(&mut document["Stored"][session], "Usage.TotalTokens", json!(1_000_000_000_000_000_u64));
    import(&other, &document.to_string(), "").await.result();
    let copy = json!({"SessionId": "copy", "TurnId": asked["TurnId"]});
    finalized(&system, "copy").await;
    let read = theirs.get(&session_path(&copy)).await.result();
    assert_eq!(read["TotalUsage"]["TotalTokens"], json!(used), "{read}");
}

#[tokio::test]
async fn import_of_an_outcome_with_invented_tokens_is_refused() {
    let system = System::start().await;
    let asked = turn("What is a lease?");
    system.client("acme", "ada").execute(&asked).await.result();
    system.until_finalized(session_of(&asked), 1).await;
    let mut document = exported(&operator(&system, "acme"), &asked, "").await;
    let payloads = document["Turns"][0]["Payloads"].as_array_mut().unwrap();
    let outcome = payloads.iter_mut().find(|payload| payload["Kind"] == "outcome").unwrap();
    let mut text: Value = serde_json::from_str(outcome["Text"].as_str().unwrap()).unwrap();
    text["Report"]["Usage"]["TotalTokens"] = json!(1_000_000_000_000_000_u64);
    let text = text.to_string();
    outcome["SizeBytes"] = json!(text.len());
    outcome["Sha256"] = json!(contracts::FileAddress::hash_bytes(text.as_bytes()));
    outcome["Text"] = json!(text);
    let refused = import(&operator(&system, "other"), &document.to_string(), "").await;
    assert_eq!((refused.status, refused.error().as_str()), (400, "MemberInvalid"), "{}", refused.text);
    assert!(refused.text.contains("Usage.TotalTokens"), "{}", refused.text);
}

#[tokio::test]
async fn imported_fork_continues_from_no_other_session_than_its_origin() {
    let system = System::start().await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let origin = turn("The origin");
    ada.execute(&origin).await.result();
    let forked = id();
    fork(&ada, &origin, &json!({"SessionId": forked, "TurnId": origin["TurnId"]})).await.result();
    let own = turn_in(&forked, "Goes on");
    ada.execute(&own).await.result();
    system.until_finalized(&forked, 1).await;
    let document = exported(&op, &own, "").await;
    for (kind, member, value) in [
        ("head", "ParentSession", json!("another")),
        ("head", "Parent", json!(7)),
        ("head", "BaseDepth", json!(7)),
        ("SESSION", "ForkedFrom.Depth", json!(0)),
        ("SESSION", "ForkedFrom.Sequence", json!(0)),
        ("SESSION", "ForkedFrom.Session", json!("another")),
        ("SESSION", "Cutoff", json!({"Session": "another", "Sequence": 9})),
    ] {
        let mut changed = document.clone();
        let at = position(&changed, kind);
        set(&mut changed["Stored"][at], member, value);
        let refused = import(&operator(&system, "other"), &changed.to_string(), "").await;
        assert_eq!(refused.status, 400, "{kind}.{member}: {}", refused.text);
    }
    import(&operator(&system, "other"), &document.to_string(), "").await.result();
}
