//! The partial work of a turn that is ended from outside: its last recorded step, the end of its streamed text, and what
//! it has spent.

use contracts::error::causes;
use futures::future::join;
use protocol::{
    change::PartialWork,
    spent::Spent,
    turn::{State, Turn},
};

use crate::{
    checkpoint::LastCheckpoint,
    flow::finish::{
        partial_answer,
        steps::{self, LatestStep},
    },
    ports::{PayloadReads, Reads},
};

/// Returns references to a running turn's stored work, for the head that ends it. Failures to read are only logged,
/// so they can't prevent the end.
pub(crate) async fn find(store: &impl Reads, payloads: &impl PayloadReads, turn: &Turn) -> PartialWork {
    let (latest, checkpoint) =
        join(latest_step(payloads, turn), partial_answer::last_checkpoint(store, turn)).await;
    let spent = spent_so_far(turn, latest.as_ref(), checkpoint.as_ref());
    let last_step = latest.and_then(|latest| latest.recorded);
    PartialWork { last_step, checkpoint: partial_answer::end_of_text(turn, checkpoint), spent }
}

/// Returns what a running turn has spent, as far as it is durable: the latest of the figures in its head, in its last
/// checkpoint and in its latest step. A figure that an attempt told when it stopped stands.
pub(crate) fn spent_so_far(
    turn: &Turn,
    latest: Option<&LatestStep>,
    checkpoint: Option<&LastCheckpoint>,
) -> Option<Spent> {
    let State::Running { .. } = turn.state else { return None };
    if turn.spent.as_ref().is_some_and(|spent| spent.is_final) {
        return turn.spent.clone();
    }
    let of_step = latest.map(|latest| latest.step.state.totals.spent(&latest.step.spec.route));
    let of_checkpoint = checkpoint.and_then(|last| last.spent.clone());
    [turn.spent.clone(), of_checkpoint, of_step].into_iter().flatten().reduce(Spent::later)
}

async fn latest_step(payloads: &impl PayloadReads, turn: &Turn) -> Option<LatestStep> {
    match steps::latest(payloads, turn).await {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::RECOVERY_POINT_UNREADABLE);
            None
        }
    }
}
