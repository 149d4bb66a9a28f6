//! An attempt: this process owns a running turn and works towards its outcome while it holds the lease.

use std::{convert::Infallible, pin::pin, time::Duration};

use agent::outcome::Response;
use contracts::error::causes;
use futures::future::{Either, join, select};

use crate::{
    checkpoint::{CHECKPOINT_INTERVAL, Checkpoint},
    flow::{
        finish::{replay, settle},
        owned_turn::OwnedTurn,
        run::{
            agent_loop::{self, AgentLoop, AttemptStart},
            lease::{Interruption, check_briefly, keep_lease, watch},
            models::Models,
        },
    },
    ports::{AgentDeps, Deps, Host, Payloads, Reads, Store, Timer},
    refusal::Refusal,
    stream::Writer,
};

/// Works on a turn while the lease holds, and responds with the turn's final outcome, whoever decided it.
pub(crate) async fn run(
    deps: &impl AgentDeps,
    models: Models<'_>,
    owned: &OwnedTurn,
    start: AttemptStart<'_>,
    stream: &Writer,
) -> Result<Response, Refusal> {
    tracing::Span::current().record("attempt", owned.turn.attempt.as_str());
    stream.set_format(start.recovery_point.spec.settings.answer_format());
    stream.begin(&owned.turn);
    let result = {
        let work = pin!(async {
            let agent_loop = AgentLoop::new(deps, models, owned, start, stream);
            let answer = {
                // Ownership is watched until the work has an outcome. From then on, the conditional write
                // decides.
                let lost = pin!(watch(deps, owned));
                let work = pin!(while_storing_files(deps, stream, agent_loop.run()));
                match select(work, lost).await {
                    Either::Left((answer, _)) => answer?,
                    Either::Right((lost, work)) => {
                        await_remote_calls(deps, owned, work).await;
                        return Err(Interruption::from(lost));
                    }
                }
            };
            let optional_files = answer.optional_files;
            let settled = settle::settle(deps, owned, answer.outcome, &answer.files, stream);
            Ok(join(settled, agent_loop::store_optional_files(deps.payloads(), &optional_files)).await.0)
        });
        let lease = pin!(keep_lease(deps, owned));
        let checkpoints = pin!(write_checkpoints(deps, owned, stream));
        let keep = select(lease, checkpoints);
        // The lease is polled before the work each time, so no model call begins under an expired lease. That
        // includes the first call, if the write that won the turn took that long.
        match select(keep, work).await {
            Either::Right((answer, _)) => answer,
            Either::Left((_, work)) => {
                await_remote_calls(deps, owned, work).await;
                Err(Interruption::OwnershipLost)
            }
        }
    };
    match result {
        Ok(answer) => answer,
        // Nothing was decided: the turn stays as it is, and the same request continues it.
        Err(Interruption::Unavailable(error)) => {
            if let Ok(Some(stored)) = deps.store().turn(&owned.turn.key).await {
                settle::record_spent(deps, owned, &stored).await;
            }
            Err(error.into())
        }
        // The turn is lost. Leaving the block above dropped the work before anything is awaited here. That ends
        // the model call, so it costs nothing further.
        Err(Interruption::OwnershipLost) => {
            let stored = deps.store().turn(&owned.turn.key).await?.ok_or(Refusal::TurnNotFound)?;
            settle::record_spent(deps, owned, &stored).await;
            replay::replay_stored(deps, stored, stream).await
        }
    }
}

/// The longest time for which an attempt that lost its turn waits for remote calls that it has sent.
const MAX_REMOTE_WAIT: Duration = Duration::from_secs(10);

/// Lets the work of an attempt that lost its turn store the results of calls on their way. Dropping it would make a known
/// outcome unknown. Nothing is sent meanwhile.
async fn await_remote_calls<T>(
    deps: &impl Deps,
    owned: &OwnedTurn,
    mut work: impl Future<Output = T> + Unpin,
) {
    owned.lose();
    if owned.has_remote_calls() && !owned.is_ended() {
        // A turn that was ended, and not taken over, cancels its calls.
        let _ = check_briefly(deps, owned).await;
    }
    let mut over = pin!(deps.host().sleep(MAX_REMOTE_WAIT));
    while owned.has_remote_calls() {
        let pause = pin!(deps.host().sleep(REMOTE_POLL_INTERVAL));
        match select(&mut work, select(pause, over)).await {
            Either::Right((Either::Left(((), still)), _)) => over = still,
            Either::Left(_) | Either::Right((Either::Right(_), _)) => return,
        }
    }
}

/// The interval at which such an attempt looks whether calls are still on their way.
const REMOTE_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs the work and concurrently stores the files that the streamed text links to. The stream holds back the text
/// around a file until the file is stored. A file that can't be stored appears with the settled answer, if at all.
async fn while_storing_files<T>(deps: &impl Deps, stream: &Writer, work: impl Future<Output = T>) -> T {
    let keep = pin!(async {
        loop {
            let (number, file) = stream.unstored().await;
            match deps.payloads().put_file(&file).await {
                Ok(()) => stream.mark_stored(number),
                Err(error) => {
                    tracing::warn!(error = %causes(&error), "{}", contracts::log::STREAM_FILE_NOT_STORED);
                    deps.host().sleep(CHECKPOINT_INTERVAL).await;
                }
            }
        }
    });
    match select(pin!(work), keep).await {
        Either::Left((done, _)) => done,
        Either::Right((never, _)) => never,
    }
}

/// Writes a checkpoint every second while the model streams. Text whose checkpoint fails is part of the next one.
async fn write_checkpoints(deps: &impl Deps, owned: &OwnedTurn, stream: &Writer) -> Infallible {
    if !stream.is_streamed() {
        return std::future::pending().await;
    }
    let mut saved = None;
    loop {
        deps.host().sleep(CHECKPOINT_INTERVAL).await;
        let Some(checkpoint) = stream.checkpoint(&owned.turn.key, saved, deps.host().now()) else {
            continue;
        };
        let checkpoint = Checkpoint { spent: owned.spending.if_killed(), ..checkpoint };
        match deps.store().put_checkpoint(&checkpoint).await {
            Ok(()) => saved = Some(checkpoint.end),
            Err(error) => {
                tracing::warn!(error = %causes(&error), "{}", contracts::log::CHECKPOINT_NOT_STORED)
            }
        }
    }
}
