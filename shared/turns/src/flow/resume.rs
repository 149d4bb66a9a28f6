//! Resume: the results of a suspended turn's client tools (AGN-034 §2.2).

use contracts::{Caller, ToolContinuation};

use crate::{flow::Refusal, id::SessionKey, outcome::Response, ports::Store};

/// Takes the results for a turn that awaits them.
///
/// No context declares client tools yet, so no turn ever suspends: a turn that exists is told that it
/// does not wait, and nothing is stored (I6).
///
/// # Errors
/// When there is no such turn for this caller, or it does not await tool results.
pub async fn resume(
    store: &impl Store,
    caller: &Caller,
    request: &ToolContinuation,
) -> Result<Response, Refusal> {
    let session = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
    store.turn(&session.turn(request.turn_id.clone())).await?.ok_or(Refusal::TurnNotFound)?;
    Err(Refusal::NotAwaitingTools)
}
