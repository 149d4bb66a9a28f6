//! The partial work of a turn that is ended from outside: its last recorded step, what it has spent, and the text streamed
//! since the last reset, up to the last checkpoint.
//!
//! The write that ends the turn stores the end position of that text in the head, so every reader gets the same text even if
//! a late attempt still writes. The text comes from the checkpoints at first. Checkpoints expire, so finalization stores it
//! as an object. The stream only contains text that passed the output filter, and so does the partial answer.

use bytes::Bytes;
use contracts::error::causes;
use futures::future::join;
use protocol::{
    change::PartialWork,
    payload::{Kind, Payload},
    spent::Spent,
    stream_position::{Segment, StreamPosition},
    turn::{Phase, State, Turn},
};

use crate::{
    checkpoint::LastCheckpoint,
    flow::finish::steps::{self, LatestStep},
    ports::{PayloadReads, Payloads, Reads, Unavailable},
};

/// Returns the position at which the streamed text of a running turn ends; none if its latest round has no text.
pub(crate) fn end_of_text(turn: &Turn, last: Option<LastCheckpoint>) -> Option<StreamPosition> {
    let end = last.map(|last| last.end);
    end.filter(|end| end.segment >= Segment::first(turn.round(), 0) && end.has_text())
}

/// Returns the last checkpoint of a running turn's stream. A failure to read is only logged.
pub(crate) async fn last_checkpoint(store: &impl Reads, turn: &Turn) -> Option<LastCheckpoint> {
    if !turn.streamed || turn.state.phase() != Phase::Running {
        return None;
    }
    match store.last_checkpoint(&turn.key).await {
        Ok(last) => last,
        Err(error) => {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::PARTIAL_ANSWER_UNREADABLE);
            None
        }
    }
}

/// Loads the partial answer, if the head refers to one. It is lost if the checkpoints expired meanwhile.
pub(crate) async fn load_text(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    turn: &Turn,
) -> Result<Option<String>, Unavailable> {
    let Some(ends) = turn.checkpoint else { return Ok(None) };
    if let State::Finalized(_) = turn.state {
        let stored = payloads.get(&payload(turn)).await?;
        return Ok(stored.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()));
    }
    let mut text = String::new();
    for checkpoint in store.segment(&turn.key, ends).await? {
        if checkpoint.start().offset != text.len() {
            return Ok(None);
        }
        text.push_str(&checkpoint.text);
    }
    Ok(Some(text).filter(|text| text.len() == ends.offset && !text.trim().is_empty()))
}

/// Stores the text permanently. Any number of writers store the same.
pub(crate) async fn store_text(
    payloads: &impl Payloads,
    turn: &Turn,
    text: Option<&str>,
) -> Result<(), Unavailable> {
    let Some(text) = text else { return Ok(()) };
    payloads.put(&payload(turn), Bytes::from(text.to_owned())).await
}

fn payload(turn: &Turn) -> Payload {
    Payload { turn: turn.key.clone(), kind: Kind::PartialAnswer(turn.attempt.clone()) }
}

/// Returns references to a running turn's stored work, for the head that ends it. Failures to read are only logged,
/// so they can't prevent the end.
pub(crate) async fn find_work(store: &impl Reads, payloads: &impl PayloadReads, turn: &Turn) -> PartialWork {
    let (latest, checkpoint) = join(latest_step(payloads, turn), last_checkpoint(store, turn)).await;
    let spent = spent_so_far(turn, latest.as_ref(), checkpoint.as_ref());
    let last_step = latest.and_then(|latest| latest.recorded);
    PartialWork { last_step, checkpoint: end_of_text(turn, checkpoint), spent }
}

/// Returns what a running turn has spent, as far as it is durable: the latest of the figures in its head, in its last
/// checkpoint and in its latest step. A figure that an attempt told when it stopped stands.
pub(crate) fn spent_so_far(
    turn: &Turn,
    latest: Option<&LatestStep>,
    checkpoint: Option<&LastCheckpoint>,
) -> Option<Spent> {
    let State::Running { .. } = turn.state else { return None };
    if turn.spent.as_ref().is_some_and(|spent| spent.is_told || spent.is_final) {
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
