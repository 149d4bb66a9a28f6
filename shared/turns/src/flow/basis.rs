//! The basis: what a turn goes on from that is run again, in the place of what its session has come to.

use agent::context::Effective;
use contracts::request::RerunRequest;
use protocol::{
    id::TurnKey,
    line::Repeats,
    session::ChainHead,
    transition::{
        begin::{Basis, Rerun},
        finalize::chain_head,
    },
    turn::Turn,
};

use super::{executor::Executor, line, read::report_of};
use crate::{
    ports::{AgentDeps, Reads, Unavailable},
    refusal::Refusal,
};

/// The turn that is run again, and what is to be other than it was.
pub(super) struct Again<'a> {
    pub(super) original: Turn,
    pub(super) asked: &'a RerunRequest,
}

/// What a rerun goes on from.
pub(super) struct GoneOnFrom {
    /// The completed turn, where there is one.
    pub(super) turn: Option<TurnKey>,
    /// What that left with its provider.
    pub(super) chain: Option<ChainHead>,
}

impl<D: AgentDeps> Executor<D> {
    /// What a rerun begins with, and the completed turn that it goes on from.
    pub(super) async fn begins_again(
        &self,
        Again { original, asked }: &Again<'_>,
        cut_place: u64,
    ) -> Result<(Rerun, Option<TurnKey>), Refusal> {
        let catalog = &self.deps.config().catalog;
        let mode = match &asked.mode {
            None => original.mode.clone(),
            Some(mode) => {
                let offered = || catalog.modes().filter(|mode| mode.is_offered());
                let known = offered().find(|known| known.key == *mode);
                let none = || Refusal::ModeNotOffered(offered().map(|mode| mode.key.clone()).collect());
                known.ok_or_else(none)?.key.clone()
            }
        };
        let GoneOnFrom { turn, chain } = self.gone_on_from(original, cut_place).await?;
        let repeats = Repeats { turn: original.key.turn.clone(), model: asked.model.clone() };
        let basis = Basis { after: original.after.clone(), chain, mode };
        Ok((Rerun { repeats, basis }, turn))
    }

    /// What a turn goes on from that is not what its session has come to. What a turn before `cut_place` left with its
    /// provider tells of what is gone.
    pub(super) async fn gone_on_from(&self, turn: &Turn, cut_place: u64) -> Result<GoneOnFrom, Unavailable> {
        let store = self.deps.store();
        let completed = Box::pin(line::completed(store, &turn.key.session, turn.predecessor())).await?;
        let Some(turn) = completed else {
            return Ok(GoneOnFrom { turn: None, chain: None });
        };
        let chain = match store.record(&turn.key).await? {
            Some(_) if turn.place() < cut_place => None,
            Some(record) => chain_head(&report_of(self.deps.store(), self.deps.payloads(), &record).await?),
            None => None,
        };
        Ok(GoneOnFrom { turn: Some(turn.key), chain })
    }
}

/// The settings of a turn that is to be answered by this model.
///
/// # Errors
/// When the context does not name it.
pub(super) fn answered_by(effective: Effective, model: &str) -> Result<Effective, Refusal> {
    let names: Vec<String> = effective.models().map(str::to_owned).collect();
    effective.answered_by(model).ok_or(Refusal::ModelNotOffered(names))
}
