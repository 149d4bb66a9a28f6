//! Holds what a turn used in its meters until its finalization counts it, however late that is.

use contracts::error::causes;
use futures::future::try_join_all;
use protocol::{
    budget::{self, Amounts, Entry},
    detail::Report,
    turn::Turn,
};

use crate::flow::meter_change::{MAX_TRIES, pause, replacement, unavailable};
use crate::ports::{Deps, Meter, MeterReads, Source, Unavailable, WriteError};

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

async fn raise(deps: &impl Deps, turn: &Turn, report: &Report, reserved: Amounts) -> Result<(), Unavailable> {
    let budgets = deps.store().budgets(&turn.key.session.org).await?;
    // Turns without a price are only counted, not limited.
    let used = Amounts { unpriced: 0, ..Amounts::of_turn(report, budgets.currency.as_deref()) };
    if used.beyond(reserved) == Amounts::default() {
        return Ok(());
    }
    let limited = turn.meters.iter().filter(|meter| budget::may_limit_amounts(&budgets, meter.kind()));
    let raised = limited.map(|meter| async move {
        let key = meter.key(&turn.key, &turn.requested_by);
        let mut last: Source = "contention".into();
        for tries in 0..MAX_TRIES {
            let stored = deps.store().meter(&key, &turn.key).await?;
            // An entry that is gone has expired with its window, or the turn is counted.
            let Some(entry) = stored.entry.filter(|entry| meter.owns(*entry)) else { return Ok(()) };
            let amounts = entry.amounts.max(used);
            if amounts == entry.amounts {
                return Ok(());
            }
            let after = Some(Entry { amounts, ..entry });
            match deps.store().write_meter(&replacement(key.clone(), &turn.key, entry, after)).await {
                Ok(_) => return Ok(()),
                Err(WriteError::Unknown(source)) => last = source,
                Err(WriteError::ConditionFailed | WriteError::Contended) => {}
            }
            pause(deps, tries).await;
        }
        Err(unavailable(last))
    });
    try_join_all(raised).await.map(|_| ())
}
