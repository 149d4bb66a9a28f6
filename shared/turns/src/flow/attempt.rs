//! An attempt: the owner of a running turn works towards its outcome, stores it, and settles.

use std::{pin::pin, time::Duration};

use futures::future::{Either, join, join_all, select, try_join_all};
use protocol::announcement::FinalizeMessage;

use crate::{
    flow::{
        Executor, checkpoint,
        lease::{self, Lease},
        outcome, replay, salvage,
        think::Work,
        write::{self, Written},
    },
    ports::{Announcements, Payloads, Store, Unavailable, World},
    refusal::Refusal,
    stream::Live,
};
use agent::answer::File;
use agent::{
    model::Model,
    outcome::{Outcome, Response},
};
use protocol::{
    transition::settle::settle,
    turn::{Reason, Turn, Verdict},
};

/// A turn that this process owns.
pub(super) struct Held {
    pub(super) turn: Turn,
    pub(super) lease: Lease,
}

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// Works on a turn while its lease is kept, and answers with whatever the turn came to.
    pub(super) async fn attempt(
        &self,
        held: &Held,
        work: Work<'_>,
        stop_at: Duration,
        live: &Live,
    ) -> Result<Response, Refusal> {
        live.begin(&held.turn);
        let done = {
            let work = pin!(async {
                let answer = self.think(held, work, stop_at, live).await;
                let beside = answer.beside;
                let settled = self.settle(held, answer.outcome, &answer.files, live);
                join(settled, self.keep(&beside)).await.0
            });
            let keep =
                pin!(lease::keep(&self.store, &self.world, &self.timing, &held.turn, &held.lease, stop_at));
            let checkpoints = pin!(checkpoint::keep(&self.store, &self.world, &held.turn.key, live));
            let keep = select(keep, checkpoints);
            // The lease is looked at before the work each time, so that no model call begins under a
            // lease that is over: not the first either, when the write that won the turn took that long.
            match select(keep, work).await {
                Either::Right((answer, _)) => Some(answer),
                Either::Left(_) => None,
            }
        };
        match done {
            Some(answer) => answer,
            // The lease is lost. The work was dropped with the block above, before anything is waited for:
            // that ends the model call, so nobody pays for it any longer.
            None => {
                let stored = self.store.turn(&held.turn.key).await?;
                self.what_stands(stored.ok_or(Refusal::TurnNotFound)?, live).await
            }
        }
    }

    /// Makes the outcome durable, then decides the turn by it, announcing it beside.
    async fn settle(
        &self,
        held: &Held,
        outcome: Outcome,
        files: &[File],
        live: &Live,
    ) -> Result<Response, Refusal> {
        let turn = &held.turn;
        let (change, response) = match self.store(held, &outcome, files).await {
            Ok(()) => (
                salvage::from_outcome(turn, turn.owner.clone(), &outcome, &self.world, &self.timing),
                outcome.response,
            ),
            Err(error) => {
                tracing::error!(%error, source = ?error.source, "the outcome could not be stored");
                let now = self.world.now();
                let verdict = Verdict::Ended(Reason::StorageUnavailable);
                (settle(turn, verdict, now, now, &self.timing), Response::ended(Reason::StorageUnavailable))
            }
        };
        let Ok(change) = change else {
            return self.what_stands(turn.clone(), live).await;
        };
        let (written, ()) = join(write::turn(&self.store, &self.world, &change), self.announce(turn)).await;
        match written? {
            Written::Applied => Ok(response),
            // Rule 6: whoever loses answers with what is stored, never with its own text.
            Written::Stands(Some(other)) => self.what_stands(*other, live).await,
            Written::Stands(None) => Err(Refusal::TurnNotFound),
        }
    }

    /// Stores what nothing refers to: a failure is logged, no more.
    pub(super) async fn keep(&self, files: &[File]) {
        for stored in
            join_all(files.iter().map(|file| self.payloads.put(&file.payload, file.bytes.clone()))).await
        {
            if let Err(error) = stored {
                tracing::warn!(%error, source = %error.source, "a raw payload could not be kept");
            }
        }
    }

    /// Stores the answer's files, then the outcome object that refers to them (I10), as often as the
    /// lease allows.
    async fn store(&self, held: &Held, outcome: &Outcome, files: &[File]) -> Result<(), Unavailable> {
        loop {
            let stored = async {
                let puts = files.iter().map(|file| self.payloads.put(&file.payload, file.bytes.clone()));
                try_join_all(puts).await?;
                outcome::store(&self.payloads, &held.turn, outcome).await
            };
            let stored = stored.await;
            let pause = self.world.jitter(Duration::from_secs(1));
            match stored {
                Err(_) if held.lease.left(&self.world) > pause => self.world.sleep(pause).await,
                stored => return stored,
            }
        }
    }

    pub(super) async fn announce(&self, turn: &Turn) {
        let message = FinalizeMessage::TurnSettled {
            org: turn.key.session.org.clone(),
            session: turn.key.session.session.clone(),
            turn: turn.key.turn.clone(),
            correlation: None,
        };
        if let Err(error) = self.announcements.announce(&message).await {
            // The sweep finds the turn all the same; only latency is lost.
            tracing::warn!(%error, source = ?error.source, "the settled turn could not be announced");
        }
    }

    /// The answer of a turn that somebody else moved on.
    pub(super) async fn what_stands(&self, turn: Turn, live: &Live) -> Result<Response, Refusal> {
        match replay::wait(&self.store, &self.world, &self.timing, turn, live).await? {
            replay::Waited::Ready(turn) => self.replay(&turn, live).await,
            replay::Waited::Dead => {
                Err(Refusal::TurnInProgress { retry_after: replay::retry_after(Duration::ZERO) })
            }
            replay::Waited::Running { retry_after } => Err(Refusal::TurnInProgress { retry_after }),
        }
    }
}
