//! A recorded call.

use std::time::Instant;

/// A call of a service.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Name of the calling function.
    pub function: String,
    /// The called service.
    pub service: Service,
    /// Operation, as the service names it; the method of a request to the bucket.
    pub operation: String,
    /// Sort key of the item that the call puts into the table.
    pub sort_key: Option<String>,
    /// Length of the request's body.
    pub bytes: usize,
    /// Time at which the request arrived.
    pub started: Instant,
    /// Time at which the response was complete.
    pub finished: Instant,
    /// Capacity units of the table that the call consumed.
    pub units: f64,
}

/// A service that functions call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// DynamoDB.
    Table,
    /// S3.
    Bucket,
    /// SQS.
    Queue,
}

impl Service {
    /// Every service.
    pub const ALL: [Self; 3] = [Self::Table, Self::Bucket, Self::Queue];

    /// Returns the variable that sets the URL of the service.
    #[must_use]
    pub fn variable(self) -> &'static str {
        match self {
            Self::Table => "AWS_ENDPOINT_URL_DYNAMODB",
            Self::Bucket => "AWS_ENDPOINT_URL_S3",
            Self::Queue => "AWS_ENDPOINT_URL_SQS",
        }
    }
}

impl Call {
    /// Returns true if the call changes nothing.
    #[must_use]
    pub fn is_read(&self) -> bool {
        ["GetItem", "BatchGetItem", "Query", "TransactGetItems", "GET", "HEAD"]
            .contains(&self.operation.as_str())
    }
}
