//! Searches the org's sources on the model's initiative.

use std::time::Duration;

use agent::retrieval::{
    BUDGET, ScopeWarning, Sources,
    context_block::{ToolSearchResult, tool_search_result},
};
use contracts::error::causes;
use futures::future::join;
use protocol::turn::Turn;

use crate::flow::{
    retrieval::{
        self,
        embed::{embed, truncate},
        search::{RetrievalSkipped, log_skipped},
    },
    stored_request,
};
use crate::ports::{AgentDeps, Timer};

/// Searches on the model's initiative: in the turn's sources and within its request's scope, with a budget of its
/// own.
pub(super) async fn search(
    deps: &impl AgentDeps,
    turn: &Turn,
    sources: Option<&Sources>,
    text: &str,
    left: Duration,
) -> Result<(ToolSearchResult, Vec<ScopeWarning>), RetrievalSkipped> {
    let sources = sources.ok_or(RetrievalSkipped)?;
    let deadline = deps.host().monotonic().saturating_add(BUDGET.min(left));
    let text = truncate(text);
    let request = stored_request::load(deps.store(), deps.payloads(), turn);
    let inputs = join(request, embed(deps, &sources.embedding, text, deadline)).await;
    let request = inputs.0.map_err(|error| {
        tracing::warn!(error = %causes(&error), "{}", contracts::log::RETRIEVAL_SKIPPED);
        RetrievalSkipped
    })?;
    let org = &turn.key.session.org;
    let result = match inputs.1 {
        Ok(vector) => {
            retrieval::search::search(deps, org, sources, (text, &request.rag_scope), &vector, deadline).await
        }
        Err(error) => Err(error),
    };
    let result = log_skipped(result)?;
    Ok((tool_search_result(&result.chunks, sources.chunks, sources.tokens), result.warnings))
}
