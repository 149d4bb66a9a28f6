//! The sweep schedule: tells `turn-finalizer` through the queue, again and again, to look for turns
//! that were settled but never announced, or that are overdue.

use std::time::Duration;

use aws_sdk_sqs::Client;
use protocol::announcement::FinalizeMessage;

/// The first sweep after a start finds what was announced before it, since the queue forgets.
const FIRST: Duration = Duration::from_secs(1);

/// Sends a sweep soon and then every `period`; runs until dropped.
pub(crate) async fn run(sqs: Client, queue_url: String, period: Duration) {
    tokio::time::sleep(FIRST.min(period)).await;
    loop {
        // The next one makes up for one that was not sent.
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
