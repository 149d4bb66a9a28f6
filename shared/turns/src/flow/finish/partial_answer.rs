//! The partial answer of a streamed turn that was ended from outside: the text streamed since the last reset, up to
//! the last checkpoint.
//!
//! The write that ends the turn stores the end position of that text in the head, so every reader gets the same text
//! even if a late attempt still writes. The text comes from the checkpoints at first. Checkpoints expire, so
//! finalization stores it as an object. The stream only contains text that passed the output filter, and so does the
//! partial answer.

use bytes::Bytes;
use contracts::error::causes;
use protocol::{
    payload::{Kind, Payload},
    stream_position::{Segment, StreamPosition},
    turn::{Phase, State, Turn},
};

use crate::checkpoint::LastCheckpoint;
use crate::ports::{PayloadReads, Payloads, Reads, Unavailable};

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
pub(crate) async fn store(
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
