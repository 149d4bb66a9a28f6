//! Retrieve: what a turn is to know of its org's sources, found while other things are read and written.
//!
//! The question becomes a vector beside the first look at the session, and the search follows as soon as the contexts
//! are known, beside the start's own writes. Both have two seconds together, from the turn's begin. Whatever fails is a
//! warning, and the turn goes on: nothing here is an error. For a turn that this call does not begin, the work is
//! dropped.

use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};

use agent::{
    progress::Step,
    retrieval::{
        BUDGET, Chunk, EmbeddingModel, Error, MOST_QUESTION_BYTES, Retrieval, SKIPPED, Search, Sources,
        context_block::{Context, FoundByTool, context, found_by_tool},
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

use super::executor::Executor;
use crate::ports::{AgentDeps, Timer};

/// A question on its way to a vector. It gets there only while somebody waits for it.
pub(super) struct Question<'a> {
    words: &'a str,
    scope: &'a [RagCondition],
    /// The model that makes the vector: the deployment's, since the session's contexts are not known yet.
    model: &'a EmbeddingModel,
    vector: Shared<BoxFuture<'a, Result<Arc<[f32]>, Error>>>,
    /// When its budget is over, on [`Timer::monotonic`].
    ends: Duration,
}

/// The sources could not be searched: the reason is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Skipped;

/// What was found for a turn.
#[derive(Default)]
pub(super) struct Found {
    context: Context,
    is_skipped: bool,
}

impl Found {
    /// The step with what was found.
    pub(super) fn told_in(self, mut step: Step, sources: Option<Sources>) -> Step {
        step.plan.sources = sources;
        step.progress.context_block = self.context.block;
        step.progress.used(self.context.refs);
        if self.is_skipped {
            step.progress.warn(SKIPPED);
        }
        step
    }
}

/// Does something with the question under way beside it.
pub(super) async fn beside<T>(question: Option<&Question<'_>>, work: impl Future<Output = T>) -> T {
    let vector = question.map(|question| question.vector.clone());
    let under_way = pin!(async {
        if let Some(vector) = vector {
            let _ = vector.await;
        }
        std::future::pending::<Infallible>().await
    });
    match select(pin!(work), under_way).await {
        Either::Left((done, _)) => done,
        Either::Right((never, _)) => match never {},
    }
}

/// Does something with a search under way beside it, which nobody waits for if it comes to nothing. `waits` is told where
/// the search takes longer.
pub(super) async fn unless_in_vain<T, E>(
    work: impl Future<Output = Result<Option<T>, E>>,
    search: impl Future<Output = Found>,
    waits: impl FnOnce(&T),
) -> Result<Option<(T, Found)>, E> {
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
    /// The question of a request; none where there is nothing to ask, or nobody.
    pub(super) fn question<'a>(&'a self, request: &'a UserTurn) -> Option<Question<'a>> {
        let model = &self.deps.config().retrieval.as_ref()?.embedding;
        let words = question_of(request)?;
        let ends = self.deps.host().monotonic().saturating_add(BUDGET);
        let vector = self.embed(model, words, ends).boxed().shared();
        Some(Question { words, scope: &request.rag_scope, model, vector, ends })
    }

    /// What is found in these sources.
    pub(super) async fn retrieve(
        &self,
        question: Option<&Question<'_>>,
        org: &OrgId,
        sources: Option<&Sources>,
    ) -> Found {
        let (Some(question), Some(sources)) = (question, sources) else { return Found::default() };
        let searched = async {
            let vector = match sources.embedding == *question.model {
                true => question.vector.clone().await?,
                false => self.embed(&sources.embedding, question.words, question.ends).await?,
            };
            self.search(org, sources, (question.words, question.scope), &vector, question.ends).await
        };
        match logged(searched.await) {
            Ok(chunks) => {
                Found { context: context(&chunks, sources.chunks, sources.tokens), is_skipped: false }
            }
            Err(Skipped) => Found { is_skipped: true, ..Found::default() },
        }
    }

    /// What is found on the model's initiative: in what the turn searches and within its request's scope, with a budget
    /// of its own.
    pub(super) async fn search_again(
        &self,
        turn: &Turn,
        sources: Option<&Sources>,
        words: &str,
        left: Duration,
    ) -> Result<FoundByTool, Skipped> {
        let sources = sources.ok_or(Skipped)?;
        let ends = self.deps.host().monotonic().saturating_add(BUDGET.min(left));
        let words = cut(words);
        let asked = join(self.request_of(turn), self.embed(&sources.embedding, words, ends)).await;
        let request = asked.0.map_err(|error| {
            tracing::warn!(error = %causes(&error), "retrieval was skipped");
            Skipped
        })?;
        let org = &turn.key.session.org;
        let found = match asked.1 {
            Ok(vector) => self.search(org, sources, (words, &request.rag_scope), &vector, ends).await,
            Err(error) => Err(error),
        };
        let found = logged(found)?;
        Ok(found_by_tool(&found, sources.chunks, sources.tokens))
    }

    async fn search(
        &self,
        org: &OrgId,
        sources: &Sources,
        (question, scope): (&str, &[RagCondition]),
        vector: &[f32],
        ends: Duration,
    ) -> Result<Vec<Chunk>, Error> {
        let Sources { collection, chunks, hints, .. } = sources;
        let search = Search { org, collection, question, scope, hints, chunks: *chunks };
        self.deps.retrieval().search(&search, vector, self.left(ends)?).await
    }

    async fn embed(&self, model: &EmbeddingModel, words: &str, ends: Duration) -> Result<Arc<[f32]>, Error> {
        let left = self.left(ends)?;
        self.deps.retrieval().embed(model, words, left).await.map(Arc::from)
    }

    fn left(&self, ends: Duration) -> Result<Duration, Error> {
        let left = ends.saturating_sub(self.deps.host().monotonic());
        Some(left).filter(|left| !left.is_zero()).ok_or(Error::TimedOut)
    }
}

/// An operator is told why; the user and the model that it was.
fn logged<T>(searched: Result<T, Error>) -> Result<T, Skipped> {
    searched.map_err(|error| {
        tracing::warn!(%error, "retrieval was skipped");
        Skipped
    })
}

/// What a request asks, as far as it is made a vector; nothing where files alone say it (ruling: instruction absent).
fn question_of(request: &UserTurn) -> Option<&str> {
    Some(cut(request.instruction.as_deref()?.trim())).filter(|words| !words.is_empty())
}

fn cut(words: &str) -> &str {
    words.split_at(words.floor_char_boundary(MOST_QUESTION_BYTES)).0
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, poll_fn},
        task::Poll,
    };

    use super::*;

    /// Comes to something when it was looked at so many times more.
    async fn after<T>(mut looks: u32, what: T) -> T {
        poll_fn(|context| {
            context.waker().wake_by_ref();
            match looks.checked_sub(1) {
                Some(left) => {
                    looks = left;
                    Poll::Pending
                }
                None => Poll::Ready(()),
            }
        })
        .await;
        what
    }

    /// How often a future is looked at until it comes to something.
    fn looks(future: impl Future) -> u32 {
        let mut future = pin!(future);
        (1..100).find(|_| future.as_mut().now_or_never().is_some()).unwrap_or(100)
    }

    fn question<'a>(model: &'a EmbeddingModel, steps: u32) -> Question<'a> {
        let vector = after(steps, Ok(Arc::from([1.0]))).boxed().shared();
        Question { words: "", scope: &[], model, vector, ends: Duration::MAX }
    }

    #[test]
    fn a_question_that_is_quicker_than_what_it_stands_beside_costs_nothing() {
        let model = EmbeddingModel { name: "m".to_owned(), dimensions: None };
        let slow = question(&model, 4);
        assert_eq!(looks(beside(Some(&slow), after(6, ()))), looks(after(6, ())));
        assert_eq!(looks(slow.vector), 1, "and then its vector is there");
        assert_eq!(looks(beside(None, after(6, ()))), looks(after(6, ())));
    }

    #[test]
    fn a_search_that_is_quicker_than_the_start_costs_nothing_and_a_slower_one_its_own_time_alone() {
        let start = |steps| after(steps, Ok::<_, ()>(Some(())));
        let search = |steps| after(steps, Found::default());
        // The two are looked at in either order, so it may even take one look less.
        assert!(looks(unless_in_vain(start(6), search(4), |_| {})) <= looks(start(6)));
        assert!(looks(unless_in_vain(start(4), search(6), |_| {})) <= looks(start(6)));
    }

    #[test]
    fn nobody_waits_for_what_is_found_for_a_start_that_came_to_nothing() {
        let nothing = after(2, Ok::<Option<()>, ()>(None));
        assert_eq!(looks(unless_in_vain(nothing, pending(), |_| {})), 3);
        let refused = after(2, Err::<Option<()>, ()>(()));
        assert_eq!(looks(unless_in_vain(refused, pending(), |_| {})), 3);
    }
}
