//! What there was of the answer of a streamed turn that was ended from outside: the text that its stream had told since
//! the last reset, up to its last checkpoint.
//!
//! The head names where that text ends, in the write that ends the turn. So everybody reads the same, whatever a late
//! attempt still writes: from the checkpoints at first, and from an object of its own once the turn is finalized, since
//! checkpoints expire. A stream tells nothing that the guard holds back, and so does this.

use bytes::Bytes;
use contracts::error::causes;
use protocol::{
    payload::{Kind, Payload},
    place::{Place, Segment},
    turn::{Phase, State, Turn},
};

use crate::ports::{PayloadReads, Payloads, Reads, Unavailable};

/// Where the text ends that a running turn's stream has told; none where there is none in its latest round.
pub(super) async fn shown(store: &impl Reads, turn: &Turn) -> Option<Place> {
    if !turn.streamed || turn.state.phase() != Phase::Running {
        return None;
    }
    match store.last_checkpoint(&turn.key).await {
        Ok(last) => last.filter(|last| last.segment >= Segment::first(turn.round(), 0) && last.shows_text()),
        Err(error) => {
            tracing::warn!(error = %causes(&error), "what an ended turn had told can't be read");
            None
        }
    }
}

/// The text, where the head says that there is one. Of checkpoints that have expired meanwhile it is lost.
pub(super) async fn text(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    turn: &Turn,
) -> Result<Option<String>, Unavailable> {
    let Some(ends) = turn.shown else { return Ok(None) };
    if let State::Finalized(_) = turn.state {
        let kept = payloads.get(&object(turn)).await?;
        return Ok(kept.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()));
    }
    let mut text = String::new();
    for checkpoint in store.segment(&turn.key, ends).await? {
        if checkpoint.begins().offset != text.len() {
            return Ok(None);
        }
        text.push_str(&checkpoint.text);
    }
    Ok(Some(text).filter(|text| text.len() == ends.offset && !text.trim().is_empty()))
}

/// Keeps the text for good. Any number of writers write the same.
pub(super) async fn keep(
    payloads: &impl Payloads,
    turn: &Turn,
    text: Option<&str>,
) -> Result<(), Unavailable> {
    let Some(text) = text else { return Ok(()) };
    payloads.put(&object(turn), Bytes::from(text.to_owned())).await
}

fn object(turn: &Turn) -> Payload {
    Payload { turn: turn.key.clone(), kind: Kind::PartialAnswer(turn.attempt.clone()) }
}
