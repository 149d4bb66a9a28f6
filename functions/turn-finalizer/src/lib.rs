//! The `turn-finalizer` function: finalizes settled turns, sweeps for turns without a message, purges sessions, and
//! maintains the session index, if configured.
//!
//! Triggered by SQS in batches. A message is a hint that may be lost, repeated, delayed or forged, so it is checked
//! against the table. A failed message is returned to the queue on its own.

mod app;
mod batch;
mod index;

use std::{process::ExitCode, sync::Arc};

use lambda_runtime::{Error, LambdaEvent, service_fn};
use runtime::sqs::SqsEvent;

/// Serves invocations until the Lambda service stops the process. Logs a failure to start.
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
