//! Where the services of a local cloud are.

/// Where everything is.
#[derive(Debug, Clone)]
pub struct Endpoints {
    /// The API.
    pub api: String,
    /// DynamoDB.
    pub dynamodb: String,
    /// S3, path style.
    pub s3: String,
    /// SQS.
    pub sqs: String,
    /// The finalize queue's URL.
    pub finalize_queue: String,
    /// The dead-letter queue's URL.
    pub dead_letter_queue: String,
    /// The model's base URL.
    pub model: String,
    /// Qdrant's gRPC.
    pub qdrant: String,
}
