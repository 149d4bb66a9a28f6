//! Usage of turns by the way they end: the report shows what the model was paid, and the meter of a budget equals it.

use std::time::Duration;

use local::{Function, Options};
use mock_model::Charge;
use serde_json::{Value, json};

use crate::{
    budget_limits::{is_meter, open_entries},
    budgets::{budget, count, limit},
    interrupted_usage::{ENDLESS, cancel, charges, is_close, tokens, total},
    org_settings::set,
    session_edits::delete,
    support::{
        Client, Events, LEASE, PATIENCE, System, declaring, in_context, options, turn, turn_path,
        workspace_turn,
    },
};

/// A system with a budget that no test uses up.
pub(crate) async fn with_budget(options: Options) -> System {
    let system = System::with(options).await;
    limit(&system, budget(json!({"Scope": "org", "Limit": 100_000_000}))).await;
    system
}

/// Opens the stream of a turn, and reads it up to its first text.
pub(crate) async fn writing(client: &Client, turn: &Value) -> Events {
    let opened = client.execute_streaming(turn, None).await;
    let mut events = opened.unwrap_or_else(|answer| panic!("{}", answer.text));
    while events.next().await.expect("more").kind != "delta" {}
    events
}

/// Returns what the org has used once this many turns are counted, and requires that the only meter counts the same tokens
/// beside `unlimited` ones.
pub(crate) async fn counted(system: &System, turns: u64, unlimited: u64) -> Value {
    let total = total(system, turns).await;
    let meter = system.until_item(|item| is_meter(item) && open_entries(item).is_empty()).await;
    assert_eq!(count(&meter, "Turns"), turns);
    assert_eq!(count(&meter, "Tokens") + unlimited, tokens(&total, "TotalTokens"), "{total}");
    total
}

/// Requires that the counts equal these charges: to the token if nothing is estimated, else the output within five
/// percent.
pub(crate) fn assert_paid(total: &Value, paid: &[Charge]) {
    let (input, output) = paid.iter().fold((0, 0), |(i, o), paid| (i + paid.input, o + paid.output));
    let counted = (tokens(total, "PromptTokens"), tokens(total, "CompletionTokens"));
    match total.get("EstimatedTokens").and_then(Value::as_u64).unwrap_or_default() {
        0 => assert_eq!(counted, (input, output), "{total} {paid:?}"),
        estimated => {
            assert!(is_close(counted.1, output), "{total} {paid:?}");
            assert!(estimated <= tokens(total, "TotalTokens") && counted.0 > 0, "{total}");
        }
    }
}

#[tokio::test]
async fn turn_goes_on_without_its_client_and_is_counted_whole() {
    let system = with_budget(options()).await;
    let ada = system.client("acme", "ada");
    drop(writing(&ada, &turn("Write [[script: pace 10ms; usage 30 120; words 120]]")).await);
    let total = counted(&system, 1, 0).await;
    assert_eq!((&total["CompletedTurns"], total.get("EstimatedTokens")), (&json!(1), None), "{total}");
    assert_paid(&total, &charges(&system, 1).await);
    // A client that leaves and cancels later pays for what was written in between.
    let left = turn(ENDLESS);
    drop(writing(&ada, &left).await);
    tokio::time::sleep(Duration::from_millis(800)).await;
    cancel(&ada, &left).await;
    let total = counted(&system, 2, 0).await;
    let paid = charges(&system, 2).await;
    assert!(paid[1].output > 50, "{paid:?}");
    assert_paid(&total, &paid);
}

#[tokio::test]
async fn title_call_that_breaks_off_is_counted_beside_its_turn() {
    let system = with_budget(options()).await;
    set(&system, "acme", json!({"Titles": {"Model": "mini"}})).await;
    let ada = system.client("acme", "ada");
    let script = "Name me [[script: usage 30 6; say \"Done.\"]] [[titled: words 30; unended]]";
    ada.execute(&turn(script)).await.result();
    let paid = charges(&system, 2).await;
    let calls = |answer: &crate::support::Answer| answer.json()["Result"]["Total"]["ModelCalls"] == 2;
    let report =
        crate::export::operator(&system, "acme").until(contracts::paths::USAGE, PATIENCE, calls).await;
    let of_title = tokens(&report.result()["Total"], "TotalTokens") - 36;
    let total = counted(&system, 1, of_title).await;
    assert_eq!((&total["ModelCalls"], &total["EstimatedTokens"]), (&json!(2), &json!(of_title)));
    assert_paid(&total, &paid);
}

#[tokio::test]
async fn title_call_counts_although_its_session_is_purged_meanwhile() {
    let system = with_budget(options()).await;
    set(&system, "acme", json!({"Titles": {"Model": "mini"}})).await;
    let ada = system.client("acme", "ada");
    let first = turn(
        "Name me [[script: usage 30 6; say \"Done.\"]] [[titled: delay 2s; usage 40 4; say \"A name\"]]",
    );
    ada.execute(&first).await.result();
    system.model_called(2).await;
    delete(&ada, &first).await.result();
    let purge = format!("{}?purge=true", crate::support::session_path(&first));
    ada.send(reqwest::Method::DELETE, &purge, None).await.result();
    let calls = |answer: &crate::support::Answer| answer.json()["Result"]["Total"]["ModelCalls"] == 2;
    let report =
        crate::export::operator(&system, "acme").until(contracts::paths::USAGE, PATIENCE, calls).await;
    assert_eq!(report.result()["Total"]["ModelCalls"], 2, "{}", report.text);
    assert_paid(&counted(&system, 1, 44).await, &charges(&system, 2).await);
}

#[tokio::test]
async fn compaction_that_is_cut_off_is_counted_as_received() {
    for (summed, is_cancelled) in [("pace 10ms; words 3000", true), ("words 40; unended", false)] {
        let system = with_budget(Options { lease: Some(LEASE), ..options() }).await;
        let context = json!({"Chain": "local", "Budgets": {"HistoryTokens": 600}, "HistorySummary": true});
        system.put_context(context).await;
        let ada = system.client("acme", "ada");
        for (name, letters) in [("First", 1_200), ("Second", 600)] {
            let script = format!("{name} {} [[script: usage 100 10; say \"Yes.\"]]", "x".repeat(letters));
            ada.execute(&in_context(&format!("{script} [[summed: {summed}]]"))).await.result();
        }
        let third = in_context("Third [[script: usage 100 10; say \"Done.\"]]");
        let ended = async {
            if is_cancelled {
                system.model_called(3).await;
                tokio::time::sleep(Duration::from_secs(1)).await;
                cancel(&ada, &third).await;
            }
        };
        let (answer, ()) = futures::join!(ada.execute(&third), ended);
        assert_eq!(answer.status == 200, !is_cancelled, "{}", answer.text);
        let total = counted(&system, 3, 0).await;
        let calls = if is_cancelled { 3 } else { 4 };
        assert_eq!(total["ModelCalls"], calls);
        let paid = charges(&system, calls).await;
        assert!(paid[2].output >= 40 && paid[2].is_whole != is_cancelled, "{paid:?}");
        assert_paid(&total, &paid);
    }
}

#[tokio::test]
async fn failed_model_costs_what_it_wrote_and_a_refusing_one_nothing() {
    let system = with_budget(declaring(&json!([]))).await;
    system.put_context(json!({"ModelName": "big", "Fallbacks": [{"ModelName": "small"}]})).await;
    let ada = system.client("acme", "ada");
    let fails = |script: &str| in_context(&format!("Fail [[script: {script}]]"));
    assert_eq!(
        ada.execute(&fails("usage 30 40; words 40; fail server_error")).await.error(),
        "ModelUnavailable"
    );
    let total = counted(&system, 1, 0).await;
    assert_paid(&total, &charges(&system, 1).await);
    assert_eq!(ada.execute(&fails("words 60; reset after 40 events")).await.error(), "ModelReplyMalformed");
    let total = counted(&system, 2, 0).await;
    assert_paid(&total, &charges(&system, 2).await);
    // The fallback alone is paid.
    let before = tokens(&total, "TotalTokens");
    ada.execute(&fails("status 503 for big; usage 30 6; say \"Here.\"")).await.result();
    let total = counted(&system, 3, 0).await;
    let paid = charges(&system, 3).await;
    assert_eq!((tokens(&total, "TotalTokens"), paid.len()), (before + 36, 3), "{total}");
    assert_paid(&total, &paid);
}

#[tokio::test]
async fn turn_over_its_budget_costs_the_rounds_that_it_made() {
    let system = System::start().await;
    limit(&system, budget(json!({"Scope": "org", "Limit": 250}))).await;
    let ada = system.client("acme", "ada");
    let round = "usage 100 10; say \"Looking.\"; call agent_list_modes {}; then; ";
    let sent = turn(&format!("Loop [[script: {}say \"Done.\"]]", round.repeat(6)));
    assert_eq!(ada.execute(&sent).await.error(), "TurnOverBudget");
    let total = counted(&system, 1, 0).await;
    assert_eq!(tokens(&total, "TotalTokens"), 220);
    assert_paid(&total, &charges(&system, 2).await);
}

#[tokio::test]
async fn turn_past_its_tool_deadline_costs_its_calls() {
    let mut options = options();
    options.environment.insert("TOOL_WAIT_SECONDS".to_owned(), "0.3".to_owned());
    options.sweep = Some(Duration::from_secs(1));
    let system = with_budget(options).await;
    let ada = system.client("acme", "ada");
    let asks = "Read [[script: usage 90 10; call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]";
    let sent = workspace_turn(asks);
    ada.execute(&sent).await.result();
    let total = counted(&system, 1, 0).await;
    assert_eq!(ada.get(&turn_path(&sent)).await.result()["ErrorCode"], "ToolDeadlineExpired");
    assert_eq!(tokens(&total, "TotalTokens"), 100);
    assert_paid(&total, &charges(&system, 1).await);
}

#[tokio::test]
async fn killed_attempt_costs_its_rounds_and_the_call_in_flight() {
    let options = Options { lease: Some(LEASE), sweep: Some(Duration::from_secs(1)), ..options() };
    let system = with_budget(options).await;
    let ada = system.client("acme", "ada");
    let script = "usage 90 10; call agent_list_modes {}; then; pace 10ms; words 3000";
    let mut events = writing(&ada, &turn(&format!("Die [[script: {script}]]"))).await;
    // Seconds of a call that are in no checkpoint are less than five percent of it.
    let until = tokio::time::Instant::now() + Duration::from_secs(22);
    while tokio::time::timeout_at(until, events.next()).await.is_ok() {}
    system.cloud.crash(Function::Execute);
    drop(events);
    let total = counted(&system, 1, 0).await;
    let paid = charges(&system, 2).await;
    assert_eq!((&total["ModelCalls"], total["CompletedTurns"].as_u64().unwrap_or_default()), (&json!(2), 0));
    assert_eq!(tokens(&total, "TotalTokens") - total["EstimatedTokens"].as_u64().unwrap(), 100, "{total}");
    println!("killed: {total} {paid:?}");
    assert!(paid.iter().map(|paid| paid.output).sum::<u64>() > 500, "{paid:?}");
    assert_paid(&total, &paid);
}

/// Starts streams and cancels each at its first text, one after another, until one is refused. Returns the number that
/// started.
async fn cancel_until_refused(ada: &Client, most: usize) -> usize {
    for started in 0..most {
        let request = turn(ENDLESS);
        let mut events = match ada.execute_streaming(&request, None).await {
            Ok(events) => events,
            Err(refused) if refused.status == 429 && refused.error() == "BudgetExceeded" => return started,
            Err(answer) => panic!("{}", answer.text),
        };
        while events.next().await.expect("more").kind != "delta" {}
        cancel(ada, &request).await;
        events.rest().await;
    }
    most
}

#[tokio::test]
async fn cancelled_streams_stop_at_a_budget_while_the_finalizer_is_stopped() {
    let system = System::start().await;
    system.cloud.pause_finalizer().await;
    limit(&system, budget(json!({"Scope": "org", "Limit": 10_000}))).await;
    let ada = system.client("acme", "ada");
    let started = cancel_until_refused(&ada, 30).await;
    assert!((1..30).contains(&started), "{started} turns started, and none was refused");
    let meter = system.until_item(is_meter).await;
    let held = count(&meter, "Tokens");
    system.cloud.resume_finalizer().await;
    let total = counted(&system, u64::try_from(started).unwrap(), 0).await;
    let (used, each) = (tokens(&total, "TotalTokens"), tokens(&total, "TotalTokens") / started as u64);
    println!("{started} cancelled streams of {each} tokens each used {used} of 10000; {held} were held");
    assert!(used < 10_000 + 2 * each, "{used} of 10,000 tokens in turns of {each}");
    assert!(is_close(held, used), "{held} held, {used} used");
}
