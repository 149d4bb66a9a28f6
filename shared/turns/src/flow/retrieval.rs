//! Searches the org's sources: for the question of a request, and on the model's initiative.
//!
//! The question is embedded while the session is read, unless it refers to the turn before it. The search starts as soon as the contexts are known,
//! concurrently with the writes that start the turn. Both share a budget of two seconds from the start of the
//! request. A failure becomes a warning and the turn continues without excerpts. If this call doesn't start a turn,
//! the search is dropped.

use std::{borrow::Cow, convert::Infallible, pin::pin, sync::Arc, time::Duration};

use agent::{
    attempt::RecoveryPoint,
    retrieval::{
        BUDGET, EmbeddingModel, Error, MAX_QUESTION_BYTES, Retrieval, SCOPE_UNUSED, SEARCH_SKIPPED, Search,
        SearchResult, Sources,
        context_block::{ContextBlock, render_context},
        question::Need,
    },
};
use contracts::{
    id::OrgId,
    request::{RagCondition, UserTurn},
};
use futures::{
    FutureExt,
    future::{BoxFuture, Either, Shared, select},
};
use protocol::id::TurnKey;

use crate::ports::{AgentDeps, Reads, Timer};

/// The vector of a text that is being embedded.
type PendingVector<'a> = Shared<BoxFuture<'a, Result<Arc<[f32]>, Error>>>;

/// A question, and the future of its embedding. The future makes progress only while it is polled.
pub(crate) struct Question<'a> {
    pub(super) text: &'a str,
    /// The embedding model of the deployment, because the session's contexts aren't known yet.
    pub(super) model: &'a EmbeddingModel,
    /// The embedding; none for a follow-up, which is embedded with the turn before it.
    pub(super) vector: Option<PendingVector<'a>>,
    /// The end of its budget, on [`Timer::monotonic`].
    pub(super) deadline: Duration,
}

impl<'a> Question<'a> {
    /// Starts the embedding of a request's question; none if its text needs no source, or retrieval isn't configured.
    pub(crate) fn new(deps: &'a impl AgentDeps, request: &'a UserTurn) -> Option<Self> {
        let model = &deps.config().retrieval.as_ref()?.embedding;
        let text = question_text(request)?;
        let deadline = deps.host().monotonic().saturating_add(BUDGET);
        let vector = match Need::of(text) {
            Need::Nothing => return None,
            Need::Alone => Some(embed(deps, model, text, deadline).boxed().shared()),
            Need::WithPrevious => None,
        };
        Some(Self { text, model, vector, deadline })
    }
}

/// Runs `work` while the question is being embedded.
pub(crate) async fn while_embedding<T>(question: Option<&Question<'_>>, work: impl Future<Output = T>) -> T {
    let vector = question.and_then(|question| question.vector.clone());
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

/// Returns the text to embed; none if the request consists of files alone.
fn question_text(request: &UserTurn) -> Option<&str> {
    Some(truncate(request.instruction.as_deref()?.trim())).filter(|text| !text.is_empty())
}

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
    let Sources { agent, collection, chunks, tokens, hints, .. } = sources;
    let agent = agent.as_ref();
    let search = Search { org, agent, collection, question, scope, hints, chunks: *chunks, tokens: *tokens };
    deps.retrieval().search(&search, vector, time_until(deps.host(), deadline)?).await
}

/// Logs the reason for operators. The user and the model only learn that the search was skipped.
pub(crate) fn log_skipped<T>(searched: Result<T, Error>) -> Result<T, RetrievalSkipped> {
    searched.map_err(|error| {
        tracing::warn!(%error, "{}", contracts::log::RETRIEVAL_SKIPPED);
        RetrievalSkipped
    })
}

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

/// Searches these sources for the question, within the request's scope. A follow-up is searched for with the text of
/// the `previous` turn, whose beginning says what it refers to.
pub(crate) async fn retrieve(
    deps: &impl AgentDeps,
    question: Option<&Question<'_>>,
    previous: Option<&TurnKey>,
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
        let embedded = question.vector.clone().filter(|_| sources.embedding == *question.model);
        let (text, vector) = match embedded {
            Some(vector) => (Cow::Borrowed(question.text), vector.await?),
            None => {
                let text = match &question.vector {
                    Some(_) => Cow::Borrowed(question.text),
                    None => with_previous(deps, question.text, previous).await,
                };
                let vector = embed(deps, &sources.embedding, &text, question.deadline).await?;
                (text, vector)
            }
        };
        search(deps, org, sources, (&text, scope), &vector, question.deadline).await
    };
    match log_skipped(searched.await) {
        Ok(result) => RetrievalResult {
            context: render_context(&result.chunks),
            warnings: result.warnings.iter().map(ToString::to_string).collect(),
        },
        Err(RetrievalSkipped) => {
            RetrievalResult { warnings: vec![SEARCH_SKIPPED.to_owned()], ..RetrievalResult::default() }
        }
    }
}

/// Returns a follow-up with the text of the turn before it; alone if that can't be read.
async fn with_previous<'a>(deps: &impl AgentDeps, text: &'a str, previous: Option<&TurnKey>) -> Cow<'a, str> {
    let Some(previous) = previous else { return Cow::Borrowed(text) };
    match deps.store().request_detail(previous).await {
        Ok(Some(request)) => Cow::Owned(format!("{}\n{text}", request.instruction_summary)),
        Ok(None) | Err(_) => Cow::Borrowed(text),
    }
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
        let vector = Some(ready_after(steps, Ok(Arc::from([1.0]))).boxed().shared());
        Question { text: "", model, vector, deadline: Duration::MAX }
    }

    #[test]
    fn embedding_faster_than_the_work_adds_no_wait() {
        let model = EmbeddingModel { name: "m".to_owned(), dimensions: None };
        let slow = question(&model, 4);
        assert_eq!(
            polls_until_ready(while_embedding(Some(&slow), ready_after(6, ()))),
            polls_until_ready(ready_after(6, ()))
        );
        assert_eq!(polls_until_ready(slow.vector.unwrap()), 1, "the vector is ready by then");
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
