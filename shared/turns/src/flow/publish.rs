//! Publish: what a finalized turn shows is in its place before the head says so (I10).

use bytes::Bytes;
use futures::future::try_join3;

use crate::ports::{Payloads, Store, Unavailable};
use agent::outcome::Outcome;
use protocol::{
    detail::{Ended, Participant},
    payload::{Kind, Payload},
    turn::Turn,
};

/// Writes the details of a settled turn. Any number of writers write the same, since a settlement is
/// irrevocable; off the path to the client's answer.
pub(crate) async fn details(
    store: &impl Store,
    payloads: &impl Payloads,
    turn: &Turn,
    outcome: Option<&Outcome>,
    ended: &Ended,
) -> Result<(), Unavailable> {
    let written = try_join3(store.put_ended(ended), answer(payloads, turn, outcome), activity(store, turn));
    written.await.map(|_| ())
}

/// The answer as an object of its own, to be read by link.
async fn answer(payloads: &impl Payloads, turn: &Turn, outcome: Option<&Outcome>) -> Result<(), Unavailable> {
    let writer = turn.settlement().and_then(|settlement| settlement.verdict.writer());
    let (Some(writer), Some(text)) = (writer, outcome.and_then(|outcome| outcome.response.answer())) else {
        return Ok(());
    };
    let payload = Payload { turn: turn.key.clone(), kind: Kind::Answer(writer.clone()) };
    payloads.put(&payload, Bytes::from(text)).await
}

/// A user's list is ordered by that user's own last turn. The first turn's was written with it.
pub(crate) async fn activity(store: &impl Store, turn: &Turn) -> Result<(), Unavailable> {
    if turn.sequence == 1 {
        return Ok(());
    }
    let participant = Participant {
        session: turn.key.session.clone(),
        user: turn.asked_by.clone(),
        last_activity: turn.created,
    };
    store.touch(&participant).await
}
