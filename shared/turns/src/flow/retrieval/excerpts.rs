//! Retrieves the excerpts for a turn's question, concurrently with the writes that start the turn.

use std::pin::pin;

use agent::{
    attempt::RecoveryPoint,
    retrieval::{
        SCOPE_UNUSED, SEARCH_SKIPPED, Sources,
        context_block::{ContextBlock, render_context},
    },
};
use contracts::{id::OrgId, request::RagCondition};
use futures::future::{Either, select};

use crate::flow::retrieval::{
    embed::embed,
    question::Question,
    search::{RetrievalSkipped, log_skipped, search},
};
use crate::ports::AgentDeps;

/// The result of retrieval for a turn.
#[derive(Default)]
pub(crate) struct RetrievalResult {
    context: ContextBlock,
    warnings: Vec<String>,
}

impl RetrievalResult {
    /// Adds the result to the turn's initial step.
    pub(crate) fn apply_to(self, mut step: RecoveryPoint, sources: Option<Sources>) -> RecoveryPoint {
        step.spec.inputs.sources = sources;
        step.state.retrieved.block = self.context.block;
        step.state.add_chunks(self.context.refs);
        self.warnings.iter().for_each(|warning| step.state.effects.warn(warning));
        step
    }
}

/// Runs `work` and a search concurrently, and drops the search if `work` returns none or an error. Calls `waits` if
/// the search takes longer.
pub(crate) async fn join_search<T, E>(
    work: impl Future<Output = Result<Option<T>, E>>,
    search: impl Future<Output = RetrievalResult>,
    waits: impl FnOnce(&T),
) -> Result<Option<(T, RetrievalResult)>, E> {
    match select(pin!(work), pin!(search)).await {
        Either::Left((done, search)) => match done? {
            Some(done) => {
                waits(&done);
                Ok(Some((done, search.await)))
            }
            None => Ok(None),
        },
        Either::Right((found, work)) => Ok(work.await?.map(|done| (done, found))),
    }
}

/// Searches these sources for the question, within the request's scope.
pub(crate) async fn retrieve(
    deps: &impl AgentDeps,
    question: Option<&Question<'_>>,
    org: &OrgId,
    scope: &[RagCondition],
    sources: Option<&Sources>,
) -> RetrievalResult {
    let Some(sources) = sources else {
        let warnings = (!scope.is_empty()).then(|| SCOPE_UNUSED.to_owned()).into_iter().collect();
        return RetrievalResult { warnings, ..RetrievalResult::default() };
    };
    let Some(question) = question else { return RetrievalResult::default() };
    let searched = async {
        let vector = match sources.embedding == *question.model {
            true => question.vector.clone().await?,
            false => embed(deps, &sources.embedding, question.text, question.deadline).await?,
        };
        search(deps, org, sources, (question.text, scope), &vector, question.deadline).await
    };
    match log_skipped(searched.await) {
        Ok(result) => RetrievalResult {
            context: render_context(&result.chunks, sources.chunks, sources.tokens),
            warnings: result.warnings.iter().map(ToString::to_string).collect(),
        },
        Err(RetrievalSkipped) => {
            RetrievalResult { warnings: vec![SEARCH_SKIPPED.to_owned()], ..RetrievalResult::default() }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;
    use crate::flow::retrieval::test_polls::{polls_until_ready, ready_after};

    #[test]
    fn search_runs_concurrently_with_the_start() {
        let start = |steps| ready_after(steps, Ok::<_, ()>(Some(())));
        let search = |steps| ready_after(steps, RetrievalResult::default());
        // The two are polled in either order, so it may even take one poll less.
        assert!(polls_until_ready(join_search(start(6), search(4), |_| {})) <= polls_until_ready(start(6)));
        assert!(polls_until_ready(join_search(start(4), search(6), |_| {})) <= polls_until_ready(start(6)));
    }

    #[test]
    fn search_is_dropped_when_the_start_fails() {
        let nothing = ready_after(2, Ok::<Option<()>, ()>(None));
        assert_eq!(polls_until_ready(join_search(nothing, pending(), |_| {})), 3);
        let refused = ready_after(2, Err::<Option<()>, ()>(()));
        assert_eq!(polls_until_ready(join_search(refused, pending(), |_| {})), 3);
    }
}
