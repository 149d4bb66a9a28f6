//! Keeping a lease while an attempt works.

use std::{
    pin::pin,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use futures::future::{Either, select};

use crate::{
    flow::write::{self, Written},
    ports::{Store, World},
};
use protocol::{timing::Timing, transition::renew::renew, turn::Turn};

/// A lease as its holder sees it: by its own clock, which never jumps, and a little shorter than
/// everybody else's view of it.
#[derive(Debug)]
pub(crate) struct Lease {
    /// On [`World::monotonic`], in milliseconds.
    ends: AtomicU64,
    stop_early: Duration,
}

impl Lease {
    /// A lease that was asked for at `asked` (so it can't be over earlier than we think).
    pub(crate) fn held_since(asked: Duration, timing: &Timing) -> Self {
        let lease = Self { ends: AtomicU64::new(0), stop_early: timing.stop_early };
        lease.extend(asked, timing.lease);
        lease
    }

    /// How much longer the holder may act.
    pub(crate) fn left(&self, world: &impl World) -> Duration {
        Duration::from_millis(self.ends.load(Ordering::Relaxed))
            .saturating_sub(self.stop_early)
            .saturating_sub(world.monotonic())
    }

    fn extend(&self, asked: Duration, by: Duration) {
        let ends = asked.saturating_add(by).as_millis();
        self.ends.store(u64::try_from(ends).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// Renews the lease until it is lost: taken, settled by someone else, or over because the table could
/// not be reached. Never past `stop_at`, when the function itself is about to be stopped.
pub(crate) async fn keep(
    store: &impl Store,
    world: &impl World,
    timing: &Timing,
    turn: &Turn,
    lease: &Lease,
    stop_at: Duration,
) {
    loop {
        let left = lease.left(world);
        if left.is_zero() {
            return;
        }
        world.sleep(timing.renew_every().min(left)).await;
        let asked = world.monotonic();
        let by = timing.lease.min(stop_at.saturating_sub(asked));
        if lease.left(world).is_zero() || by.is_zero() {
            return;
        }
        let Ok(change) = renew(turn, world.now().after(by)) else {
            return;
        };
        // Every try of the write may hang as long as the adapter lets it, so the lease ends it: a holder
        // that waited for an unreachable table would work on, and pay, under a lease that is over.
        let renewal = pin!(write::turn(store, world, &change));
        let over = pin!(world.sleep(lease.left(world)));
        match select(renewal, over).await {
            Either::Left((Ok(Written::Applied), _)) => lease.extend(asked, by),
            Either::Left((Ok(Written::Stands(_)), _)) | Either::Right(_) => return,
            // The table can't be reached: the lease still runs, so try again while it does.
            Either::Left((Err(_), _)) => {}
        }
    }
}
