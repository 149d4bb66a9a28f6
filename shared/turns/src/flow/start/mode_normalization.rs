//! Normalization of a turn's mode: the session's mode overwrites another one that the turn was prepared for (AGN-011
//! §3.3).
//!
//! A turn is prepared for the mode of the session as it was read. The transaction that starts it may also finalize the
//! turn before, which may have changed the mode.

use agent::{context::ResolvedContext, retrieval::Sources};
use protocol::{session::Session, turn::Turn};

use crate::flow::{
    retrieval::excerpts::{RetrievalResult, retrieve},
    start::turn_start::{ReadStart, TurnStart},
};
use crate::ports::AgentDeps;

/// A turn's retrieval, as it was prepared before the turn started.
pub(super) struct PreparedRetrieval<'a> {
    /// The mode for which it was prepared.
    pub(super) mode: &'a str,
    /// The sources that were searched.
    pub(super) sources: Option<Sources>,
    /// The excerpts.
    pub(super) retrieval: RetrievalResult,
}

impl<D: AgentDeps> ReadStart<'_, '_, D> {
    /// Returns the sources and excerpts for the mode in which the turn started. Searches again if the sources differ.
    pub(super) async fn overwrite_mode(
        &self,
        prepared: PreparedRetrieval<'_>,
        turn: &Turn,
        session: &Session,
        effective: &ResolvedContext,
    ) -> (Option<Sources>, RetrievalResult) {
        let PreparedRetrieval { mode, sources, retrieval } = prepared;
        tracing::warn!(
            requested_mode = mode,
            mode = turn.mode.as_str(),
            "{}",
            contracts::log::MODE_OVERWRITTEN
        );
        let current =
            self.start.deps.config().sources(effective, &session.hints, &self.org.catalog, &turn.mode);
        if current == sources {
            return (sources, retrieval);
        }
        let TurnStart { deps, question, request, .. } = self.start;
        let (org, scope) = (&turn.key.session.org, request.rag_scope.as_slice());
        let retrieval = retrieve(*deps, question.as_ref(), org, scope, current.as_ref()).await;
        (current, retrieval)
    }
}
