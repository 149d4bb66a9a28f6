//! Holds what a turn used in its meters until its finalization counts it, however late that is.

use std::ops::ControlFlow;

use contracts::error::causes;
use futures::future::try_join_all;
use protocol::{
    budget::{self, Amounts, Entry},
    detail::Report,
    spent::Spent,
    turn::Turn,
};

use crate::flow::meter_change;
use crate::ports::{Deps, TypedDocuments, Unavailable};

/// Raises the entries of a turn to what it used, before it is settled or suspended. The limit may be exceeded by it: the
/// usage is paid for. Within what its start reserved, a turn writes nothing. A failure is only logged, so that the answer
/// isn't lost.
pub(crate) async fn hold(deps: &impl Deps, turn: &Turn, report: &Report, reserved: Amounts) {
    if turn.meters.is_empty() {
        return;
    }
    if let Err(error) = raise(deps, turn, report, reserved).await {
        tracing::error!(error = %causes(&error), "{}", contracts::log::USAGE_NOT_HELD);
    }
}

/// Raises the entries of a turn that is ended from outside, or was, to what it has spent as far as that is known. So turns
/// that are cancelled one after another count in their limits without the finalizer.
pub(crate) async fn hold_spent(deps: &impl Deps, turn: &Turn, spent: Option<&Spent>) {
    if let Some(spent) = spent {
        Box::pin(hold(deps, turn, &Report::default().with_spent(spent), Amounts::default())).await;
    }
}

async fn raise(deps: &impl Deps, turn: &Turn, report: &Report, reserved: Amounts) -> Result<(), Unavailable> {
    let budgets = deps.store().budgets(&turn.key.session.org).await?;
    // Turns without a price are only counted, not limited.
    let used = Amounts { unpriced: 0, ..Amounts::of_turn(report, budgets.currency.as_deref()) };
    if used.beyond(reserved) == Amounts::default() {
        return Ok(());
    }
    let limited = turn.meters.iter().filter(|meter| budget::may_limit_amounts(&budgets, meter.kind()));
    let raised = limited.map(|meter| {
        meter_change::change_entry(deps, meter, turn, move |key, _, entry| {
            let amounts = entry.amounts.max(used);
            if !meter.owns(entry) || amounts == entry.amounts {
                return ControlFlow::Break(());
            }
            let after = Some(Entry { amounts, ..entry });
            ControlFlow::Continue(meter_change::replacement(key.clone(), &turn.key, entry, after))
        })
    });
    try_join_all(raised).await.map(|_| ())
}
