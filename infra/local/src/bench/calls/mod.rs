//! What is asked of AWS, counted on the wire: something stands between the functions and their services, passes
//! everything on, and notes it.

mod between;
mod turn;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

pub(super) use between::Notes;

use super::Failure;
use super::figure::Figure;
use super::system::System;

/// A call of a service.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// Who called.
    pub(super) function: String,
    pub(super) service: Service,
    /// What was asked for, in the service's own word.
    pub(super) operation: String,
    pub(super) began: Instant,
    pub(super) ended: Instant,
    /// What it consumed of the table.
    pub(super) units: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    Table,
    Bucket,
    Queue,
}

impl Call {
    pub(super) fn reads(&self) -> bool {
        ["GetItem", "BatchGetItem", "Query", "TransactGetItems", "GET", "HEAD"]
            .contains(&self.operation.as_str())
    }
}

/// A system whose calls are noted.
pub(super) async fn noted(program: &Path, number: usize) -> Result<(System, Arc<Notes>), Failure> {
    let (notes, environment) = Notes::begin().await?;
    let system = System::with(program, number, environment).await?;
    notes.pass_on_to(system.cloud.endpoints());
    Ok((system, notes))
}

/// What an ordinary turn asks of AWS, and what a million of them cost.
pub(super) async fn count(program: &Path, number: usize) -> Result<Vec<Figure>, Failure> {
    let (system, notes) = noted(program, number).await?;
    let figures = turn::figures(&system, &notes).await;
    system.shutdown().await;
    figures
}
