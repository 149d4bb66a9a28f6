//! The stored history of a thread.

use contracts::{
    id::{SessionId, TurnId},
    read::{StatusReason, TurnStep},
};
use fronts::Outcome;
use futures::{StreamExt, TryStreamExt, stream};
use histories::TurnRound;
use protocol::Caller;
use serde_json::Value;
use turns::{
    flow::{SessionReader, TurnSnapshot},
    ports::{Order, PayloadReads, Reads},
    refusal::Refusal,
};

use crate::{messages, request::StoredRun};

/// The most turns of a history, the newest ones.
const MAX_TURNS: usize = 100;
/// Turns that are read concurrently.
const CONCURRENT_READS: usize = 4;
/// The most steps of a turn that are read.
const MAX_STEPS: u32 = 100;

/// The history of a thread.
#[derive(Debug, Default)]
pub struct History {
    /// Its messages, oldest first. Without the reply that its last turn works on.
    pub messages: Vec<Value>,
    /// The state of the application at the last run.
    pub state: Option<Value>,
    /// The turn that is running, and its round.
    pub running: Option<TurnRound>,
}

/// Reads the history of a session. `until` is a round whose reply is left out.
///
/// # Errors
/// If the caller has no such session.
pub async fn read<R: Reads, P: PayloadReads>(
    reader: &SessionReader<R, P>,
    caller: &Caller,
    session: &SessionId,
    until: Option<&TurnRound>,
) -> Result<History, Refusal> {
    let mut turns = reader.turn_ids(caller, session.clone(), Order::NewestFirst, None, MAX_TURNS).await?;
    turns.reverse();
    let reads = turns.into_iter().map(|turn| Box::pin(read_turn(reader, caller, session, turn)));
    let mut reads = std::pin::pin!(stream::iter(reads).buffered(CONCURRENT_READS));
    let mut history = History::default();
    while let Some((turn, snapshot, steps)) = reads.try_next().await? {
        let turn = TurnRound { round: snapshot.head.round, ..turn };
        history.running = (snapshot.head.status == StatusReason::Running).then(|| turn.clone());
        let skipped = until.filter(|until| until.turn == turn.turn).or(history.running.as_ref());
        let skipped = skipped.map(|skipped| skipped.round);
        history.messages.extend(messages::of_turn(&turn, &snapshot, &steps, skipped));
        history.state = StoredRun::of(snapshot.request.options.as_deref()).state.or(history.state);
    }
    Ok(history)
}

async fn read_turn<R: Reads, P: PayloadReads>(
    reader: &SessionReader<R, P>,
    caller: &Caller,
    session: &SessionId,
    turn: TurnId,
) -> Result<(TurnRound, TurnSnapshot, Vec<TurnStep>), Refusal> {
    let turn = TurnRound::first(session.clone(), turn);
    let snapshot = reader.turn_snapshot(caller, session.clone(), turn.turn.clone()).await?;
    // A turn without suspensions whose answer used no tools has no steps of interest.
    let used_tools = !snapshot.suspensions.is_empty()
        || snapshot.response.as_ref().is_none_or(|response| has_tool_results(&response.to_bytes()));
    let steps = if used_tools { steps(reader, caller, &turn).await? } else { Vec::new() };
    Ok((turn, snapshot, steps))
}

/// Reads the steps of a turn.
///
/// # Errors
/// If the caller has no such turn.
pub async fn steps<R: Reads, P: PayloadReads>(
    reader: &SessionReader<R, P>,
    caller: &Caller,
    turn: &TurnRound,
) -> Result<Vec<TurnStep>, Refusal> {
    let steps = reader.turn_steps(caller, turn.session.clone(), turn.turn.clone(), MAX_STEPS, None);
    Ok(Box::pin(steps).await?.items)
}

/// Returns the outcome of a stored round. `None` while its turn works on it.
#[must_use]
pub fn outcome(snapshot: &TurnSnapshot, round: u32) -> Option<Outcome> {
    messages::outcome(snapshot, round)
}

/// True unless a turn has an answer without results of the server's tools.
fn has_tool_results(body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    match body.pointer("/Result") {
        Some(result) if !result.is_null() => result.get("ToolResults").is_some(),
        _ => true,
    }
}
