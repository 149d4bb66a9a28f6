//! Resumes a turn with the outputs of its functions.

use contracts::request::{ChatResult as FunctionOutput, UserMessage};
use turns::{flow::TurnSnapshot, stream::ResponseStart};

use super::Turns;
use crate::{
    error::{ApiError, refused},
    id::ResponseId,
    request::{Parent, tool_continuation},
};

/// A turn that was resumed.
pub struct Resumed<W> {
    /// The id of its response.
    pub id: ResponseId,
    /// The turn before the outputs.
    pub snapshot: TurnSnapshot,
    /// The start of its response.
    pub started: ResponseStart<W>,
}

/// Resumes the turn that waits for these outputs. It is answered as its first request was, whatever this one asks for, so
/// a stream may be read for a response in one piece.
///
/// # Errors
/// If no turn waits for these outputs, it can't be read, or it is stored and `unstored` asks for one that isn't.
pub async fn resume<T: Turns>(
    turns: &T,
    parent: &Parent,
    (outputs, message): (&[FunctionOutput], Option<&UserMessage>),
    unstored: bool,
) -> Result<Resumed<T::Work>, ApiError> {
    let previous = suspended(turns, parent, outputs).await?;
    let snapshot =
        turns.snapshot(&previous.clone().into()).await.map_err(|refusal| match refused(&refusal) {
            error if error.status == 404 => ApiError::previous_not_found(&previous.to_string()),
            error => error,
        })?;
    if unstored && !snapshot.head.is_unstored {
        return Err(ApiError::value("store", "must be what the first request of this turn said"));
    }
    let suspension = snapshot.suspension(previous.round).ok_or_else(|| no_calls(outputs))?;
    let results = tool_continuation(&previous, &suspension.calls, outputs, message)?;
    let started = turns.resume(results).await;
    Ok(Resumed { id: previous.next(), snapshot, started })
}

/// Returns the response whose calls the outputs are of.
async fn suspended(
    turns: &impl Turns,
    parent: &Parent,
    outputs: &[FunctionOutput],
) -> Result<ResponseId, ApiError> {
    let session = match parent {
        Parent::Response(previous) => return Ok(previous.clone()),
        Parent::Conversation(session) => session.clone(),
        Parent::None => return Err(no_calls(outputs)),
    };
    let turn = turns.last_turn(&session).await.map_err(|refusal| refused(&refusal))?;
    let id = ResponseId::first(session, turn.ok_or_else(|| no_calls(outputs))?);
    let head = turns.head(&id.clone().into()).await.map_err(|refusal| refused(&refusal))?;
    Ok(ResponseId { round: head.ok_or_else(|| no_calls(outputs))?.round, ..id })
}

/// Returns the error of outputs that no call waits for.
#[must_use]
pub fn no_calls(outputs: &[FunctionOutput]) -> ApiError {
    let call_id = outputs.first().map(|output| output.call_id.as_str()).unwrap_or_default();
    let message = format!("No tool call found for function call output with call_id {call_id}.");
    ApiError::invalid("input", "invalid_value", message)
}
