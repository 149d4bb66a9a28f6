//! How a command reaches a local cloud that runs on a data folder.

use std::path::Path;

use crate::endpoints::Endpoints;
use crate::services::provision::{self, Clients, DEAD_LETTERS, QUEUE};

/// Where a running local cloud says how to reach its API and each of its services.
const FILES: [&str; 6] =
    ["api-endpoint", "dynamodb-endpoint", "s3-endpoint", "sqs-endpoint", "qdrant-endpoint", "model-endpoint"];

/// No local cloud uses this folder.
#[derive(Debug, thiserror::Error)]
#[error("no local cloud runs on the data folder {0}; start one first, or name its folder with --data")]
pub struct NotRunning(String);

/// Leaves word of how to reach what commands ask for.
pub(crate) fn announce(folder: &Path, endpoints: &Endpoints) -> std::io::Result<()> {
    let Endpoints { api, dynamodb, s3, sqs, qdrant, model, .. } = endpoints;
    FILES
        .iter()
        .zip([api, dynamodb, s3, sqs, qdrant, model])
        .try_for_each(|(file, endpoint)| std::fs::write(folder.join(file), endpoint))
}

/// Where it says which providers its functions have.
const PROVIDERS: &str = "model-providers";

/// Leaves word of the providers that contexts may name.
pub(crate) fn announce_providers(folder: &Path, setting: Option<&String>) -> std::io::Result<()> {
    std::fs::write(folder.join(PROVIDERS), setting.map_or("[]", String::as_str))
}

/// The names of the providers that contexts may name. What else is wrong with the setting the functions say.
pub(crate) fn providers(folder: &Path) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Declared {
        #[serde(rename = "Name")]
        name: String,
    }
    let setting = std::fs::read_to_string(folder.join(PROVIDERS)).unwrap_or_default();
    let declared: Vec<Declared> = serde_json::from_str(&setting).unwrap_or_default();
    declared.into_iter().map(|declared| declared.name).collect()
}

/// Clients of the cloud on this folder, for its table and its bucket.
pub(crate) fn clients(folder: &Path) -> Result<Clients, NotRunning> {
    let Endpoints { dynamodb, s3, sqs, .. } = endpoints(folder)?;
    Ok(Clients::new(&dynamodb, &s3, &sqs))
}

/// The vector database and the model of the cloud on this folder.
pub(crate) fn sources(folder: &Path) -> Result<(String, String), NotRunning> {
    let Endpoints { qdrant, model, .. } = endpoints(folder)?;
    Ok((qdrant, model))
}

/// Where everything of the cloud on this folder is.
pub(crate) fn endpoints(folder: &Path) -> Result<Endpoints, NotRunning> {
    let read = |file: &str| std::fs::read_to_string(folder.join(file));
    let read = |file| read(file).map_err(|_| NotRunning(folder.display().to_string()));
    let [api, dynamodb, s3, sqs, qdrant, model] = FILES;
    let sqs = read(sqs)?;
    Ok(Endpoints {
        api: read(api)?,
        dynamodb: read(dynamodb)?,
        s3: read(s3)?,
        finalize_queue: provision::queue_url(&sqs, QUEUE),
        dead_letter_queue: provision::queue_url(&sqs, DEAD_LETTERS),
        sqs,
        model: read(model)?,
        qdrant: read(qdrant)?,
    })
}
