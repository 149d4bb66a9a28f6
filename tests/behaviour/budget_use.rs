//! `GET /api/ai/agent/budgets/use`, and `aptix budgets use`.

use contracts::paths::{BUDGET_USE, BUDGETS, USAGE};
use local::token::Identity;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    budgets::budget,
    export::operator,
    provider_start::aptix,
    support::{Answer, Client, PATIENCE, System, turn, workspace_turn},
};

/// Replaces the budgets of the org `acme`.
async fn set(system: &System, budgets: &[Value]) {
    let body = json!({"Currency": "USD", "Budgets": budgets}).to_string();
    operator(system, "acme").send(Method::PUT, BUDGETS, Some(body)).await.result();
}

/// Returns the use of the budget with this id in a report.
fn used<'a>(report: &'a Value, id: &str) -> &'a Value {
    let budgets = report["Budgets"].as_array().unwrap();
    budgets.iter().find(|used| used["Budget"]["Id"] == id).unwrap_or(&Value::Null)
}

/// Reads a report once its budget `all` has counted these tokens, and holds none for turns that haven't ended.
async fn settled(client: &Client, tokens: u64) -> Value {
    let is_settled = |answer: &Answer| {
        let meter = used(&answer.json()["Result"], "all")["Meters"][0].clone();
        (&meter["Used"], &meter["Reserved"]) == (&json!(tokens), &json!(0))
    };
    client.until(BUDGET_USE, PATIENCE, is_settled).await.result()
}

#[tokio::test]
async fn use_of_budgets_equals_the_usage_of_all_turns() {
    let system = System::start().await;
    let prices = json!({"PromptPerMillion": "1", "CompletionPerMillion": "10", "Currency": "USD"});
    system.put_context(json!({ "Prices": prices })).await;
    let all = budget(json!({"Id": "all", "Scope": "org", "Window": "month", "Limit": 1_000_000}));
    set(
        &system,
        &[
            all,
            budget(
                json!({"Id": "money", "Scope": "org", "Window": "month", "Unit": "money", "Limit": 9_000_000}),
            ),
            budget(json!({"Id": "users", "Limit": 500_000})),
            budget(json!({"Id": "agents", "Scope": "agent", "Unit": "turns", "Limit": 50})),
            budget(json!({"Id": "sessions", "Scope": "session", "Limit": 500_000})),
            budget(json!({"Id": "at-once", "Window": "concurrent", "Unit": "turns", "Limit": 9})),
            budget(json!({"Id": "single", "Window": "turn", "Limit": 900_000})),
        ],
    )
    .await;
    let (ada, bob, op) =
        (system.client("acme", "ada"), system.client("acme", "bob"), operator(&system, "acme"));
    assert_eq!(
        used(&op.get(BUDGET_USE).await.result(), "all")["Meters"],
        json!([{"Used": 0, "Reserved": 0}])
    );
    let mut priced = turn("One [[script: usage 100 10; say \"Done.\"]]");
    priced["ConversationContextId"] = json!("c");
    ada.execute(&priced).await.result();
    ada.execute(&turn("Two [[script: usage 20 2; say \"Done.\"]]")).await.result();
    bob.execute(&turn("Three [[script: usage 2 1; say \"Done.\"]]")).await.result();

    settled(&op, 135).await;
    // Usage names the users and agents, and is added after the meter.
    let counted = |answer: &Answer| answer.json()["Result"]["Total"]["Turns"] == 3;
    let usage = op.until(&format!("{USAGE}?by=user"), PATIENCE, counted).await.result();
    let report = op.get(BUDGET_USE).await.result();
    assert_eq!(report["Currency"], "USD");
    let meter = &used(&report, "all")["Meters"][0];
    assert_eq!(meter["Used"], usage["Total"]["Usage"]["TotalTokens"]);
    assert_eq!(used(&report, "money")["Meters"], json!([{"Used": 252, "Reserved": 0, "UnpricedTurns": 0}]));
    let by_user: Vec<Value> = usage["Groups"].as_array().unwrap().iter().map(of_group).collect();
    assert_eq!(used(&report, "users")["Meters"], json!(by_user));
    assert_eq!(used(&report, "agents")["Meters"], json!([{"Subject": "default", "Used": 3, "Reserved": 0}]));
    let none = |id: &str| used(&report, id)["Meters"] == json!([]) && used(&report, id)["OmittedMeters"] == 0;
    assert!(none("sessions") && none("single"), "{report}");
    let end = used(&report, "all")["WindowEndDate"].as_str().unwrap();
    assert!(end.ends_with("-01T00:00:00.000Z"), "{end}");
    assert_eq!(used(&report, "at-once").get("WindowEndDate"), None);

    // A turn that waits for tools holds its estimate, and counts as no concurrent one.
    let waits = workspace_turn("Four [[script: usage 5 5; call workspace_read_file {\"path\":\"a\"}]]");
    ada.execute(&waits).await.result();
    let report = op.get(BUDGET_USE).await.result();
    let meter = &used(&report, "all")["Meters"][0];
    assert_eq!(meter["Used"], 135);
    assert!(meter["Reserved"].as_u64().unwrap() > 0, "{meter}");
    let at_once = used(&report, "at-once")["Meters"].as_array().unwrap();
    assert!(at_once.iter().all(|meter| meter["Reserved"] == 0), "{at_once:?}");
}

/// Returns the meter that a group of usage must have.
fn of_group(group: &Value) -> Value {
    json!({"Subject": group["Key"], "Used": group["Usage"]["TotalTokens"], "Reserved": 0})
}

#[tokio::test]
async fn users_see_their_own_budgets_and_no_others() {
    let system = System::start().await;
    set(
        &system,
        &[
            budget(json!({"Id": "all", "Scope": "org", "Limit": 10_000})),
            budget(json!({"Id": "users", "Limit": 10_000})),
            budget(json!({"Id": "bob", "Subject": "bob", "Limit": 9_000})),
            budget(json!({"Id": "agents", "Scope": "agent", "Limit": 10_000})),
        ],
    )
    .await;
    let (ada, bob, op) =
        (system.client("acme", "ada"), system.client("acme", "bob"), operator(&system, "acme"));
    ada.execute(&turn("One [[script: usage 10 1; say \"Done.\"]]")).await.result();
    settled(&op, 11).await;
    let ids = |report: &Value| -> Vec<String> {
        let budgets = report["Budgets"].as_array().unwrap().iter();
        budgets.map(|used| used["Budget"]["Id"].as_str().unwrap().to_owned()).collect()
    };
    let own = ada.get(BUDGET_USE).await.result();
    assert_eq!(ids(&own), ["users"]);
    assert_eq!(used(&own, "users")["Meters"], json!([{"Subject": "ada", "Used": 11, "Reserved": 0}]));
    let of_bob = bob.get(BUDGET_USE).await.result();
    assert_eq!(ids(&of_bob), ["users", "bob"]);
    assert_eq!(used(&of_bob, "bob")["Meters"], json!([{"Subject": "bob", "Used": 0, "Reserved": 0}]));
    assert_eq!(op.get(&format!("{BUDGET_USE}?userId=ada")).await.result(), own);
    assert_eq!(ada.get(&format!("{BUDGET_USE}?userId=ada")).await.result(), own);
    assert_eq!(ids(&op.get(BUDGET_USE).await.result()), ["all", "users", "bob", "agents"]);

    let refused = ada.get(&format!("{BUDGET_USE}?userId=bob")).await;
    assert_eq!((refused.status, refused.error().as_str()), (403, "Forbidden"));
    let unknown = ada.get(&format!("{BUDGET_USE}?userId=nobody")).await;
    assert_eq!(unknown.text, refused.text, "whether the user exists is not told");
    // Another org has its own budgets, whoever asks.
    for client in [operator(&system, "rival"), system.client("rival", "ada")] {
        assert_eq!(client.get(BUDGET_USE).await.result(), json!({"Budgets": []}));
        assert_eq!(client.get(&format!("{BUDGET_USE}?org=acme")).await.status, 400);
    }
    assert_eq!(system.anonymous().get(BUDGET_USE).await.status, 401);
}

#[tokio::test]
async fn command_prints_the_use_of_budgets() {
    let system = System::start().await;
    set(&system, &[budget(json!({"Id": "all", "Scope": "org", "Limit": 1_000}))]).await;
    let op = operator(&system, "acme");
    system.client("acme", "ada").execute(&turn("One [[script: usage 300 50; say \"Done.\"]]")).await.result();
    let report = settled(&op, 350).await;
    let identity = Identity { operator: true, ..Identity::user("acme", "op") };
    let token = system.cloud.token(&identity).unwrap();
    let run = async |options: &[&str]| {
        let access = ["--api-url", system.cloud.url(), "--token", &token];
        let all = [&["budgets", "use"], options, &access].concat();
        let done = tokio::time::timeout(PATIENCE, aptix(&all, &[]).output()).await.expect("an end").unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let text = run(&[]).await;
    assert!(text.contains("350 tokens") && text.contains("1000 tokens") && text.contains("35 %"), "{text}");
    assert_eq!(serde_json::from_str::<Value>(&run(&["--json"]).await).unwrap(), report);
    assert_eq!(run(&["--user", "ada"]).await, "No budget limits these turns.\n");
}
