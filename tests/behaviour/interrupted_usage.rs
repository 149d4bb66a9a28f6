//! Usage of turns whose model call was cut off: estimated, marked, and counted once.

use std::time::Duration;

use contracts::paths::USAGE;
use futures::{StreamExt, stream};
use local::{Function, Options};
use mock_model::Charge;
use serde_json::{Value, json};

use crate::{
    export::operator,
    support::{Client, LEASE, PATIENCE, System, options, turn, turn_in, turn_path},
};

/// Words at a pace, for longer than a test.
pub(crate) const ENDLESS: &str = "Write [[script: pace 10ms; words 3000]]";

/// The number of streams that are cancelled at the same time.
const CONCURRENT: usize = 4;

/// Returns the total of a report once it has this many turns.
pub(crate) async fn total(system: &System, turns: u64) -> Value {
    let counts = |answer: &crate::support::Answer| answer.json()["Result"]["Total"]["Turns"] == turns;
    let report = operator(system, "acme").until(USAGE, PATIENCE, counts).await.result();
    report["Total"].clone()
}

/// Returns the charges of the model, once there are this many.
pub(crate) async fn charges(system: &System, replies: usize) -> Vec<Charge> {
    let model = system.cloud.model().unwrap();
    let until = std::time::Instant::now() + PATIENCE;
    while model.charges().len() < replies && std::time::Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    model.charges()
}

pub(crate) async fn cancel(client: &Client, turn: &Value) {
    loop {
        let answer = client.post(&format!("{}/cancel", turn_path(turn)), String::new()).await;
        // Every process may be busy with a stream.
        if answer.status != 429 {
            answer.result();
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Streams an endless turn, cancels it after this long, and reads the stream to its end.
async fn cancelled_stream(client: &Client, after: Duration) {
    let request = turn(ENDLESS);
    let mut events =
        client.execute_streaming(&request, None).await.unwrap_or_else(|answer| panic!("{}", answer.text));
    while events.next().await.expect("more").kind != "delta" {}
    tokio::time::sleep(after).await;
    cancel(client, &request).await;
    events.rest().await;
}

pub(crate) fn tokens(total: &Value, name: &str) -> u64 {
    total["Usage"][name].as_u64().unwrap()
}

/// True if two counts differ by at most five percent.
pub(crate) fn is_close(one: u64, other: u64) -> bool {
    one.abs_diff(other) * 20 <= other
}

/// `CANCELLED_STREAMS=200` cancels that many.
#[tokio::test]
async fn cancelled_streams_cost_what_the_model_was_paid() {
    let streams = std::env::var("CANCELLED_STREAMS").map_or(12, |number| number.parse().unwrap());
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let after = |number: usize| Duration::from_millis(200 + 97 * u64::try_from(number % 17).unwrap());
    let cancelled = stream::iter(0..streams).map(|number| cancelled_stream(&ada, after(number)));
    cancelled.buffer_unordered(CONCURRENT).collect::<Vec<()>>().await;

    let paid = charges(&system, streams).await;
    assert_eq!((paid.len(), paid.iter().filter(|paid| paid.is_whole).count()), (streams, 0));
    let output: u64 = paid.iter().map(|paid| paid.output).sum();
    let total = total(&system, u64::try_from(streams).unwrap()).await;
    let counted = tokens(&total, "CompletionTokens");
    println!("{streams} cancelled streams: {output} output tokens paid, {counted} counted; {total}");
    assert!(is_close(counted, output), "{counted} counted, {output} paid");
    assert_eq!(total["ModelCalls"], streams);
    assert!(tokens(&total, "PromptTokens") > 0, "{total}");
    assert_eq!(total["EstimatedTokens"], total["Usage"]["TotalTokens"], "all of it is estimated");
}

#[tokio::test]
async fn cancelled_buffered_turn_shows_estimated_usage_and_cost() {
    let system = System::start().await;
    let prices = json!({"PromptPerMillion": "1", "CompletionPerMillion": "10", "Currency": "EUR"});
    system.put_context(json!({ "Prices": prices })).await;
    let ada = system.client("acme", "ada");
    let mut request = turn(ENDLESS);
    request["ConversationContextId"] = json!("c");
    let cancelled = async {
        system.model_called(1).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        cancel(&ada, &request).await;
    };
    let (answer, ()) = futures::join!(ada.execute(&request), cancelled);
    assert_eq!(answer.error(), "TurnCancelled");
    let paid = charges(&system, 1).await[0];
    let total = total(&system, 1).await;
    assert!(is_close(tokens(&total, "CompletionTokens"), paid.output), "{total}, {paid:?}");
    let read = ada.get(&turn_path(&request)).await.result();
    assert_eq!(read["Usage"], total["Usage"]);
    assert_eq!(read["EstimatedTokens"], read["Usage"]["TotalTokens"]);
    assert_eq!(json!([read["Cost"]]), total["Costs"]);
    let session = ada.get(&crate::support::session_path(&request)).await.result();
    assert_eq!(session["TotalUsage"], read["Usage"]);
}

#[tokio::test]
async fn turn_after_a_cancel_folds_it_with_its_usage() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn(ENDLESS);
    let mut events =
        ada.execute_streaming(&request, None).await.unwrap_or_else(|answer| panic!("{}", answer.text));
    while events.next().await.expect("more").kind != "delta" {}
    cancel(&ada, &request).await;
    let next = turn_in(request["SessionId"].as_str().unwrap(), "Next [[script: usage 5 2; say \"Done.\"]]");
    ada.execute(&next).await.result();
    events.rest().await;
    let paid = charges(&system, 2).await;
    let output = paid.iter().find(|paid| !paid.is_whole).unwrap().output;
    let total = total(&system, 2).await;
    let counted = tokens(&total, "CompletionTokens");
    assert!(is_close(counted, output + 2), "{counted} counted, {output} paid");
    let session = ada.get(&crate::support::session_path(&request)).await.result();
    assert_eq!(session["TotalUsage"], total["Usage"]);
}

#[tokio::test]
async fn killed_turn_is_counted_from_its_last_checkpoint() {
    let system =
        System::with(Options { lease: Some(LEASE), sweep: Some(Duration::from_secs(1)), ..options() }).await;
    let ada = system.client("acme", "ada");
    for (turns, is_streamed) in [(1, true), (2, false)] {
        let request = turn(ENDLESS);
        let events = async {
            match is_streamed {
                true => drop(ada.execute_streaming(&request, None).await.ok().unwrap().rest().await),
                false => drop(ada.execute(&request).await),
            }
        };
        let killed = async {
            system.model_called(usize::try_from(turns).unwrap()).await;
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            system.cloud.crash(Function::Execute);
        };
        futures::join!(events, killed);
        total(&system, turns).await;
        let read = ada.get(&turn_path(&request)).await.result();
        assert_eq!(read["ErrorCode"], "TurnAbandoned");
        assert!(read["Usage"]["PromptTokens"].as_u64().unwrap() > 0, "{read}");
        assert_eq!(read["EstimatedTokens"], read["Usage"]["TotalTokens"], "{read}");
        if is_streamed {
            // At most two seconds of the stream are not in a checkpoint.
            assert!(read["Usage"]["CompletionTokens"].as_u64().unwrap() > 20, "{read}");
        }
    }
}

#[tokio::test]
async fn retry_after_a_kill_counts_the_lost_call_too() {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let ada = system.client("acme", "ada");
    let request = turn("Slow [[script: delay 700ms; usage 50 5; say \"Done.\"]]");
    let killed = async {
        system.model_called(1).await;
        system.cloud.crash(Function::Execute);
    };
    futures::join!(ada.execute(&request), killed);
    ada.execute(&request).await.result();
    let total = total(&system, 1).await;
    let read = ada.get(&turn_path(&request)).await.result();
    assert_eq!((&read["Status"]["Id"], &total["ModelCalls"]), (&json!("completed"), &json!(2)));
    let estimated = read["EstimatedTokens"].as_u64().unwrap();
    assert!(estimated > 0, "{read}");
    assert_eq!(read["Usage"]["TotalTokens"], 55 + estimated);
    assert_eq!(read["Usage"], total["Usage"]);
}

#[tokio::test]
async fn reply_that_breaks_off_is_counted_as_received() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let broken = turn("Break [[script: words 40; unended]]");
    assert_eq!(ada.execute(&broken).await.error(), "ModelReplyMalformed");
    let untold = turn("Hide [[script: words 30; no usage]]");
    ada.execute(&untold).await.result();
    let zeros = turn("Zero [[script: words 20; usage 0 0]]");
    ada.execute(&zeros).await.result();
    let total = total(&system, 3).await;
    assert_eq!(tokens(&total, "CompletionTokens"), 90, "{total}");
    assert_eq!(total["EstimatedTokens"], total["Usage"]["TotalTokens"]);
    let paid = charges(&system, 3).await;
    assert_eq!(paid.iter().take(2).map(|paid| paid.output).collect::<Vec<_>>(), [40, 30]);
}
