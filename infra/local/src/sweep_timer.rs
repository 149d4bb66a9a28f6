//! The sweep schedule: sends periodic messages through the queue that make `turn-finalizer` look for turns that are
//! settled but were never announced, or that are overdue.

use std::time::Duration;

use aws_sdk_sqs::Client;
use protocol::queue_message::FinalizeMessage;

/// Delay of the first sweep after a start. It finds turns announced before the restart, since the queue is not
/// persistent.
const FIRST: Duration = Duration::from_secs(1);

/// Sends a first sweep soon and then one every `period`, until dropped.
pub(crate) async fn run(sqs: Client, queue_url: String, period: Duration) {
    tokio::time::sleep(FIRST.min(period)).await;
    loop {
        // A failed sweep is made up for by the next one.
        let _ = send(&sqs, &queue_url).await;
        tokio::time::sleep(period).await;
    }
}

/// Sends one sweep now.
pub(crate) async fn send(
    sqs: &Client,
    queue_url: &str,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let sweep = serde_json::to_string(&FinalizeMessage::Sweep)?;
    sqs.send_message().queue_url(queue_url).message_body(sweep).send().await?;
    Ok(())
}
