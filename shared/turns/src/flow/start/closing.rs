//! Closes a session's open turn within the transaction that starts the next one.

use std::time::Duration;

use futures::future::try_join;
use protocol::{
    session::Session,
    transition::{
        begin::Closing,
        spend::{self, Seal},
    },
    turn::{State, Turn},
};

use crate::flow::{
    finish::{evidence::TurnEvidence, finalize},
    meter, stored_request, write,
};
use crate::ports::{Clock, Deps, Reads, Timer, Unavailable};

/// The interval at which a start looks whether the attempt of an ended turn has told what it spent.
const SPENT_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Prepares the closing of the session's open turn: stores everything that must exist before the commit, and
/// returns the closing and its evidence. None if the turn changed meanwhile.
pub(super) async fn prepare(
    deps: &impl Deps,
    session: &Session,
    open: &Turn,
) -> Result<Option<(Closing, TurnEvidence)>, Unavailable> {
    if !seal(deps, open).await? {
        return Ok(None);
    }
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

/// Makes the figure of an ended turn final, so that it can be closed: waits for its attempt, which notices the end within
/// about a second, and else seals the estimate. False if the head changed, so that the start has to decide again.
async fn seal(deps: &impl Deps, open: &Turn) -> Result<bool, Unavailable> {
    let grace = deps.timing().short_usage_grace;
    let (mut turn, started) = (open.clone(), deps.host().monotonic());
    loop {
        // The clock of whoever ended the turn may differ, so the wait is bounded by this process's own, too.
        let has_waited = deps.host().monotonic().saturating_sub(started) >= grace;
        let left = if has_waited { Duration::ZERO } else { grace };
        match spend::seal(&turn, deps.host().now(), left) {
            Seal::None => return Ok(turn == *open),
            Seal::Wait => {
                deps.host().sleep(SPENT_POLL_INTERVAL).await;
                match deps.store().turn(&open.key).await? {
                    Some(stored) => turn = stored,
                    None => return Ok(false),
                }
            }
            Seal::Write(change) => {
                write::turn(deps, &change).await?;
                return Ok(false);
            }
        }
    }
}
