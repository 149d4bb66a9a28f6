//! Sweeps overdue turns: finds, ends and finalizes turns whose attempt died or whose announcement was lost (I12).

use std::{collections::BTreeSet, time::Duration};

use contracts::error::causes;
use protocol::{
    id::{SessionKey, TurnKey},
    transition::sweep,
};

use crate::flow::{
    finish::{finalize::Finalizer, salvage},
    write,
};
use crate::ports::{Clock, DUE_SHARDS, Deps, Reads, Store, Timer, Unavailable};

/// The summary of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepSummary {
    /// Turns that the index listed as due.
    pub examined: usize,
    /// Settled turns that were finalized.
    pub finalized: usize,
    /// Turns that were salvaged because their attempt died.
    pub salvaged: usize,
    /// Turns that were ended because their tool results never came.
    pub ended: usize,
    /// Turns that are alive, and whose due time was moved.
    pub alive: usize,
    /// Turns that failed; the next sweep retries them.
    pub failed: usize,
    /// Set if the time ran out first.
    pub timed_out: bool,
    /// The sessions of the finalized turns.
    pub sessions: BTreeSet<SessionKey>,
}

impl<D: Deps> Finalizer<D> {
    /// Looks for overdue turns in every shard of the index, for at most `budget`.
    ///
    /// # Errors
    /// If the index can't be read. A failure of a single turn is counted and not returned.
    pub async fn sweep(&self, budget: Duration) -> Result<SweepSummary, Unavailable> {
        let (store, host) = (self.deps.store(), self.deps.host());
        let stop_at = host.monotonic().saturating_add(budget);
        let mut summary = SweepSummary::default();
        for shard in 0..DUE_SHARDS {
            let mut after = None;
            loop {
                if host.monotonic() >= stop_at {
                    summary.timed_out = true;
                    return Ok(summary);
                }
                let page = store.due(shard, host.now(), after).await?;
                for key in &page.items {
                    summary.examined += 1;
                    if let Err(error) = self.sweep_turn(key, &mut summary).await {
                        tracing::error!(error = %causes(&error), "{}", contracts::log::OVERDUE_TURN_FAILED);
                        summary.failed += 1;
                    }
                }
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(summary)
    }

    /// Does what is due for a turn.
    pub(crate) async fn sweep_turn(
        &self,
        key: &TurnKey,
        summary: &mut SweepSummary,
    ) -> Result<(), Unavailable> {
        let Some(turn) = self.deps.store().turn(key).await? else {
            return Ok(());
        };
        match sweep::action(&turn, self.deps.host().now(), self.deps.timing()) {
            sweep::Action::Skip => return Ok(()),
            sweep::Action::Reschedule(change) => {
                write::turn(&self.deps, &change).await?;
                summary.alive += 1;
                return Ok(());
            }
            sweep::Action::Salvage => {
                salvage::salvage(&self.deps, &turn).await?;
                summary.salvaged += 1;
            }
            sweep::Action::End(change) => {
                write::turn(&self.deps, &change).await?;
                summary.ended += 1;
            }
            sweep::Action::Finalize => summary.finalized += 1,
        }
        if self.finalize(key).await? {
            summary.sessions.insert(key.session.clone());
        }
        Ok(())
    }
}
