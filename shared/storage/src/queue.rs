//! The finalize queue on SQS.

use aws_sdk_sqs::Client;
use contracts::error::Misread;
use protocol::announcement::FinalizeMessage;
use turns::ports::{FinalizeQueue, Unavailable};

use crate::{Ahead, failure};

/// What this room calls the queue when it fails.
const WHAT: &str = "the finalize queue";

/// The announcement travels beside the settle, so it may be faster: a second lets the settle land.
const DELAY_SECONDS: i32 = 1;

/// The finalize queue.
#[derive(Debug, Clone)]
pub struct Queue {
    client: Ahead<Client>,
    url: String,
}

impl Queue {
    /// The queue at this URL.
    #[must_use]
    pub fn new(client: impl Into<Ahead<Client>>, url: String) -> Self {
        Self { client: client.into(), url }
    }
}

impl FinalizeQueue for Queue {
    async fn send(&self, message: &FinalizeMessage) -> Result<(), Unavailable> {
        let body = serde_json::to_string(message)
            .map_err(|error| Unavailable { what: WHAT, source: Misread::from(&error).into() })?;
        self.client
            .send_message()
            .queue_url(&self.url)
            .delay_seconds(DELAY_SECONDS)
            .message_body(body)
            .send()
            .await
            .map(|_| ())
            .map_err(|error| failure::unavailable(WHAT, error))
    }
}
