//! The `turn-finalizer` function: publishes settled turns, sweeps for those nobody announced, purges sessions, and
//! keeps the index of sessions where there is one.
//!
//! Triggered by SQS in batches. A message is a hint that may be lost, repeated, late or forged, so
//! everything it says is checked against the table; one that can't be handled goes back alone.

mod app;
mod batch;
mod index;

use std::{process::ExitCode, sync::Arc};

use aws_lambda_events::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, service_fn};

/// Serves invocations until the Lambda service ends the process. Why it could not, if it could not, is in the log.
pub fn run() -> ExitCode {
    runtime::run("turn-finalizer", serve)
}

async fn serve() -> Result<(), Error> {
    let app = Arc::new(app::App::start().await?);
    let serve = service_fn(move |event: LambdaEvent<SqsEvent>| {
        let app = Arc::clone(&app);
        async move {
            let handled = batch::handle(&app, event).await;
            runtime::telemetry::traces::flush().await;
            Ok::<_, Error>(handled)
        }
    });
    lambda_runtime::run(serve).await
}
