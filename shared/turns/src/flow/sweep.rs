//! Sweep: overdue turns are found, ended and finalized, whoever died or forgot to tell (I12).

use std::{collections::BTreeSet, time::Duration};

use contracts::error::causes;
use protocol::{
    id::{SessionKey, TurnKey},
    transition::sweep,
};

use super::{finalize::Finalizer, salvage, write};
use crate::ports::{Clock, DUE_SHARDS, Deps, Reads, Store, Timer, Unavailable};

/// What a sweep did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// The sessions of the turns that are over now.
    pub sessions: BTreeSet<SessionKey>,
}

impl<D: Deps> Finalizer<D> {
    /// Looks through every shard of the index for overdue turns, for at most `budget`.
    ///
    /// # Errors
    /// When the index can't be read. A single turn that can't be handled is counted, not fatal.
    pub async fn sweep(&self, budget: Duration) -> Result<Swept, Unavailable> {
        let (store, host) = (self.deps.store(), self.deps.host());
        let stop_at = host.monotonic().saturating_add(budget);
        let mut swept = Swept::default();
        for shard in 0..DUE_SHARDS {
            let mut after = None;
            loop {
                if host.monotonic() >= stop_at {
                    swept.cut_short = true;
                    return Ok(swept);
                }
                let page = store.due(shard, host.now(), after).await?;
                for key in &page.items {
                    swept.looked_at += 1;
                    if let Err(error) = self.sweep_turn(key, &mut swept).await {
                        tracing::error!(error = %causes(&error), "an overdue turn could not be handled");
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
        let Some(turn) = self.deps.store().turn(key).await? else {
            return Ok(());
        };
        match sweep::action(&turn, self.deps.host().now(), self.deps.timing()) {
            sweep::Action::Leave => return Ok(()),
            sweep::Action::MoveDue(change) => {
                write::turn(&self.deps, &change).await?;
                swept.alive += 1;
                return Ok(());
            }
            sweep::Action::Salvage => {
                salvage::salvage(&self.deps, &turn).await?;
                swept.salvaged += 1;
            }
            sweep::Action::End(change) => {
                write::turn(&self.deps, &change).await?;
                swept.ended += 1;
            }
            sweep::Action::Finalize => swept.finalized += 1,
        }
        if self.finalize(key).await? {
            swept.sessions.insert(key.session.clone());
        }
        Ok(())
    }
}
