//! Finalize: settled turns become terminal; the sweep finds what nobody announced (I12).

use agent::outcome::Outcome;
use std::time::Duration;

use futures::future::try_join;

use crate::{
    flow::{
        outcome, publish, salvage,
        write::{self, Written},
    },
    ports::{DUE_SHARDS, Payloads, Store, Unavailable, World},
};
use protocol::{
    id::TurnKey,
    session::Session,
    timing::Timing,
    transition::{finalize::finalize, sweep},
    turn::{State, Turn},
};

/// How often a finalization is decided anew because somebody else changed the session.
const ROUNDS: usize = 8;

/// Makes settled turns terminal.
#[derive(Debug)]
pub struct Finalizer<S, P, W> {
    /// The table.
    pub store: S,
    /// The objects.
    pub payloads: P,
    /// Time and chance.
    pub world: W,
    /// Waits and bounds.
    pub timing: Timing,
}

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Turns the index nominated.
    pub looked_at: usize,
    /// Turns that were finalized, of which nobody had told.
    pub finalized: usize,
    /// Turns whose attempts had died.
    pub salvaged: usize,
    /// Turns whose tool results never came.
    pub ended: usize,
    /// Turns that live, their due time moved.
    pub alive: usize,
    /// Turns that could not be handled; the next sweep meets them again.
    pub failed: usize,
    /// Whether the time ran out first.
    pub cut_short: bool,
}

impl<S: Store, P: Payloads, W: World> Finalizer<S, P, W> {
    /// Makes a turn terminal if it is settled. True when this call did it; anything else about the
    /// turn is left alone, since the message that named it is only a hint (I8).
    ///
    /// # Errors
    /// When a store can't be reached, or the session stayed contended.
    pub async fn finalize(&self, key: &TurnKey) -> Result<bool, Unavailable> {
        for _ in 0..ROUNDS {
            let (session, turn) = try_join(self.store.session(&key.session), self.store.turn(key)).await?;
            let (Some(session), Some(turn)) = (session, turn) else {
                return Ok(false);
            };
            let State::Settled(_) = turn.state else {
                return Ok(false);
            };
            if self.publish(&session, &turn).await? {
                return Ok(true);
            }
        }
        Err(Unavailable { what: "the session", source: "it stayed contended".into() })
    }

    /// One try. Details first, then the transaction that makes them count.
    async fn publish(&self, session: &Session, turn: &Turn) -> Result<bool, Unavailable> {
        let outcome = outcome::load(&self.payloads, turn).await?;
        let Ok(finalized) = finalize(session, turn, outcome.as_ref().map(Outcome::findings).as_ref()) else {
            return Ok(false);
        };
        publish::details(&self.store, &self.payloads, turn, outcome.as_ref(), &finalized.ended).await?;
        let written = write::commit(&self.store, &self.world, &finalized.commit(session)).await?;
        Ok(matches!(written, Written::Applied))
    }

    /// Looks through every shard of the index for overdue turns, for at most `budget`.
    ///
    /// # Errors
    /// When the index can't be read. A single turn that can't be handled is counted, not fatal.
    pub async fn sweep(&self, budget: Duration) -> Result<Swept, Unavailable> {
        let stop_at = self.world.monotonic().saturating_add(budget);
        let mut swept = Swept::default();
        for shard in 0..DUE_SHARDS {
            let mut after = None;
            loop {
                if self.world.monotonic() >= stop_at {
                    swept.cut_short = true;
                    return Ok(swept);
                }
                let page = self.store.due(shard, self.world.now(), after).await?;
                for key in &page.items {
                    swept.looked_at += 1;
                    if let Err(error) = self.sweep_turn(key, &mut swept).await {
                        tracing::error!(%error, source = ?error.source, "an overdue turn could not be handled");
                        swept.failed += 1;
                    }
                }
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(swept)
    }

    async fn sweep_turn(&self, key: &TurnKey, swept: &mut Swept) -> Result<(), Unavailable> {
        let Some(turn) = self.store.turn(key).await? else {
            return Ok(());
        };
        match sweep::action(&turn, self.world.now(), &self.timing) {
            sweep::Action::Leave => return Ok(()),
            sweep::Action::MoveDue(change) => {
                write::turn(&self.store, &self.world, &change).await?;
                swept.alive += 1;
                return Ok(());
            }
            sweep::Action::Salvage => {
                salvage::salvage(&self.store, &self.payloads, &self.world, &self.timing, &turn).await?;
                swept.salvaged += 1;
            }
            sweep::Action::End(change) => {
                write::turn(&self.store, &self.world, &change).await?;
                swept.ended += 1;
            }
            sweep::Action::Finalize => swept.finalized += 1,
        }
        self.finalize(key).await.map(|_| ())
    }
}
