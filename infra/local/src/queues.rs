//! The finalize queue, the turn queue, the knowledge queue and their dead-letter queues, with the stores that their messages are about.

use std::path::Path;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName;
use turns::ports::{DUE_SHARDS, Host, Store, Unavailable};
use turns::system::System;

use crate::discovery::{self, NotRunning};
use crate::stores::{Resources, Stores};

/// A failure of a command on the queues.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A queue does not respond.
    #[error("Can't use the queue {url}")]
    Queue {
        /// The queue's URL.
        url: String,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The table or the bucket does not respond.
    #[error("Can't reach {place}")]
    Stores {
        /// The deployment.
        place: String,
        /// The cause.
        #[source]
        source: Unavailable,
    },
}

impl Error {
    pub(crate) fn queue(url: &str, error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Queue { url: url.to_owned(), source: error.into() }
    }

    pub(crate) fn stores(stores: &Stores, source: Unavailable) -> Self {
        Self::Stores { place: stores.place.clone(), source }
    }
}

/// The URLs of a queue and of its dead-letter queue.
#[derive(Debug, Clone)]
pub struct QueueUrls {
    /// The queue.
    pub queue: String,
    /// Its dead-letter queue.
    pub dead_letters: String,
}

/// The queues of one deployment.
#[derive(Debug, Clone)]
pub struct Queues {
    pub(crate) sqs: Client,
    pub(crate) finalize: QueueUrls,
    /// `None` for a deployment of an older version.
    pub(crate) turns: Option<QueueUrls>,
    /// `None` for a deployment without documents.
    pub(crate) knowledge: Option<QueueUrls>,
    pub(crate) stores: Stores,
}

/// The messages of a queue, approximately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depth {
    /// Messages that can be received.
    pub visible: u64,
    /// Messages that were sent with a delay.
    pub delayed: u64,
    /// Messages that are being handled.
    pub in_flight: u64,
}

impl Depth {
    fn plus(self, other: Self) -> Self {
        Self {
            visible: self.visible + other.visible,
            delayed: self.delayed + other.delayed,
            in_flight: self.in_flight + other.in_flight,
        }
    }
}

/// The state of the queues, and of the work that they announce.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueReport {
    /// The finalize queue.
    pub queue: Depth,
    /// The turn queue. `None` for a deployment of an older version.
    pub turns: Option<Depth>,
    /// The knowledge queue. `None` for a deployment without documents.
    pub knowledge: Option<Depth>,
    /// The dead-letter queues together.
    pub dead_letters: Depth,
    /// Turns that the sweep should have ended or finalized by now. At most one page of each shard is counted.
    pub overdue_turns: u64,
}

impl Queues {
    /// Connects to the queues of the local cloud on a data folder.
    ///
    /// # Errors
    /// Fails if none is running.
    pub fn of_local_cloud(folder: &Path) -> Result<Self, NotRunning> {
        let endpoints = discovery::endpoints(folder)?;
        Ok(Self {
            sqs: discovery::clients(folder)?.sqs,
            finalize: QueueUrls {
                queue: endpoints.finalize_queue,
                dead_letters: endpoints.dead_letter_queue,
            },
            turns: Some(QueueUrls {
                queue: endpoints.turn_queue,
                dead_letters: endpoints.turn_dead_letter_queue,
            }),
            knowledge: Some(QueueUrls {
                queue: endpoints.knowledge_queue,
                dead_letters: endpoints.knowledge_dead_letter_queue,
            }),
            stores: Stores::of_local_cloud(folder)?,
        })
    }

    /// Connects to the queues of a deployment with the AWS credentials of the environment or of a profile.
    pub async fn of_deployment(
        resources: Resources,
        finalize: QueueUrls,
        turns: Option<QueueUrls>,
        knowledge: Option<QueueUrls>,
    ) -> Self {
        let sqs = Client::new(&storage::load_sdk_config().await);
        Self { sqs, finalize, turns, knowledge, stores: Stores::of_deployment(resources).await }
    }

    /// Returns the numbers of messages and of overdue turns.
    ///
    /// # Errors
    /// Fails if a queue or the table does not respond.
    pub async fn report(&self) -> Result<QueueReport, Error> {
        let now = System::new().now();
        let mut overdue_turns = 0;
        for shard in 0..DUE_SHARDS {
            // An index entry is due before the sweep acts on it, which runs once a minute.
            let page = self.stores.table.due(shard, now, None).await;
            let page = page.map_err(|source| Error::stores(&self.stores, source))?;
            overdue_turns += page.items.len() as u64;
        }
        let queue = self.depth(&self.finalize.queue).await?;
        let mut dead_letters = self.depth(&self.finalize.dead_letters).await?;
        let (mut turns, mut knowledge) = (None, None);
        for (urls, depth) in [(&self.turns, &mut turns), (&self.knowledge, &mut knowledge)] {
            if let Some(urls) = urls {
                *depth = Some(self.depth(&urls.queue).await?);
                dead_letters = dead_letters.plus(self.depth(&urls.dead_letters).await?);
            }
        }
        Ok(QueueReport { queue, turns, knowledge, dead_letters, overdue_turns })
    }

    async fn depth(&self, url: &str) -> Result<Depth, Error> {
        let names = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
        ];
        let request =
            self.sqs.get_queue_attributes().queue_url(url).set_attribute_names(Some(names.to_vec()));
        let response = request.send().await.map_err(|error| Error::queue(url, error))?;
        let attributes = response.attributes.unwrap_or_default();
        let [visible, delayed, in_flight] =
            names.map(|name| attributes.get(&name).and_then(|count| count.parse().ok()).unwrap_or_default());
        Ok(Depth { visible, delayed, in_flight })
    }
}
