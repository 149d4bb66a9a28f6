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
    /// URL of the finalize queue.
    pub finalize_queue: String,
    /// URL of the dead-letter queue.
    pub dead_letter_queue: String,
    /// Base URL of the model provider.
    pub model: String,
    /// URL of Qdrant's gRPC port.
    pub qdrant: String,
}
