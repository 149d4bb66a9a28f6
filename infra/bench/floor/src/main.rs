//! The floor of a turn: a program that makes the calls of an ordinary turn and nothing else.
//!
//! `floor function execute` and `floor function turn-finalizer` are Lambda functions on `lambda_runtime`. A local cloud
//! starts them in place of the real ones, so both answer the same requests and are measured in the same way. The calls
//! have the number, the order and about the size of those of a turn, and go through the same SDKs over the same HTTP
//! clients. The model's events are read to their end.
//!
//! Deliberately absent: validation, authorization, leases, retries of lost writes, streams that resume, output filters,
//! logs and metrics. `scripts/bench --only floor` reports a turn as a ratio to this program.

mod execute;
mod finalizer;
mod items;
mod model;
mod services;
mod turn;

use std::sync::Arc;

use lambda_runtime::Error;
use services::Services;

/// The usage of the program. A local cloud starts a function in this way.
const USAGE: &str = "usage: floor function NAME";

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [command, function] = arguments.as_slice() else { return Err(USAGE.into()) };
    if command != "function" {
        return Err(USAGE.into());
    }
    // As in the functions, where one thread does the work of one invocation at a time.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let services = Arc::new(Services::load().await?);
        match function.as_str() {
            "turn-finalizer" => finalizer::serve(services).await,
            // A local cloud also starts the functions that are not measured.
            _ => execute::serve(services).await,
        }
    })
}
