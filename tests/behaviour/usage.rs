//! `GET /api/ai/agent/usage`, and `aptix usage`.

use contracts::paths::USAGE;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    export::operator,
    provider_start::aptix,
    support::{Client, PATIENCE, System, turn, turn_in, workspace_turn},
};

/// Reads a report once it has this many turns.
async fn report(client: &Client, query: &str, turns: u64) -> Value {
    let counts = |answer: &crate::support::Answer| answer.json()["Result"]["Total"]["Turns"] == turns;
    client.until(&format!("{USAGE}{query}"), PATIENCE, counts).await.result()
}

/// Returns key, turns and tokens of each group.
fn groups(report: &Value) -> Vec<(Option<&str>, u64, u64)> {
    let groups = report["Groups"].as_array().unwrap().iter();
    let of = |group: &Value, name: &str| group[name].as_u64().unwrap();
    groups
        .map(|group| (group["Key"].as_str(), of(group, "Turns"), of(&group["Usage"], "TotalTokens")))
        .collect()
}

/// Runs turns of two users: 110 and 22 tokens of ada, 3 of bob, and a failed turn of bob.
async fn used(system: &System) {
    let prices = json!({"PromptPerMillion": "1", "CompletionPerMillion": "10", "Currency": "EUR"});
    system.put_context(json!({ "Prices": prices, "ModelName": "other-model" })).await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let mut priced = turn("One [[script: usage 100 10 cached 40; delay 120ms; say \"Done.\"]]");
    priced["ConversationContextId"] = json!("c");
    ada.execute(&priced).await.result();
    // The next turn of the session finalizes the one that waits for its tools.
    let waits = workspace_turn("Two [[script: usage 20 2; call workspace_read_file {\"path\":\"a\"}]]");
    ada.execute(&waits).await.result();
    let next = turn_in(waits["SessionId"].as_str().unwrap(), "Three [[script: usage 2 1; say \"Done.\"]]");
    bob.execute(&next).await.result();
    assert_eq!(bob.execute(&turn("Four [[script: status 400]]")).await.error(), "ModelRejected");
}

#[tokio::test]
async fn usage_of_an_org_is_reported_by_each_property() {
    let system = System::start().await;
    used(&system).await;
    let op = operator(&system, "acme");
    let today = today_in_utc();
    let by_day = report(&op, "", 4).await;
    assert_eq!(groups(&by_day), [(Some(today.as_str()), 4, 135)]);
    assert_eq!((&by_day["By"], &by_day["To"]), (&json!("day"), &json!(today)));
    let total = &by_day["Total"];
    assert_eq!(total["Usage"]["CachedTokens"], 40);
    let costs = json!([{"Amount": "0.0002", "Currency": "EUR"}, {"Amount": "0.000052", "Currency": "USD"}]);
    assert_eq!((&total["Costs"], &total["UnpricedTurns"]), (&costs, &json!(0)));
    assert_eq!((&total["CompletedTurns"], total.get("Key")), (&json!(2), None));
    let model_ms = |group: &Value| group["ModelMs"].as_u64().unwrap();
    assert!(model_ms(total) >= 120, "{total}");
    let by_user = report(&op, "?by=user", 4).await;
    let each: u64 = by_user["Groups"].as_array().unwrap().iter().map(model_ms).sum();
    assert_eq!(each, model_ms(total), "the time of every user is in the total");
    assert_eq!(groups(&by_user), [(Some("ada"), 2, 132), (Some("bob"), 2, 3)]);
    let by_agent = report(&op, "?by=agent", 4).await;
    assert_eq!(groups(&by_agent), [(Some("default"), 2, 110), (Some("workspace"), 2, 25)]);
    let by_model = report(&op, "?by=model", 4).await;
    assert_eq!(groups(&by_model)[0], (Some("other-model"), 1, 110));
    assert_eq!(by_model["Total"], *total);
    let of_bob = report(&op, "?by=agent&userId=bob", 2).await;
    assert_eq!(groups(&of_bob), [(Some("workspace"), 1, 3), (Some("default"), 1, 0)]);
    // Another range, and another org.
    let before = report(&op, "?to=2026-01-31T12:00:00Z", 0).await;
    assert_eq!((&before["From"], &before["To"]), (&json!("2026-01-02"), &json!("2026-01-31")));
    assert_eq!(report(&operator(&system, "rival"), "?by=user", 0).await["Groups"], json!([]));
}

/// Returns today's date.
fn today_in_utc() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let now = contracts::Timestamp::from_millis(now.try_into().unwrap());
    contracts::Day::from(now).to_string()
}

#[tokio::test]
async fn user_sees_their_own_usage_alone() {
    let system = System::start().await;
    used(&system).await;
    report(&operator(&system, "acme"), "", 4).await;
    let bob = system.client("acme", "bob");
    assert_eq!(groups(&report(&bob, "?by=user", 2).await), [(Some("bob"), 2, 3)]);
    assert_eq!(report(&bob, "?by=user&userId=bob", 2).await["Total"]["Usage"]["TotalTokens"], 3);
    let refused = bob.get(&format!("{USAGE}?userId=ada")).await;
    assert_eq!((refused.status, refused.error().as_str()), (403, "Forbidden"));
    let unknown = bob.get(&format!("{USAGE}?userId=nobody")).await;
    assert_eq!(unknown.text, refused.text, "whether the user exists is not told");
}

#[tokio::test]
async fn repeated_request_and_late_message_count_a_turn_once() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("Once [[script: usage 5 5; say \"Done.\"]]");
    for _ in 0..3 {
        ada.execute(&request).await.result();
    }
    report(&ada, "", 1).await;
    let message = json!({"Kind": "turn_settled", "Org": "acme", "Session": request["SessionId"], "Turn": request["TurnId"]});
    for _ in 0..3 {
        system.send_to_finalizer(&message).await;
    }
    ada.execute(&turn("Twice [[script: usage 1 1; say \"Done.\"]]")).await.result();
    let total = report(&ada, "", 2).await["Total"].clone();
    assert_eq!((&total["Turns"], &total["Usage"]["TotalTokens"]), (&json!(2), &json!(12)));
}

#[tokio::test]
async fn invalid_range_or_grouping_is_refused_by_name() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for (query, name, rule) in [
        ("by=session", "by", "must be one of day, user, agent, model."),
        ("from=yesterday", "from", "must be an ISO-8601 UTC timestamp"),
        ("from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", "to", "must not come before from."),
        ("from=2025-01-01T00:00:00Z&to=2026-01-02T00:00:00Z", "to", "must be within 366 days of from."),
        ("from=2020-01-01T00:00:00Z", "from", "must be one of the last 366 days"),
        ("userId=..", "userId", "is a reserved word."),
        ("org=rival", "org", "Unknown query parameter"),
    ] {
        let refused = ada.get(&format!("{USAGE}?{query}")).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "ParameterInvalid"), "{query}");
        let error = &refused.errors()[0];
        assert_eq!(error["Details"], name, "{query}");
        assert!(error["Message"].as_str().unwrap().contains(rule), "{error}");
    }
}

#[tokio::test]
async fn usage_as_csv_and_in_the_terminal_equals_the_report() {
    let system = System::start().await;
    used(&system).await;
    let op = operator(&system, "acme");
    report(&op, "", 4).await;
    let csv = op.raw(Method::GET, &format!("{USAGE}?by=user"), &[("accept", "text/csv")], Vec::new()).await;
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    let lines: Vec<&str> = csv.text.split("\r\n").collect();
    assert!(lines[0].starts_with("Key,Turns,CompletedTurns,ModelCalls,ModelMs,"), "{}", csv.text);
    let by_user = report(&op, "?by=user", 4).await;
    let [ada_ms, bob_ms] = [0, 1].map(|group| by_user["Groups"][group]["ModelMs"].clone());
    assert_eq!(
        &lines[1..],
        [
            format!("\"ada\",2,1,2,{ada_ms},120,12,132,40,0,0,\"0.0002 EUR; 0.00004 USD\",0,0"),
            format!("\"bob\",2,1,2,{bob_ms},2,1,3,0,0,0,\"0.000012 USD\",0,0"),
            String::new()
        ]
    );
    let identity = local::token::Identity { operator: true, ..local::token::Identity::user("acme", "op") };
    let token = system.cloud.token(&identity).unwrap();
    let run = async |arguments: &[&str]| {
        let all = [&["usage", "--api-url", system.cloud.url(), "--token", &token], arguments].concat();
        let done = tokio::time::timeout(PATIENCE, aptix(&all, &[]).output()).await.expect("an end").unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    assert_eq!(run(&["--by", "user", "--csv"]).await, csv.text);
    let by_model = report(&op, "?by=model&userId=ada", 2).await;
    let model_ms = by_model["Groups"][0]["ModelMs"].to_string();
    let table = run(&["--by", "model", "--user", "ada"]).await;
    let row = table.lines().find(|line| line.starts_with("other-model")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["other-model", "1", "1", &model_ms, "ms", "100", "10", "110", "0", "0.0002", "EUR"]
    );
    assert!(run(&["--from", "2026-01-01", "--to", "2026-01-02"]).await.contains("2026-01-01 to 2026-01-02"));
}
