//! The partial work of a turn that is ended from outside: its last recorded step, and the end of its streamed text.

use contracts::error::causes;
use futures::future::join;
use protocol::{
    change::PartialWork,
    turn::{StepRef, Turn},
};

use crate::flow::finish::{partial_answer, steps};
use crate::ports::{PayloadReads, Reads};

/// Returns references to a running turn's stored work, for the head that ends it. Failures to read are only logged,
/// so they can't prevent the end.
pub(crate) async fn find(store: &impl Reads, payloads: &impl PayloadReads, turn: &Turn) -> PartialWork {
    let (last_step, checkpoint) =
        join(last_recorded(payloads, turn), partial_answer::end_of_text(store, turn)).await;
    PartialWork { last_step, checkpoint }
}

async fn last_recorded(payloads: &impl PayloadReads, turn: &Turn) -> Option<StepRef> {
    match steps::latest(payloads, turn).await {
        Ok(found) => found.and_then(|found| found.recorded),
        Err(error) => {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::RECOVERY_POINT_UNREADABLE);
            None
        }
    }
}
