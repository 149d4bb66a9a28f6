//! The `turn-finalizer` function: publishes settled turns, and sweeps for those nobody announced.
//!
//! Triggered by SQS in batches. A message is a hint that may be lost, repeated, late or forged, so
//! everything it says is checked against the table; one that can't be handled goes back alone.

mod app;
mod batch;

use std::{process::ExitCode, sync::Arc};

use aws_lambda_events::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, service_fn};

/// Serves invocations until the Lambda service ends the process. Why it could not, if it could not, is in the log.
pub async fn run() -> ExitCode {
    runtime::telemetry::start("turn-finalizer");
    runtime::ended(serve().await)
}

async fn serve() -> Result<(), Error> {
    let finalizer = Arc::new(app::start().await?);
    let serve = service_fn(move |event: LambdaEvent<SqsEvent>| {
        let finalizer = Arc::clone(&finalizer);
        async move {
            let handled = batch::handle(&finalizer, event).await;
            runtime::telemetry::traces::flush().await;
            Ok::<_, Error>(handled)
        }
    });
    lambda_runtime::run(serve).await
}
