//! The part of `turn-finalizer`: everything after the client has its answer.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, future::try_join, stream};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    items::{self, Write, text},
    model::Reply,
    services::Services,
    turn::TurnId,
};

/// The number of messages that are handled concurrently, as in `turn-finalizer`.
const CONCURRENCY: usize = 4;

/// A batch of messages, as far as it is read.
#[derive(Deserialize)]
struct SqsEvent {
    #[serde(rename = "Records")]
    records: Vec<SqsMessage>,
}

/// A message of a batch.
#[derive(Deserialize)]
struct SqsMessage {
    body: String,
}

/// The outcome object, as far as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Outcome {
    report: Reply,
}

/// Serves invocations until the local cloud stops.
pub(crate) async fn serve(services: Arc<Services>) -> Result<(), Error> {
    let handler =
        service_fn(move |event: LambdaEvent<SqsEvent>| handle(Arc::clone(&services), event.payload));
    lambda_runtime::run(handler).await
}

async fn handle(services: Arc<Services>, event: SqsEvent) -> Result<Value, Error> {
    let bodies = event.records.into_iter().map(|message| message.body);
    let finalized = stream::iter(bodies).map(|body| finalize(&services, body));
    let _: Vec<()> = finalized.buffer_unordered(CONCURRENCY).try_collect().await?;
    Ok(json!({ "batchItemFailures": [] }))
}

/// Makes the calls of a finalization, unless the turn is terminal.
async fn finalize(services: &Services, message: String) -> Result<(), Error> {
    let id: TurnId = serde_json::from_str(&message)?;
    let found = services.items(&id, ["SESSION".to_owned(), id.head(), id.request()]).await?;
    let [Some(session), Some(head), Some(request)] = found else { return Ok(()) };
    if text(&head, "Phase") != "settled" {
        return Ok(());
    }
    let (user, writer) = (text(&head, "RequestedBy").to_owned(), text(&head, "Writer").to_owned());
    let name = format!("{}/{}/instruction.json", text(&head, "Fingerprint"), text(&head, "SubmissionId"));
    let published =
        services.put_object(id.object(&name), text(&request, "RequestJson").to_owned().into_bytes());
    let (outcome, ()) =
        try_join(services.object(id.object(&format!("{writer}/result.json"))), published).await?;
    let Outcome { report } = serde_json::from_slice(&outcome)?;

    let participant = items::participant(&id, &user, text(&head, "Created"));
    let usage = items::usage_counters(&id, &user, &report);
    services
        .transact(vec![
            services.replacement(items::finalized_session(session, &report))?,
            services.replacement(items::finalized_head(head))?,
            services.put(items::result(&id, &report))?,
            services.replacement(Write::replace(participant, &[]))?,
            services.replacement(usage)?,
        ])
        .await
}
