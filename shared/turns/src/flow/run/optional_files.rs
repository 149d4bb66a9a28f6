//! Optional files of a turn: raw payloads, long values and the snapshot of the history, which nothing depends on.

use agent::outcome::answer::File;
use contracts::error::causes;
use futures::future::join_all;

use crate::ports::Payloads;

/// Stores files that nothing refers to. A failure is only logged.
pub(crate) async fn store(payloads: &impl Payloads, files: &[File]) {
    let puts = files.iter().map(|file| payloads.put_file(file));
    for stored in join_all(puts).await {
        if let Err(error) = stored {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::RAW_PAYLOAD_NOT_STORED);
        }
    }
}
