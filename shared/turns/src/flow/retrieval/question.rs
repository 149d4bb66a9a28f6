//! The question of a request, which is embedded while the turn starts.

use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};

use agent::retrieval::{BUDGET, EmbeddingModel, Error};
use contracts::request::UserTurn;
use futures::{
    FutureExt,
    future::{BoxFuture, Either, Shared, select},
};

use crate::flow::retrieval::embed::{embed, truncate};
use crate::ports::{AgentDeps, Timer};

/// A question, and the future of its embedding. The future makes progress only while it is polled.
pub(crate) struct Question<'a> {
    pub(super) text: &'a str,
    /// The embedding model of the deployment, because the session's contexts aren't known yet.
    pub(super) model: &'a EmbeddingModel,
    pub(super) vector: Shared<BoxFuture<'a, Result<Arc<[f32]>, Error>>>,
    /// The end of its budget, on [`Timer::monotonic`].
    pub(super) deadline: Duration,
}

impl<'a> Question<'a> {
    /// Starts the embedding of a request's question; none if there is no text or retrieval isn't configured.
    pub(crate) fn new(deps: &'a impl AgentDeps, request: &'a UserTurn) -> Option<Self> {
        let model = &deps.config().retrieval.as_ref()?.embedding;
        let text = question_text(request)?;
        let deadline = deps.host().monotonic().saturating_add(BUDGET);
        let vector = embed(deps, model, text, deadline).boxed().shared();
        Some(Self { text, model, vector, deadline })
    }
}

/// Runs `work` while the question is being embedded.
pub(crate) async fn while_embedding<T>(question: Option<&Question<'_>>, work: impl Future<Output = T>) -> T {
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

/// Returns the text to embed; none if the request consists of files alone.
fn question_text(request: &UserTurn) -> Option<&str> {
    Some(truncate(request.instruction.as_deref()?.trim())).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::retrieval::test_polls::{polls_until_ready, ready_after};

    fn question<'a>(model: &'a EmbeddingModel, steps: u32) -> Question<'a> {
        let vector = ready_after(steps, Ok(Arc::from([1.0]))).boxed().shared();
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
        assert_eq!(polls_until_ready(slow.vector), 1, "the vector is ready by then");
        assert_eq!(
            polls_until_ready(while_embedding(None, ready_after(6, ()))),
            polls_until_ready(ready_after(6, ()))
        );
    }
}
