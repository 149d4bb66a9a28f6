//! Renews the lease on a turn while this process works on it.

use std::pin::pin;

use futures::future::{Either, select};
use protocol::transition::renew::renew;

use crate::flow::{
    owned_turn::OwnedTurn,
    write::{self, WriteOutcome},
};
use crate::ports::{Clock, Deps, Timer};

/// Renews the lease until it is lost: taken over, settled by someone else, or expired because the table is
/// unreachable. Runs in the same task as the work. Never extends the lease past the moment at which the function is
/// stopped.
///
/// It is polled before the work each time, and the work computes for a bounded time between two polls: the model
/// client yields after each millisecond of reading, and answers are filtered in steps. So the work can't starve it,
/// dropping the attempt drops it, and simulations need no extra tasks.
pub(super) async fn keep_lease(deps: &impl Deps, owned: &OwnedTurn) {
    let OwnedTurn { turn, lease, scope, spending, .. } = owned;
    let (host, timing) = (deps.host(), deps.timing());
    // The head of a turn that was taken over doesn't count this attempt's call yet.
    let mut pause = match turn.takeovers {
        0 => timing.renewal_interval(),
        _ => timing.ownership_check_interval.min(timing.renewal_interval()),
    };
    loop {
        let left = lease.remaining(host);
        if left.is_zero() {
            return;
        }
        host.sleep(pause.min(left)).await;
        pause = timing.renewal_interval();
        let requested = host.monotonic();
        let by = timing.lease.min(scope.deadline.saturating_sub(requested));
        if lease.remaining(host).is_zero() || by.is_zero() {
            return;
        }
        let Ok(change) = renew(turn, host.now().after(by)) else {
            return;
        };
        let change = change.with_spent(spending.if_killed());
        // The lease bounds the write, because each try may hang for as long as the adapter allows. Otherwise a holder
        // that waits for an unreachable table would continue, and pay, under an expired lease.
        let renewal = pin!(write::turn(deps, &change));
        let over = pin!(host.sleep(lease.remaining(host)));
        match select(renewal, over).await {
            Either::Left((Ok(WriteOutcome::Applied), _)) => lease.extend(requested, by),
            Either::Left((Ok(WriteOutcome::Superseded(_)), _)) | Either::Right(_) => return,
            // The table is unreachable. The lease still holds, so try again until it ends.
            Either::Left((Err(_), _)) => {}
        }
    }
}
