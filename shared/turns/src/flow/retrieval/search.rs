//! Searches the org's sources.

use std::time::Duration;

use agent::retrieval::{Error, Retrieval, Search, SearchResult, Sources};
use contracts::{id::OrgId, request::RagCondition};

use crate::flow::retrieval::embed::time_until;
use crate::ports::AgentDeps;

/// The search was skipped. The reason is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetrievalSkipped;

/// Searches these sources for a question and its vector.
pub(crate) async fn search(
    deps: &impl AgentDeps,
    org: &OrgId,
    sources: &Sources,
    (question, scope): (&str, &[RagCondition]),
    vector: &[f32],
    deadline: Duration,
) -> Result<SearchResult, Error> {
    let Sources { collection, chunks, hints, .. } = sources;
    let search = Search { org, collection, question, scope, hints, chunks: *chunks };
    deps.retrieval().search(&search, vector, time_until(deps.host(), deadline)?).await
}

/// Logs the reason for operators. The user and the model only learn that the search was skipped.
pub(crate) fn log_skipped<T>(searched: Result<T, Error>) -> Result<T, RetrievalSkipped> {
    searched.map_err(|error| {
        tracing::warn!(%error, "{}", contracts::log::RETRIEVAL_SKIPPED);
        RetrievalSkipped
    })
}
