//! Take over: go on with a turn whose attempt died (rules 5 and 9).

use super::{
    Executor,
    attempt::Held,
    lease::Lease,
    outcome, salvage,
    write::{self, Written},
};
use crate::ports::{Announcements, Payloads, Store, World};
use crate::refusal::Refusal;
use agent::{model::Model, progress::Step};
use protocol::{
    transition::take::{self, Purpose},
    turn::{State, Turn},
};

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// Takes over a turn whose attempt died: settles it from an earlier outcome, or goes on with it.
    /// None when there is nothing to work on: looking again tells why.
    pub(super) async fn take_over(&self, dead: &Turn) -> Result<Option<(Held, Option<Step>)>, Refusal> {
        let asked = self.world.monotonic();
        let fence = match take::take(dead, self.world.nonce(), Purpose::Retry, self.world.now(), &self.timing)
        {
            Ok(fence) => fence,
            Err(take::Refused::NoAttemptLeft) => {
                let stands =
                    salvage::salvage(&self.store, &self.payloads, &self.world, &self.timing, dead).await?;
                if let Some(turn) = stands {
                    self.announce(&turn).await;
                }
                return Ok(None);
            }
            Err(take::Refused::Alive { .. } | take::Refused::Illegal(_)) => return Ok(None),
        };
        if let Written::Stands(_) = write::turn(&self.store, &self.world, &fence).await? {
            return Ok(None);
        }
        let held = Held { turn: fence.after, lease: Lease::held_since(asked, &self.timing) };
        let State::Running { stage, .. } = &held.turn.state else {
            return Ok(None);
        };
        let Some((writer, found)) = outcome::find(&self.payloads, &held.turn.key, stage).await? else {
            let step = self.recover(&held.turn).await?;
            return Ok(Some((held, step)));
        };
        // I4, I9: an answer that was durable is used, not bought again.
        if let Ok(change) = salvage::from_outcome(&held.turn, writer, &found, &self.world, &self.timing) {
            write::turn(&self.store, &self.world, &change).await?;
            self.announce(&held.turn).await;
        }
        Ok(None)
    }
}
