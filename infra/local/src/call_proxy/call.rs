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

/// Returns the number of sequential calls: the size of the largest subset of calls without overlaps.
#[must_use]
pub fn sequential<'a>(calls: impl Iterator<Item = &'a Call>) -> usize {
    let mut spans: Vec<(Instant, Instant)> = calls.map(|call| (call.finished, call.started)).collect();
    spans.sort_unstable();
    let mut last: Option<Instant> = None;
    let mut sequential = 0;
    for (finished, started) in spans {
        if last.is_none_or(|last| started >= last) {
            (last, sequential) = (Some(finished), sequential + 1);
        }
    }
    sequential
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn calls_that_overlap_count_once() {
        let start = Instant::now();
        let call = |from: u64, to: u64| Call {
            function: "execute".to_owned(),
            service: Service::Table,
            operation: "GetItem".to_owned(),
            sort_key: None,
            bytes: 0,
            started: start + Duration::from_millis(from),
            finished: start + Duration::from_millis(to),
            units: 0.5,
        };
        let calls = [call(0, 5), call(1, 3), call(2, 9), call(6, 8), call(9, 10)];
        assert_eq!(sequential(calls.iter()), 3, "1 to 3, 6 to 8, 9 to 10");
        assert_eq!(sequential([].iter()), 0);
    }
}
