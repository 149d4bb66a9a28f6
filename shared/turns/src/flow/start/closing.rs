//! Closes a session's open turn within the transaction that starts the next one.

use futures::future::try_join;
use protocol::{session::Session, transition::begin::Closing, turn::Turn};

use crate::flow::{
    finish::{evidence::TurnEvidence, finalize},
    meter,
};
use crate::ports::{Clock, Deps, Unavailable};

/// Prepares the closing of the session's open turn: writes everything that must exist before the commit, and
/// returns the closing and its evidence. None if the turn changed meanwhile.
pub(super) async fn prepare(
    deps: &impl Deps,
    session: &Session,
    open: &Turn,
) -> Result<Option<(Closing, TurnEvidence)>, Unavailable> {
    let evidence = TurnEvidence::load(deps.store(), deps.payloads(), open).await?;
    let closing = Closing::new(session, open, evidence.summary().as_ref(), deps.host().now(), deps.timing());
    let Ok(closing) = closing else { return Ok(None) };
    match closing.result_before_commit() {
        Some(result) => finalize::publish_details(deps, open, &evidence, result).await?,
        None => {
            let counted = meter::count(deps, open, &closing.finalized().result.report);
            try_join(finalize::touch_participant(deps, open), counted).await?;
        }
    }
    Ok(Some((closing, evidence)))
}
