//! Closes a session's open turn within the transaction that starts the next one.

use futures::future::try_join;
use protocol::{
    session::Session,
    transition::begin::Closing,
    turn::{State, Turn},
};

use crate::flow::{
    finish::{evidence::TurnEvidence, finalize},
    meter, stored_request,
};
use crate::ports::{Clock, Deps, Unavailable};

/// Prepares the closing of the session's open turn: stores everything that must exist before the commit, and
/// returns the closing and its evidence. None if the turn changed meanwhile.
pub(super) async fn prepare(
    deps: &impl Deps,
    session: &Session,
    open: &Turn,
) -> Result<Option<(Closing, TurnEvidence)>, Unavailable> {
    let (store, payloads) = (deps.store(), deps.payloads());
    let object = stored_request::payload(open);
    let published = stored_request::load_and_publish(store, payloads, &object);
    let (evidence, ()) = try_join(TurnEvidence::load(store, payloads, open), published).await?;
    let closing = Closing::new(session, open, evidence.summary().as_ref(), deps.host().now(), deps.timing());
    let Ok(closing) = closing else { return Ok(None) };
    let report = &closing.finalized().result.report;
    match &open.state {
        // It can still end differently until the commit, so nothing that depends on its end is stored yet.
        State::AwaitingTools { .. } => meter::count(deps, open, report).await?,
        State::Running { .. } | State::Settled(_) | State::Finalized(_) => {
            finalize::publish_evidence(deps, open, &evidence, report).await?;
        }
    }
    Ok(Some((closing, evidence)))
}
