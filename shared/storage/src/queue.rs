//! The finalize queue on SQS.

use aws_sdk_sqs::Client;
use contracts::error::JsonError;
use protocol::queue_message::FinalizeMessage;
use turns::ports::{FinalizeQueue, Unavailable};

use crate::{Prewarmed, failure};

/// The name of the queue in errors.
const RESOURCE: &str = "the finalize queue";

/// The message is sent in parallel with the settle. A second gives the settle time to arrive first.
const DELAY_SECONDS: i32 = 1;

/// The finalize queue.
#[derive(Debug, Clone)]
pub struct Queue {
    client: Prewarmed<Client>,
    url: String,
}

impl Queue {
    /// Creates an adapter for the queue at this URL.
    #[must_use]
    pub fn new(client: impl Into<Prewarmed<Client>>, url: String) -> Self {
        Self { client: client.into(), url }
    }
}

impl FinalizeQueue for Queue {
    async fn send(&self, message: &FinalizeMessage) -> Result<(), Unavailable> {
        let body = serde_json::to_string(message)
            .map_err(|error| Unavailable { what: RESOURCE, source: JsonError::from(&error).into() })?;
        self.client
            .send_message()
            .queue_url(&self.url)
            .delay_seconds(DELAY_SECONDS)
            .message_body(body)
            .send()
            .await
            .map(|_| ())
            .map_err(|error| failure::unavailable(RESOURCE, error))
    }
}
