//! The report of a turn, as the table stores it and reads show it.

use protocol::{detail::Report, transition::finalize, turn::State};

use crate::flow::finish::evidence::TurnEvidence;
use crate::ports::{PayloadReads, Reads, Record, Unavailable};

/// Loads the report of a turn: from its detail if it is finalized, or from its evidence as soon as it is settled.
pub(crate) async fn load(
    store: &impl Reads,
    payloads: &impl PayloadReads,
    record: &Record,
) -> Result<Report, Unavailable> {
    match (&record.turn.state, &record.result) {
        (State::Finalized(_), Some(result)) => Ok(result.report.clone()),
        (State::Settled(settlement) | State::Finalized(settlement), _) => {
            let evidence = TurnEvidence::load(store, payloads, &record.turn).await?;
            Ok(finalize::report(&record.turn, &settlement.verdict, evidence.summary().as_ref()))
        }
        // Of a turn that waits for the client, the sources are known and the rest isn't final.
        (State::AwaitingTools { .. }, _) => {
            let evidence = Box::pin(TurnEvidence::load(store, payloads, &record.turn)).await?;
            let report = evidence.summary().map(|summary| summary.report).unwrap_or_default();
            Ok(Report { chunk_refs: report.chunk_refs, ..Report::default() })
        }
        (State::Running { .. }, _) => Ok(Report::default()),
    }
}
