//! Retrieves excerpts from the org's sources for a turn, concurrently with other reads and writes.
//!
//! The question is embedded while the session is read. The search starts as soon as the contexts are known,
//! concurrently with the writes that start the turn. Both share a budget of two seconds from the start of the
//! request. A failure becomes a warning and the turn continues without excerpts. If this call doesn't start a turn,
//! the search is dropped.

use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};

use agent::{
    attempt::RecoveryPoint,
    retrieval::{
        BUDGET, Chunk, EmbeddingModel, Error, MAX_QUESTION_BYTES, Retrieval, SEARCH_SKIPPED, Search, Sources,
        context_block::{ContextBlock, ToolSearchResult, render_context, tool_search_result},
    },
};
use contracts::{
    error::causes,
    id::OrgId,
    request::{RagCondition, UserTurn},
};
use futures::{
    FutureExt,
    future::{BoxFuture, Either, Shared, join, select},
};
use protocol::turn::Turn;

use crate::flow::executor::Executor;
use crate::ports::{AgentDeps, Timer};

/// A question, and the future of its embedding. The future makes progress only while it is polled.
pub(in crate::flow) struct Question<'a> {
    text: &'a str,
    scope: &'a [RagCondition],
    /// The embedding model of the deployment, because the session's contexts aren't known yet.
    model: &'a EmbeddingModel,
    vector: Shared<BoxFuture<'a, Result<Arc<[f32]>, Error>>>,
    /// The end of its budget, on [`Timer::monotonic`].
    deadline: Duration,
}

/// The search was skipped. The reason is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::flow) struct RetrievalSkipped;

/// The result of retrieval for a turn.
#[derive(Default)]
pub(in crate::flow) struct RetrievalResult {
    context: ContextBlock,
    is_skipped: bool,
}

impl RetrievalResult {
    /// Adds the result to the turn's initial step.
    pub(in crate::flow) fn apply_to(
        self,
        mut step: RecoveryPoint,
        sources: Option<Sources>,
    ) -> RecoveryPoint {
        step.spec.inputs.sources = sources;
        step.state.retrieved.block = self.context.block;
        step.state.add_chunks(self.context.refs);
        if self.is_skipped {
            step.state.effects.warn(SEARCH_SKIPPED);
        }
        step
    }
}

/// Runs `work` while the question is being embedded.
pub(in crate::flow) async fn while_embedding<T>(
    question: Option<&Question<'_>>,
    work: impl Future<Output = T>,
) -> T {
    let vector = question.map(|question| question.vector.clone());
    let embedding = pin!(async {
        if let Some(vector) = vector {
            let _ = vector.await;
        }
        std::future::pending::<Infallible>().await
    });
    match select(pin!(work), embedding).await {
        Either::Left((done, _)) => done,
        Either::Right((never, _)) => match never {},
    }
}

/// Runs `work` and a search concurrently, and drops the search if `work` returns none or an error. Calls `waits` if
/// the search takes longer.
pub(in crate::flow) async fn join_search<T, E>(
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

impl<D: AgentDeps> Executor<D> {
    /// Starts the embedding of a request's question; none if there is no text or retrieval isn't configured.
    pub(in crate::flow) fn question<'a>(&'a self, request: &'a UserTurn) -> Option<Question<'a>> {
        let model = &self.deps.config().retrieval.as_ref()?.embedding;
        let text = question_text(request)?;
        let deadline = self.deps.host().monotonic().saturating_add(BUDGET);
        let vector = self.embed(model, text, deadline).boxed().shared();
        Some(Question { text, scope: &request.rag_scope, model, vector, deadline })
    }

    /// Searches these sources for the question.
    pub(in crate::flow) async fn retrieve(
        &self,
        question: Option<&Question<'_>>,
        org: &OrgId,
        sources: Option<&Sources>,
    ) -> RetrievalResult {
        let (Some(question), Some(sources)) = (question, sources) else { return RetrievalResult::default() };
        let searched = async {
            let vector = match sources.embedding == *question.model {
                true => question.vector.clone().await?,
                false => self.embed(&sources.embedding, question.text, question.deadline).await?,
            };
            self.search(org, sources, (question.text, question.scope), &vector, question.deadline).await
        };
        match log_skipped(searched.await) {
            Ok(chunks) => RetrievalResult {
                context: render_context(&chunks, sources.chunks, sources.tokens),
                is_skipped: false,
            },
            Err(RetrievalSkipped) => RetrievalResult { is_skipped: true, ..RetrievalResult::default() },
        }
    }

    /// Searches on the model's initiative: in the turn's sources and within its request's scope, with a budget of its
    /// own.
    pub(in crate::flow) async fn search_for_model(
        &self,
        turn: &Turn,
        sources: Option<&Sources>,
        text: &str,
        left: Duration,
    ) -> Result<ToolSearchResult, RetrievalSkipped> {
        let sources = sources.ok_or(RetrievalSkipped)?;
        let deadline = self.deps.host().monotonic().saturating_add(BUDGET.min(left));
        let text = truncate(text);
        let inputs = join(self.load_request(turn), self.embed(&sources.embedding, text, deadline)).await;
        let request = inputs.0.map_err(|error| {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::RETRIEVAL_SKIPPED);
            RetrievalSkipped
        })?;
        let org = &turn.key.session.org;
        let chunks = match inputs.1 {
            Ok(vector) => self.search(org, sources, (text, &request.rag_scope), &vector, deadline).await,
            Err(error) => Err(error),
        };
        let chunks = log_skipped(chunks)?;
        Ok(tool_search_result(&chunks, sources.chunks, sources.tokens))
    }

    async fn search(
        &self,
        org: &OrgId,
        sources: &Sources,
        (question, scope): (&str, &[RagCondition]),
        vector: &[f32],
        deadline: Duration,
    ) -> Result<Vec<Chunk>, Error> {
        let Sources { collection, chunks, hints, .. } = sources;
        let search = Search { org, collection, question, scope, hints, chunks: *chunks };
        self.deps.retrieval().search(&search, vector, self.time_until(deadline)?).await
    }

    async fn embed(
        &self,
        model: &EmbeddingModel,
        text: &str,
        deadline: Duration,
    ) -> Result<Arc<[f32]>, Error> {
        let timeout = self.time_until(deadline)?;
        self.deps.retrieval().embed(model, text, timeout).await.map(Arc::from)
    }

    fn time_until(&self, deadline: Duration) -> Result<Duration, Error> {
        let left = deadline.saturating_sub(self.deps.host().monotonic());
        Some(left).filter(|left| !left.is_zero()).ok_or(Error::TimedOut)
    }
}

/// Logs the reason for operators. The user and the model only learn that the search was skipped.
fn log_skipped<T>(searched: Result<T, Error>) -> Result<T, RetrievalSkipped> {
    searched.map_err(|error| {
        tracing::warn!(%error, "{}", contracts::log::RETRIEVAL_SKIPPED);
        RetrievalSkipped
    })
}

/// Returns the text to embed; none if the request consists of files alone.
fn question_text(request: &UserTurn) -> Option<&str> {
    Some(truncate(request.instruction.as_deref()?.trim())).filter(|text| !text.is_empty())
}

fn truncate(text: &str) -> &str {
    text.split_at(text.floor_char_boundary(MAX_QUESTION_BYTES)).0
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, poll_fn},
        task::Poll,
    };

    use super::*;

    /// Becomes ready after this many polls.
    async fn ready_after<T>(mut polls: u32, value: T) -> T {
        poll_fn(|context| {
            context.waker().wake_by_ref();
            match polls.checked_sub(1) {
                Some(left) => {
                    polls = left;
                    Poll::Pending
                }
                None => Poll::Ready(()),
            }
        })
        .await;
        value
    }

    /// Returns the number of polls until a future is ready.
    fn polls_until_ready(future: impl Future) -> u32 {
        let mut future = pin!(future);
        (1..100).find(|_| future.as_mut().now_or_never().is_some()).unwrap_or(100)
    }

    fn question<'a>(model: &'a EmbeddingModel, steps: u32) -> Question<'a> {
        let vector = ready_after(steps, Ok(Arc::from([1.0]))).boxed().shared();
        Question { text: "", scope: &[], model, vector, deadline: Duration::MAX }
    }

    #[test]
    fn embedding_faster_than_the_work_adds_no_wait() {
        let model = EmbeddingModel { name: "m".to_owned(), dimensions: None };
        let slow = question(&model, 4);
        assert_eq!(
            polls_until_ready(while_embedding(Some(&slow), ready_after(6, ()))),
            polls_until_ready(ready_after(6, ()))
        );
        assert_eq!(polls_until_ready(slow.vector), 1, "the vector is ready by then");
        assert_eq!(
            polls_until_ready(while_embedding(None, ready_after(6, ()))),
            polls_until_ready(ready_after(6, ()))
        );
    }

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
