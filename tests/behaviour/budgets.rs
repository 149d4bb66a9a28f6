//! `GET` and `PUT /api/ai/agent/budgets`, and turns that meet a limit.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use contracts::paths::{BUDGETS, USAGE};
use futures::future::join_all;
use local::{Function, Options};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    capacity::Units,
    client_tools::{results, submit},
    export::operator,
    provider_start::aptix,
    support::{
        Answer, Client, LEASE, PATIENCE, System, options, session_path, turn, turn_in, turn_path,
        workspace_turn,
    },
};

pub(crate) async fn put(client: &Client, body: &Value) -> Answer {
    client.send(Method::PUT, BUDGETS, Some(body.to_string())).await
}

/// Replaces the budgets of the org `acme`, for every process.
pub(crate) async fn put_and_restart(system: &System, body: &Value) {
    put(&operator(system, "acme"), body).await.result();
    system.crash_execute().await;
}

/// Returns a document without its entity tag.
fn without_tag(mut document: Value) -> Value {
    assert!(document.as_object_mut().unwrap().remove("ETag").is_some_and(|tag| tag.is_string()));
    document
}

/// Gives the org `acme` one budget.
pub(crate) async fn limit(system: &System, budget: Value) {
    put(&operator(system, "acme"), &json!({"Currency": "EUR", "Budgets": [budget]})).await.result();
}

/// Returns a budget of 100 tokens a day for each user, with other members.
pub(crate) fn budget(members: Value) -> Value {
    let mut budget = json!({"Id": "b", "Scope": "user", "Window": "day", "Unit": "tokens", "Limit": 100});
    budget.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    budget
}

pub(crate) fn count(item: &HashMap<String, AttributeValue>, name: &str) -> u64 {
    item.get(name).map_or(0, |value| value.as_n().unwrap().parse().unwrap())
}

/// Waits until the only meter has this many tokens and no open entry, and returns it.
async fn settled_meter(system: &System, tokens: u64) -> HashMap<String, AttributeValue> {
    let is_meter = |item: &HashMap<String, AttributeValue>| item["PK"].as_s().unwrap().contains("#METER#");
    let is_open = |item: &HashMap<String, AttributeValue>| item.keys().any(|name| name.starts_with("T#"));
    system.until_item(|item| is_meter(item) && !is_open(item) && count(item, "Tokens") == tokens).await
}

/// A script that calls a tool in every round, with 110 tokens each.
fn looping(rounds: usize) -> String {
    let round = "usage 100 10; say \"Looking.\"; call agent_list_modes {}; then; ";
    format!("Loop [[script: {}usage 100 10; say \"Done.\"]]", round.repeat(rounds))
}

#[tokio::test]
async fn used_up_budget_refuses_its_users_next_turn() {
    let system = System::start().await;
    limit(&system, budget(json!({}))).await;
    let ada = system.client("acme", "ada");
    ada.execute(&turn("One [[script: usage 100 10; say \"Done.\"]]")).await.result();
    settled_meter(&system, 110).await;
    let next = turn("Two");
    let refused = ada.execute(&next).await;
    assert_eq!((refused.status, refused.error().as_str()), (429, "BudgetExceeded"), "{}", refused.text);
    let error = &refused.errors()[0];
    assert_eq!((&error["Details"], &error["Retry"]), (&json!("b"), &json!("same_request")));
    assert!((1..=86_400).contains(&error["RetryAfterSeconds"].as_u64().unwrap()), "{error}");
    let message = error["Message"].as_str().unwrap();
    assert!(
        message.starts_with("The budget \"b\" of 100 tokens a day for each user is used up."),
        "{message}"
    );
    // Nothing was started, and nothing is left of it.
    assert_eq!((ada.get(&session_path(&next)).await.status, system.model_calls().len()), (404, 1));
    let streamed = ada.execute_streaming(&turn("Three"), None).await.err().unwrap();
    assert_eq!((streamed.status, streamed.error().as_str()), (429, "BudgetExceeded"));
    // Another user and another org have room.
    system.client("acme", "bob").execute(&turn("Four")).await.result();
    system.client("rival", "ada").execute(&turn("Five")).await.result();
    // The stored answer is replayed, since nothing is consumed.
    let first = turn("Six");
    let eve = system.client("acme", "eve");
    eve.execute(&first).await.result();
    limit(&system, budget(json!({"Limit": 1}))).await;
    eve.execute(&first).await.result();
}

#[tokio::test]
async fn loop_of_tool_rounds_stops_in_the_round_that_would_pass_its_budget() {
    for members in
        [json!({"Window": "turn", "Limit": 250}), json!({"Scope": "org", "Window": "month", "Limit": 250})]
    {
        let system = System::start().await;
        limit(&system, budget(members.clone())).await;
        let ada = system.client("acme", "ada");
        let sent = turn(&looping(6));
        let stopped = ada.execute(&sent).await;
        assert_eq!((stopped.status, stopped.error().as_str()), (429, "TurnOverBudget"), "{}", stopped.text);
        assert_eq!(system.model_calls().len(), 2, "a third call would use 330 of 250 tokens: {members}");
        let read = ada.get(&turn_path(&sent)).await.result();
        assert_eq!(
            (&read["StatusReason"], &read["ErrorCode"], &read["Usage"]["TotalTokens"]),
            (&json!("over_budget"), &json!("TurnOverBudget"), &json!(220))
        );
        assert_eq!(read["PartialAnswerSummary"], "Looking.");
        let is_turn = members["Window"] == "turn";
        assert_eq!(stopped.errors()[0].get("RetryAfterSeconds").is_none(), is_turn);
        assert_eq!(ada.execute(&sent).await.text, stopped.text, "a failed turn is replayed");
        if !is_turn {
            settled_meter(&system, 220).await;
        }
    }
}

#[tokio::test]
async fn concurrent_turns_stop_at_the_limit_and_meters_equal_their_usage() {
    let system = System::start().await;
    // Each turn reserves 1 % of the limit, so that 100 of them would fit at once.
    let tokens = json!({"Id": "tokens", "Scope": "org", "Limit": 400});
    let turns = json!({"Id": "turns", "Scope": "org", "Unit": "turns", "Limit": 5});
    let both = json!({"Budgets": [budget(tokens), budget(turns)]});
    put(&operator(&system, "acme"), &both).await.result();
    let users: Vec<Client> = (0..8).map(|user| system.client("acme", &format!("u{user}"))).collect();
    let sent = users.iter().map(|user| async move {
        user.execute(&turn("Go [[script: delay 200ms; usage 30 3; say \"Done.\"]]")).await
    });
    let answers = join_all(sent).await;
    let (started, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!((started.len(), refused.len()), (5, 3), "{answers:?}");
    assert!(refused.iter().all(|answer| answer.errors()[0]["Details"] == "turns"), "{refused:?}");
    let meter = settled_meter(&system, 5 * 33).await;
    assert_eq!(count(&meter, "Turns"), 5);
    let counted = |answer: &Answer| answer.json()["Result"]["Total"]["Turns"] == 5;
    let total = operator(&system, "acme").until(USAGE, PATIENCE, counted).await.result()["Total"].clone();
    assert_eq!((&total["Turns"], &total["Usage"]["TotalTokens"]), (&json!(5), &json!(5 * 33)));
}

#[tokio::test]
async fn request_sent_twice_at_once_counts_once() {
    let system = System::start().await;
    limit(&system, budget(json!({"Scope": "org", "Limit": 10_000}))).await;
    let ada = system.client("acme", "ada");
    for round in 1..=3 {
        let sent = turn("Once [[script: delay 100ms; usage 5 5; say \"Done.\"]]");
        let answers = join_all((0..3).map(|_| ada.execute_when_settled(&sent))).await;
        answers.iter().for_each(|answer| assert_eq!(answer.status, 200, "{answer:?}"));
        assert_eq!(count(&settled_meter(&system, 10 * round).await, "Turns"), round);
    }
}

#[tokio::test]
async fn meter_equals_usage_after_a_crash_a_suspension_and_a_superseded_turn() {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    limit(&system, budget(json!({"Scope": "org", "Limit": 1_000_000}))).await;
    let ada = system.client("acme", "ada");
    let killed = turn("Die [[script: delay 1s; usage 10 1; say \"Done.\"]]");
    futures::join!(
        ada.attempt(
            Method::POST,
            contracts::paths::EXECUTE,
            &[("content-type", "application/json")],
            killed.to_string().into_bytes()
        ),
        async {
            system.model_called(1).await;
            system.crash_execute().await;
        }
    )
    .0
    .ok();
    ada.execute_when_settled(&killed).await.result();
    // The killed call was made, so it counts, as far as its usage can be estimated.
    let lost = ada.get(&turn_path(&killed)).await.result()["EstimatedTokens"].as_u64().unwrap();
    let asks = workspace_turn(
        "Read [[script: usage 20 2; call workspace_read_file {\"path\":\"a\"}; then; usage 30 3; say \"Read.\"]]",
    );
    let suspended = ada.execute(&asks).await.result();
    submit(&ada, &results(&suspended, "contents")).await.result();
    let waits = workspace_turn("Wait [[script: usage 40 4; call workspace_read_file {\"path\":\"a\"}]]");
    ada.execute(&waits).await.result();
    let next = turn_in(waits["SessionId"].as_str().unwrap(), "Go on [[script: usage 50 5; say \"Done.\"]]");
    ada.execute(&next).await.result();
    // The superseded turn's entry stays, with what it used.
    let is_meter = |item: &HashMap<String, AttributeValue>| item["PK"].as_s().unwrap().contains("#METER#");
    let expected = lost + 11 + 22 + 33 + 44 + 55;
    let meter = system.until_item(|item| is_meter(item) && count(item, "Tokens") == expected).await;
    assert_eq!(count(&meter, "Turns"), 4);
    let open: Vec<_> =
        meter.iter().filter(|(name, _)| name.starts_with("T#")).map(|(_, entry)| entry).collect();
    assert!(
        open.len() <= 1 && open.iter().all(|entry| entry.as_s().unwrap().starts_with("44 0 ")),
        "{open:?}"
    );
}

#[tokio::test]
async fn budget_of_money_agent_or_session_counts_its_own_turns() {
    let system = System::start().await;
    let prices = json!({"PromptPerMillion": "10", "CompletionPerMillion": "10", "Currency": "USD"});
    system.put_context(json!({ "Prices": prices })).await;
    let all = json!({"Currency": "USD", "Budgets": [
        budget(json!({"Id": "money", "Scope": "session", "Unit": "money", "Limit": 1_000})),
        budget(json!({"Id": "agent", "Scope": "agent", "Subject": "workspace", "Unit": "turns", "Limit": 1})),
    ]});
    put(&operator(&system, "acme"), &all).await.result();
    let ada = system.client("acme", "ada");
    let mut priced = turn("One [[script: usage 90 10; say \"Done.\"]]");
    priced["ConversationContextId"] = json!("c");
    ada.execute(&priced).await.result();
    let session = priced["SessionId"].as_str().unwrap();
    system.until_finalized(session, 1).await;
    let refused = ada.execute(&turn_in(session, "Two")).await;
    assert_eq!(
        (refused.error().as_str(), &refused.errors()[0]["Details"]),
        ("BudgetExceeded", &json!("money"))
    );
    assert!(refused.text.contains("of 0.001 USD a day for each session"), "{}", refused.text);
    ada.execute(&workspace_turn("Three")).await.result();
    let refused = ada.execute(&workspace_turn("Four")).await;
    assert_eq!(
        (refused.error().as_str(), &refused.errors()[0]["Details"]),
        ("BudgetExceeded", &json!("agent"))
    );
    ada.execute(&turn("Five")).await.result();
}

#[tokio::test]
async fn turns_per_minute_are_limited_and_reopen_within_a_minute() {
    let system = System::start().await;
    limit(&system, budget(json!({"Window": "minute", "Unit": "turns", "Limit": 1}))).await;
    let ada = system.client("acme", "ada");
    // The minute may end between two turns, but not three times in a row.
    for _ in 0..3 {
        ada.execute(&turn("One")).await;
        let second = ada.execute(&turn("Two")).await;
        if second.status == 200 {
            continue;
        }
        assert_eq!((second.status, second.error().as_str()), (429, "BudgetExceeded"));
        let wait = second.errors()[0]["RetryAfterSeconds"].as_u64().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        return;
    }
    panic!("two turns of one minute were started");
}

#[tokio::test]
async fn budget_that_warns_adds_a_warning_and_refuses_nothing() {
    let system = System::start().await;
    limit(&system, budget(json!({"Action": "warn", "Unit": "turns", "Limit": 2}))).await;
    let ada = system.client("acme", "ada");
    let warnings = async || ada.execute(&turn("Hello")).await.result()["UserWarnings"].clone();
    assert_eq!(warnings().await, Value::Null);
    for _ in 0..2 {
        assert_eq!(warnings().await, json!(["The budget \"b\" of 2 turns a day for each user is used up."]));
    }
}

#[tokio::test]
async fn budgets_are_read_and_replaced_by_operators_alone() {
    let system = System::start().await;
    let (op, ada) = (operator(&system, "acme"), system.client("acme", "ada"));
    assert_eq!(without_tag(op.get(BUDGETS).await.result()), json!({"Budgets": []}));
    let body = json!({"Budgets": [budget(json!({"Action": "stop"}))]});
    for refused in [put(&ada, &body).await, ada.get(BUDGETS).await] {
        assert_eq!((refused.status, refused.error().as_str()), (403, "Forbidden"));
    }
    assert_eq!(without_tag(put(&op, &body).await.result()), body);
    assert_eq!(without_tag(op.get(BUDGETS).await.result()), body);
    let rival = operator(&system, "rival");
    assert_eq!(without_tag(rival.get(BUDGETS).await.result()), json!({"Budgets": []}));
    for (body, code, member) in [
        (json!({}), "MemberRequired", "Budgets"),
        (json!({"Budgets": [budget(json!({"Limit": 0}))]}), "MemberInvalid", "Budgets[0].Limit"),
        (json!({"Budgets": [budget(json!({"Unit": "money"}))]}), "MemberRequired", "Currency"),
        (json!({"Budgets": [budget(json!({"Window": "year"}))]}), "MemberInvalid", "Budgets[0].Window"),
        (json!({"Budgets": vec![budget(json!({})); 33]}), "MemberTooLarge", "Budgets"),
    ] {
        let refused = put(&op, &body).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, code), "{}", refused.text);
        assert_eq!(refused.errors()[0]["Details"], member);
    }
    let stored = op.get(BUDGETS).await.result();
    assert_eq!(without_tag(stored), body, "what was invalid changed nothing");
    let identity = local::token::Identity { operator: true, ..local::token::Identity::user("acme", "op") };
    let token = system.cloud.token(&identity).unwrap();
    let file = system.cloud.data_folder().join("budgets.json");
    std::fs::write(&file, json!({"Budgets": [budget(json!({"Id": "cli"}))]}).to_string()).unwrap();
    let run = async |arguments: &[&str]| {
        let access = ["--api-url", system.cloud.url(), "--token", &token];
        let all = [&["budgets"], arguments, &access].concat();
        let done = tokio::time::timeout(PATIENCE, aptix(&all, &[]).output()).await.expect("an end").unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    let json = |(status, output, errors): (Option<i32>, String, String)| {
        assert_eq!(status, Some(0), "{errors}");
        serde_json::from_str::<Value>(&output).unwrap()
    };
    let put = ["put", file.to_str().unwrap()];
    let mut stored = json(run(&put).await);
    assert_eq!((&stored["Budgets"][0]["Id"], &stored), (&json!("cli"), &json(run(&["get"]).await)));
    // A file that was read before another change doesn't replace it.
    stored["Budgets"][0]["Limit"] = json!(7);
    std::fs::write(&file, stored.to_string()).unwrap();
    assert_eq!(json(run(&put).await)["Budgets"][0]["Limit"], 7);
    stored["Budgets"][0]["Limit"] = json!(8);
    std::fs::write(&file, stored.to_string()).unwrap();
    let (status, _, errors) = run(&put).await;
    assert_eq!(status, Some(1));
    assert!(errors.contains("Read the budgets, then send the change again."), "{errors}");
}

async fn put_if(client: &Client, header: (&str, &str), budgets: &Value) -> Answer {
    let headers = [("content-type", "application/json"), header];
    client.raw(Method::PUT, BUDGETS, &headers, budgets.to_string().into_bytes()).await
}

#[tokio::test]
async fn budgets_are_replaced_in_the_required_state_alone() {
    let system = System::start().await;
    let op = operator(&system, "acme");
    let first = op.get(BUDGETS).await;
    let empty = first.result();
    let tag = format!("\"{}\"", empty["ETag"].as_str().unwrap());
    assert_eq!(first.header("etag"), Some(tag.as_str()));
    let unchanged = op.raw(Method::GET, BUDGETS, &[("if-none-match", &tag)], Vec::new()).await;
    assert_eq!((unchanged.status, unchanged.text.as_str()), (304, ""));

    let budgets = json!({"Budgets": [budget(json!({}))]});
    let answer = put_if(&op, ("if-match", &tag), &budgets).await;
    let written = answer.result();
    let next = format!("\"{}\"", written["ETag"].as_str().unwrap());
    assert_eq!(answer.header("etag"), Some(next.as_str()));
    assert_ne!(next, tag);
    assert_eq!(op.get(BUDGETS).await.result(), written);

    // A repeated request succeeds. A change on an older state doesn't, whichever way names the state.
    assert_eq!(put_if(&op, ("if-match", &tag), &budgets).await.result(), written);
    for stale in [
        put_if(&op, ("if-match", &tag), &json!({"Budgets": []})).await,
        put_if(&op, ("if-none-match", "*"), &json!({"Budgets": []})).await,
        put(&op, &empty).await,
    ] {
        assert_eq!((stale.status, stale.error().as_str()), (412, "PreconditionFailed"), "{}", stale.text);
        assert_eq!(stale.errors()[0]["Details"], written["ETag"]);
    }
    let unreadable = put_if(&op, ("if-match", "\"ünreadable\""), &json!({"Budgets": []})).await;
    assert_eq!((unreadable.status, unreadable.error().as_str()), (400, "ParameterInvalid"));
    assert_eq!(op.get(BUDGETS).await.result(), written, "nothing was changed");
    let audited = |line: &Value| line["message"] == "audit" && line["action"] == "budgets";
    assert_eq!(
        system.logged(Function::Execute, "audit", audited).await.len(),
        1,
        "the repetition is no change"
    );

    // An empty condition is no unconditional change.
    for header in ["if-match", "if-none-match"] {
        let refused = put_if(&op, (header, " , "), &json!({"Budgets": []})).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "ParameterInvalid"), "{header}");
    }

    // The budgets always exist, so any state is one that `*` accepts.
    put_if(&op, ("if-match", "*"), &json!({"Budgets": []})).await.result();
    put_if(&op, ("if-match", &format!("\"other\", {tag}")), &budgets).await.result();
    let both = [("content-type", "application/json"), ("if-match", "*"), ("if-none-match", "*")];
    let both = op.raw(Method::PUT, BUDGETS, &both, budgets.to_string().into_bytes()).await;
    assert_eq!((both.status, both.error().as_str()), (400, "ParameterInvalid"));
}

#[tokio::test]
async fn one_of_several_changes_on_the_same_state_applies() {
    let system = System::start().await;
    let op = operator(&system, "acme");
    let tag = op.get(BUDGETS).await.result()["ETag"].as_str().unwrap().to_owned();
    let change = |limit: u64| {
        let (op, tag) = (&op, &tag);
        async move {
            let budgets = json!({"Budgets": [budget(json!({"Limit": limit}))]});
            put_if(op, ("if-match", tag.as_str()), &budgets).await.status
        }
    };
    let mut statuses = join_all([change(1), change(2), change(3)]).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412]);
}

#[tokio::test]
async fn budgeted_turn_costs_at_most_two_write_units_more() {
    let system = System::metered().await;
    let ada = system.client("acme", "ada");
    let mut writes = Vec::new();
    for round in 0..2 {
        if round == 1 {
            limit(&system, budget(json!({"Limit": 1_000_000}))).await;
            system.crash_execute().await;
        }
        Units::take(&system);
        let sent = turn(&"A question of some length. ".repeat(20));
        ada.execute(&sent).await.result();
        let head = format!("TURN#{}", sent["TurnId"].as_str().unwrap());
        system.until_attribute(&head, "Status", "completed").await;
        let units = Units::take_finalized(&system).await;
        println!(
            "{round}: {} write units, {} read units {:?}",
            units.writes, units.reads, units.by_operation
        );
        writes.push(units.writes);
    }
    assert!(writes[1] - writes[0] <= 2.0, "{writes:?}");
}
