//! URLs of the services of a local cloud.

/// URLs of the API and of every service.
#[derive(Debug, Clone)]
pub struct Endpoints {
    /// URL of the API.
    pub api: String,
    /// URL of DynamoDB.
    pub dynamodb: String,
    /// URL of S3, for path-style addressing.
    pub s3: String,
    /// URL of SQS.
    pub sqs: String,
    /// URL of Secrets Manager.
    pub secrets: String,
    /// URL of the finalize queue.
    pub finalize_queue: String,
    /// URL of the dead-letter queue.
    pub dead_letter_queue: String,
    /// URL of the queue of documents to index.
    pub knowledge_queue: String,
    /// URL of its dead-letter queue.
    pub knowledge_dead_letter_queue: String,
    /// URL of the queue of turns to continue.
    pub turn_queue: String,
    /// URL of its dead-letter queue.
    pub turn_dead_letter_queue: String,
    /// URL of the queue of the lanes of webhooks.
    pub webhook_queue: String,
    /// Base URL of the model provider.
    pub model: String,
    /// URL of Qdrant's gRPC port.
    pub qdrant: String,
}

impl Endpoints {
    /// Returns the ports of the API and of every service, which tools of connections must not reach.
    pub(crate) fn ports(&self) -> Vec<String> {
        let urls = [
            &self.api,
            &self.dynamodb,
            &self.s3,
            &self.sqs,
            &self.secrets,
            &self.finalize_queue,
            &self.model,
            &self.qdrant,
        ];
        let port = |url: &&String| port_of(url);
        urls.iter().filter_map(port).collect()
    }
}

/// Returns the port of a URL.
pub(crate) fn port_of(url: &str) -> Option<String> {
    let url = reqwest::Url::parse(url).ok()?;
    url.port_or_known_default().map(|port| port.to_string())
}
