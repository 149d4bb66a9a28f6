//! Reads the turn to run again.

use contracts::request::{RerunRequest, UserTurn};
use protocol::{Caller, id::TurnKey, transition::wait};

use crate::flow::{access, start::rerun_parent::RerunSource, stored_request};
use crate::{
    ports::{Clock, Deps},
    refusal::Refusal,
};

/// Reads the turn to run again, and its request with the changes.
///
/// # Errors
/// If this caller has no such turn, or it isn't finished.
pub(crate) async fn load<'a>(
    deps: &impl Deps,
    caller: &Caller,
    key: &TurnKey,
    changes: &'a RerunRequest,
) -> Result<(RerunSource<'a>, UserTurn), Refusal> {
    let (_, original) = access::load_turn(deps.store(), caller, key).await?;
    if original.settlement().is_none() {
        let retry_after = wait::estimate_wait(&original, deps.host().now(), deps.timing());
        return Err(Refusal::SessionBusy { turn: key.turn.clone(), retry_after });
    }
    let request = stored_request::load(deps.store(), deps.payloads(), &original).await?.with_rerun(changes);
    let has_input = request.instruction.is_some()
        || !request.input_artifacts.is_empty()
        || !request.clipboard_images.is_empty();
    if !has_input {
        return Err(Refusal::no_input());
    }
    Ok((RerunSource { original, request: changes }, request))
}
