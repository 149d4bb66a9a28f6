//! Many turns in one process, as on Lambda Managed Instances.

use std::time::Duration;

use futures::{
    FutureExt,
    future::{BoxFuture, join, join_all},
};
use local::{Function, Options};
use serde_json::Value;

use crate::support::{Client, System, answer_text, final_text_and_result, options, turn, turn_path};

/// The turns in one process.
const TURNS: usize = 64;

/// Runs a turn and returns its answer's text. The client streams every fourth turn.
fn answer<'a>(client: &'a Client, request: &'a Value, number: usize) -> BoxFuture<'a, String> {
    if !number.is_multiple_of(4) {
        return async move { answer_text(&client.execute(request).await.text) }.boxed();
    }
    async move {
        let events = client.execute_streaming(request, None).await;
        let events = events.unwrap_or_else(|answer| panic!("{}", answer.text)).rest().await;
        let (text, result) = final_text_and_result(&events);
        assert_eq!(text, answer_text(&result));
        text
    }
    .boxed()
}

/// A function that stops at its timeout settles its turn as failed in the last 20 s before it.
#[tokio::test]
async fn turns_in_one_process_are_untouched_by_an_overlong_one() {
    let timeout = Some(Duration::from_secs(45));
    let options = Options { concurrency: 1, concurrency_per_process: TURNS, timeout, ..options() };
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    let overlong = turn("Hang [[script: say \"First\"; hang 60s]]");
    // Longer than a request waits for a process, so they are served only if all are served together.
    let requests: Vec<_> =
        (1..TURNS).map(|n| turn(&format!("Answer [[script: hang 3s; say \"Answer {n}.\"]]"))).collect();
    let answers = requests.iter().enumerate().map(|(n, request)| answer(&ada, request, n));
    let (failed, answers) = join(ada.execute(&overlong), join_all(answers)).await;
    for (n, answer) in (1..TURNS).zip(answers) {
        assert_eq!(answer, format!("Answer {n}."));
    }
    assert!(failed.status >= 500, "{}", failed.text);
    assert_ne!(failed.error(), "FunctionFailed", "it is an answer of the function");
    assert_eq!(ada.get(&turn_path(&overlong)).await.result()["ErrorCode"], failed.error());
    assert_eq!(system.cloud.processes(Function::Execute), 1);
    assert_eq!(system.model_calls().len(), TURNS);
}
