//! How a command reaches a local cloud that runs on a data folder.

use std::path::Path;

use crate::services::provision::Clients;

/// Where a running local cloud says how to reach its table, and its bucket.
const FILES: [&str; 2] = ["dynamodb-endpoint", "s3-endpoint"];

/// No local cloud uses this folder.
#[derive(Debug, thiserror::Error)]
#[error("no local cloud runs on the data folder {0}; start one first, or name its folder with --data")]
pub struct NotRunning(String);

/// Leaves word of how to reach table and bucket.
pub(crate) fn announce(folder: &Path, dynamodb: &str, s3: &str) -> std::io::Result<()> {
    FILES
        .iter()
        .zip([dynamodb, s3])
        .try_for_each(|(file, endpoint)| std::fs::write(folder.join(file), endpoint))
}

/// Clients of the cloud on this folder, for its table and its bucket.
pub(crate) fn clients(folder: &Path) -> Result<Clients, NotRunning> {
    let endpoint = |file: &str| {
        std::fs::read_to_string(folder.join(file)).map_err(|_| NotRunning(folder.display().to_string()))
    };
    let [dynamodb, s3] = FILES;
    let (dynamodb, s3) = (endpoint(dynamodb)?, endpoint(s3)?);
    // The queues are no command's business.
    Ok(Clients::new(&dynamodb, &s3, &dynamodb))
}
