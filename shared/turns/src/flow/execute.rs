//! Execute: a user turn, from the request to its answer.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use contracts::request::UserTurn;
use futures::future::{join, try_join};
use protocol::Caller;

use crate::{
    flow::{
        Design,
        ask::ask,
        replay::{self, Waited},
        salvage,
        think::Work,
    },
    ports::{Announcements, Payloads, Store, World},
    refusal::Refusal,
    stream::Live,
};
use agent::{model::Model, outcome::Response};
use protocol::{
    payload::{Kind, Payload},
    timing::Timing,
    transition::begin::{self, Ask, Decision, Seen},
    turn::{State, Turn},
};

/// How often a start decides anew because somebody else changed the session.
const ROUNDS: usize = 12;

/// Runs user turns.
#[derive(Debug)]
pub struct Executor<S, P, A, M, W> {
    /// The table.
    pub store: S,
    /// The objects.
    pub payloads: P,
    /// The finalize queue.
    pub announcements: A,
    /// The model.
    pub model: M,
    /// Time and chance.
    pub world: W,
    /// Waits and bounds.
    pub timing: Timing,
    /// Modes, tools and default contexts.
    pub design: Arc<Design>,
}

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// Answers a user turn: by running it, or, when it came before, with what it came to.
    ///
    /// `budget` is what is left of the function's own time. `live` receives the answer's text as the
    /// model writes it; what it got is provisional, the returned response counts.
    ///
    /// # Errors
    /// When the request was refused: then no turn was started, or another call works on it.
    pub async fn execute(
        &self,
        caller: &Caller,
        request: &UserTurn,
        budget: Duration,
        live: &Live,
    ) -> Result<Response, Refusal> {
        let stop_at = self.world.monotonic().saturating_add(budget);
        let mut ask = ask(caller, request);
        let (seen, stored) = join(self.look(&ask), self.store_instruction(&ask, request)).await;
        let mut seen = seen?;
        let mut stored = Some(stored);
        for _ in 0..ROUNDS {
            let held = match begin::decide(&seen, &ask, self.world.now(), &self.timing) {
                Decision::Begin | Decision::BeginClosing(_) if stored.is_some() => {
                    // I10: the head that points at the instruction is written after it.
                    stored.take().transpose()?;
                    continue;
                }
                Decision::Begin => {
                    self.begin(&mut seen, None, &mut ask, request).await?.map(|held| (held, None))
                }
                Decision::BeginClosing(open) => {
                    self.begin(&mut seen, Some(open), &mut ask, request).await?.map(|held| (held, None))
                }
                Decision::SalvageFirst(open) => {
                    salvage::salvage(&self.store, &self.payloads, &self.world, &self.timing, &open).await?;
                    None
                }
                Decision::Replay(turn) => return self.replay(&turn, live).await,
                Decision::Wait(turn) => {
                    match replay::wait(&self.store, &self.world, &self.timing, turn, live).await? {
                        Waited::Ready(turn) => return self.replay(&turn, live).await,
                        Waited::Running { retry_after } => {
                            return Err(Refusal::TurnInProgress { retry_after });
                        }
                        Waited::Dead => None,
                    }
                }
                Decision::TakeOver(turn) => {
                    ask.active_file_refs = self.files_of(&turn.key, request).await?;
                    self.take_over(&turn).await?
                }
                Decision::Conflict => return Err(Refusal::TurnIdConflict),
                Decision::Busy { turn, until } => {
                    let retry_after = replay::retry_after(self.world.now().until(until));
                    return Err(Refusal::SessionBusy { turn, retry_after });
                }
                Decision::OtherContexts => return Err(Refusal::OtherContexts),
            };
            if let Some((held, step)) = held {
                let step = match step {
                    Some(step) => step,
                    None => self.set_up(&held.turn, seen.session.as_ref(), &ask, request).await?,
                };
                let request = Some(request).filter(|_| step.progress.response_id.is_none());
                return self.attempt(&held, Work { request, step }, stop_at, live).await;
            }
            seen = self.look(&ask).await?;
        }
        Err(Refusal::Contended)
    }

    /// Session and turn beside each other; the session's open turn only when there is one.
    async fn look(&self, ask: &Ask) -> Result<Seen, Refusal> {
        let (session, turn) =
            try_join(self.store.session(&ask.key.session), self.store.turn(&ask.key)).await?;
        let open = match session.as_ref().and_then(|session| session.open_turn.clone()) {
            Some(open) if open != ask.key.turn || turn.is_none() => {
                self.store.turn(&ask.key.session.turn(open)).await?
            }
            _ => None,
        };
        Ok(Seen { session, turn, open })
    }

    async fn store_instruction(
        &self,
        ask: &Ask,
        request: &UserTurn,
    ) -> Result<(), crate::ports::Unavailable> {
        let payload = Payload { turn: ask.key.clone(), kind: Kind::Instruction(ask.fingerprint) };
        self.payloads.put(&payload, Bytes::from(request.canonical_json())).await
    }

    pub(super) async fn replay(&self, turn: &Turn, live: &Live) -> Result<Response, Refusal> {
        live.of(turn);
        let left = match &turn.state {
            State::Running { lease_ends, .. } => self.world.now().until(*lease_ends),
            _ => Duration::ZERO,
        };
        replay::response(&self.payloads, turn)
            .await?
            .ok_or(Refusal::TurnInProgress { retry_after: replay::retry_after(left) })
    }
}
