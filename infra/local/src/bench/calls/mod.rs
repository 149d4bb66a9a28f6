//! AWS calls of a turn, counted on the wire by a proxy between the functions and their services.

mod recording_proxy;
mod turn;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

pub(super) use recording_proxy::CallLog;

use super::Failure;
use super::metric::Metric;
use super::system::System;

/// A call of a service.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// Name of the calling function.
    pub(super) function: String,
    pub(super) service: Service,
    /// Operation, as the service names it.
    pub(super) operation: String,
    pub(super) started: Instant,
    pub(super) finished: Instant,
    /// Capacity units of the table that the call consumed.
    pub(super) units: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    Table,
    Bucket,
    Queue,
}

impl Call {
    pub(super) fn is_read(&self) -> bool {
        ["GetItem", "BatchGetItem", "Query", "TransactGetItems", "GET", "HEAD"]
            .contains(&self.operation.as_str())
    }
}

/// Starts a system whose calls are recorded.
pub(super) async fn start_recorded(program: &Path, number: usize) -> Result<(System, Arc<CallLog>), Failure> {
    let (log, environment) = CallLog::start().await?;
    let system = System::with_environment(program, number, environment).await?;
    log.set_targets(system.cloud.endpoints());
    Ok((system, log))
}

/// Measures the AWS calls of an ordinary turn, and the cost of a million of them.
pub(super) async fn count(program: &Path, number: usize) -> Result<Vec<Metric>, Failure> {
    let (system, log) = start_recorded(program, number).await?;
    let metrics = turn::metrics(&system, &log).await;
    system.shutdown().await;
    metrics
}
