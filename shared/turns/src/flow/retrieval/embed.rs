//! Embeds texts.

use std::{sync::Arc, time::Duration};

use agent::retrieval::{EmbeddingModel, Error, MAX_QUESTION_BYTES, Retrieval};

use crate::ports::{AgentDeps, Timer};

/// Embeds a text until the deadline.
pub(crate) async fn embed(
    deps: &impl AgentDeps,
    model: &EmbeddingModel,
    text: &str,
    deadline: Duration,
) -> Result<Arc<[f32]>, Error> {
    let timeout = time_until(deps.host(), deadline)?;
    deps.retrieval().embed(model, text, timeout).await.map(Arc::from)
}

/// Cuts a text to what is embedded.
pub(crate) fn truncate(text: &str) -> &str {
    text.split_at(text.floor_char_boundary(MAX_QUESTION_BYTES)).0
}

/// Returns the time until the deadline.
///
/// # Errors
/// If it is over.
pub(super) fn time_until(timer: &impl Timer, deadline: Duration) -> Result<Duration, Error> {
    let left = deadline.saturating_sub(timer.monotonic());
    Some(left).filter(|left| !left.is_zero()).ok_or(Error::TimedOut)
}
