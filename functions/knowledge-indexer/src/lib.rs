//! The `knowledge-indexer` function: makes the vector database match the documents that orgs gave to their agents.
//!
//! Triggered by SQS. A message is a hint that may be lost, repeated or late: the record says what is to be done, and one
//! attempt at a time has its lease. The work itself is that of `aptix index`, with a repository for each document.

mod app;
mod batch;
mod index;

use std::{process::ExitCode, sync::Arc};

use lambda_runtime::{Error, LambdaEvent, service_fn};
use runtime::sqs::SqsEvent;

/// Serves invocations until the Lambda service stops the process. Logs a failure to start.
pub fn run() -> ExitCode {
    runtime::run("knowledge-indexer", serve)
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
