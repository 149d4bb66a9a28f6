//! Discovery: how commands find a local cloud that runs on a data folder.

use std::path::Path;

use agent::model::providers::DeclaredProvider;

use crate::endpoints::Endpoints;
use crate::json_file::without_byte_order_mark;
use crate::private_file;
use crate::service_keys::ServiceKeys;
use crate::services::provision::{
    self, Clients, DEAD_LETTERS, KNOWLEDGE_DEAD_LETTERS, KNOWLEDGE_QUEUE, QUEUE, TURN_DEAD_LETTERS,
    TURN_QUEUE, WEBHOOK_QUEUE,
};

/// Files in which a running local cloud publishes the URLs of its API and services.
const ENDPOINT_FILES: [&str; 7] = [
    "api-endpoint",
    "dynamodb-endpoint",
    "s3-endpoint",
    "sqs-endpoint",
    "qdrant-endpoint",
    "model-endpoint",
    "secrets-endpoint",
];

/// No local cloud is running on this folder.
#[derive(Debug, thiserror::Error)]
#[error(
    "No local cloud is running on the data folder {0}. Start one with `aptix up`, or name its folder with --data."
)]
pub struct NotRunning(String);

impl NotRunning {
    /// Returns the error for this folder.
    #[must_use]
    pub fn on(folder: &Path) -> Self {
        Self(folder.display().to_string())
    }
}

/// Writes the endpoints into the data folder, for commands to find.
pub(crate) fn write_endpoints(folder: &Path, endpoints: &Endpoints) -> std::io::Result<()> {
    let Endpoints { api, dynamodb, s3, sqs, qdrant, model, secrets, .. } = endpoints;
    ENDPOINT_FILES
        .iter()
        .zip([api, dynamodb, s3, sqs, qdrant, model, secrets])
        .try_for_each(|(file, endpoint)| private_file::write(&folder.join(file), endpoint))
}

/// File that lists the model providers of the functions.
const PROVIDERS_FILE: &str = "model-providers";

/// Writes the providers that contexts may name.
pub(crate) fn write_providers(folder: &Path, setting: Option<&String>) -> std::io::Result<()> {
    private_file::write(&folder.join(PROVIDERS_FILE), setting.map_or("[]", String::as_str))
}

/// Returns the setting with the providers that contexts may name.
pub(crate) fn model_providers(folder: &Path) -> String {
    std::fs::read_to_string(folder.join(PROVIDERS_FILE)).unwrap_or_default()
}

/// Returns the providers in a setting. Errors in the setting are reported by the functions, not here.
pub(crate) fn declared_providers(setting: &str) -> Vec<DeclaredProvider> {
    let providers: Vec<serde_json::Value> =
        serde_json::from_str(without_byte_order_mark(setting)).unwrap_or_default();
    providers.into_iter().filter_map(|provider| serde_json::from_value(provider).ok()).collect()
}

/// Returns clients for the table, bucket and queues of the cloud on this folder.
pub(crate) fn clients(folder: &Path) -> Result<Clients, NotRunning> {
    let Endpoints { dynamodb, s3, sqs, .. } = endpoints(folder)?;
    Ok(Clients::new(&dynamodb, &s3, &sqs, &service_keys(folder)?))
}

/// Returns the keys of the services of the cloud on this folder.
pub(crate) fn service_keys(folder: &Path) -> Result<ServiceKeys, NotRunning> {
    ServiceKeys::read(folder).map_err(|_| NotRunning::on(folder))
}

/// Returns the URLs of the vector database and the model of the cloud on this folder.
pub(crate) fn vector_endpoints(folder: &Path) -> Result<(String, String), NotRunning> {
    let Endpoints { qdrant, model, .. } = endpoints(folder)?;
    Ok((qdrant, model))
}

/// Returns the endpoints of the cloud on this folder.
pub(crate) fn endpoints(folder: &Path) -> Result<Endpoints, NotRunning> {
    let read = |file: &str| std::fs::read_to_string(folder.join(file));
    let read = |file| read(file).map_err(|_| NotRunning::on(folder));
    let [api, dynamodb, s3, sqs, qdrant, model, secrets] = ENDPOINT_FILES;
    let sqs = read(sqs)?;
    Ok(Endpoints {
        api: read(api)?,
        dynamodb: read(dynamodb)?,
        s3: read(s3)?,
        finalize_queue: provision::queue_url(&sqs, QUEUE),
        dead_letter_queue: provision::queue_url(&sqs, DEAD_LETTERS),
        knowledge_queue: provision::queue_url(&sqs, KNOWLEDGE_QUEUE),
        knowledge_dead_letter_queue: provision::queue_url(&sqs, KNOWLEDGE_DEAD_LETTERS),
        turn_queue: provision::queue_url(&sqs, TURN_QUEUE),
        turn_dead_letter_queue: provision::queue_url(&sqs, TURN_DEAD_LETTERS),
        webhook_queue: provision::queue_url(&sqs, WEBHOOK_QUEUE),
        sqs,
        model: read(model)?,
        qdrant: read(qdrant)?,
        secrets: read(secrets)?,
    })
}
