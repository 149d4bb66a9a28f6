//! Reruns of a turn: the turn to run again, and its parent, the completed turn that the rerun continues from instead of the
//! session's latest turn.

use agent::{context::ResolvedContext, mode::Catalog};
use contracts::request::{RerunRequest, UserTurn};
use protocol::{
    Caller,
    ancestry::RerunOf,
    id::TurnKey,
    session::{ChainHead, Session},
    transition::{
        begin::{Basis, ParentState},
        finalize::chain_head,
        wait,
    },
    turn::Turn,
};

use crate::{
    flow::{access, ancestry, finish::evidence, stored_request},
    ports::{Deps, Host, Reads, Unavailable},
    refusal::Refusal,
};

/// Reads the turn to run again, and its request with the changes.
///
/// # Errors
/// If this caller has no such turn, or it isn't finished.
pub(crate) async fn load<'a>(
    deps: &impl Deps,
    caller: &Caller,
    key: &TurnKey,
    changes: &'a RerunRequest,
) -> Result<(RerunSource<'a>, UserTurn), Refusal> {
    let (_, original) = access::load_turn(deps.store(), caller, key).await?;
    if original.settlement().is_none() {
        let retry_after = wait::estimate_wait(&original, deps.host().now(), deps.timing());
        return Err(Refusal::SessionBusy { turn: key.turn.clone(), retry_after });
    }
    let request = stored_request::load(deps.store(), deps.payloads(), &original).await?.with_rerun(changes);
    let has_input = request.instruction.is_some()
        || !request.input_artifacts.is_empty()
        || !request.clipboard_images.is_empty()
        || !request.ancestry.is_empty();
    if !has_input {
        return Err(Refusal::no_input());
    }
    let has_effects = deps.store().newest_intent(key).await?.is_some();
    Ok((RerunSource { original, request: changes, has_effects }, request))
}

/// A turn to run again, and the request that says what changes.
pub(crate) struct RerunSource<'a> {
    pub(crate) original: Turn,
    pub(crate) request: &'a RerunRequest,
    /// True if it called tools that have effects.
    pub(crate) has_effects: bool,
}

/// The warning of a rerun whose original called tools that have effects. Its own calls have other keys.
pub(crate) const PERFORMS_AGAIN: &str = "The turn that was run again had called tools with effects. This turn may have \
     performed them again: check what took place twice.";

/// The parent of a rerun.
pub(crate) struct RerunParent {
    /// The completed turn, if there is one.
    pub(crate) turn: Option<TurnKey>,
    /// The provider response that the parent left, to continue from.
    pub(crate) chain: Option<ChainHead>,
}

/// Resolves the parent, mode and model of a rerun. Also returns the parent's key.
pub(crate) async fn prepare_rerun(
    deps: &impl Deps,
    catalog: &Catalog,
    RerunSource { original, request, .. }: &RerunSource<'_>,
    cut: AncestryCut,
) -> Result<(Basis, Option<TurnKey>), Refusal> {
    let mode = match &request.mode {
        None => original.mode.clone(),
        Some(requested) => {
            let offered = || catalog.modes().filter(|mode| mode.is_offered());
            let offered_mode = offered().find(|mode| mode.key.as_str() == requested);
            let keys = || offered().map(|mode| mode.key.as_str().to_owned()).collect::<Vec<_>>();
            offered_mode.ok_or_else(|| Refusal::not_offered("Mode", &keys()))?.key.as_str().to_owned()
        }
    };
    let RerunParent { turn, chain } = parent_of(deps, original, cut).await?;
    let rerun_of = RerunOf { turn: original.key.turn.clone(), model: request.model.clone() };
    let parent = ParentState { turn: original.parent.clone(), chain, mode };
    Ok((Basis { rerun_of: Some(rerun_of), parent }, turn))
}

/// The part of an ancestry that is lost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AncestryCut {
    /// The depth of the first turn that started without the lost session.
    pub(crate) cutoff_depth: u64,
    /// The depth of the last turn that is left out because its session is hidden.
    pub(crate) hidden_depth: u64,
}

impl AncestryCut {
    /// Returns the cut that a session knows of.
    pub(crate) fn of(session: &Session) -> Self {
        Self { cutoff_depth: session.cutoff_depth(), hidden_depth: session.hidden_depth() }
    }
}

/// Finds the parent of a rerun, which differs from the session's latest turn. The provider response of a turn
/// before the cutoff isn't used, because it contains lost history.
pub(crate) async fn parent_of(
    deps: &impl Deps,
    turn: &Turn,
    AncestryCut { cutoff_depth, hidden_depth }: AncestryCut,
) -> Result<RerunParent, Unavailable> {
    let store = deps.store();
    let (own, parent) = (&turn.key.session, turn.resolved_parent());
    let completed = Box::pin(ancestry::last_completed(store, own, parent, hidden_depth)).await?;
    let Some(turn) = completed else {
        return Ok(RerunParent { turn: None, chain: None });
    };
    let chain = match store.record(&turn.key).await? {
        Some(_) if turn.depth() < cutoff_depth => None,
        Some(record) => chain_head(&evidence::load_report(store, deps.payloads(), &record).await?),
        None => None,
    };
    Ok(RerunParent { turn: Some(turn.key), chain })
}

/// Returns the settings with this model selected.
///
/// # Errors
/// If the context doesn't offer the model.
pub(crate) fn with_model(effective: ResolvedContext, model: &str) -> Result<ResolvedContext, Refusal> {
    let names: Vec<String> = effective.models().map(str::to_owned).collect();
    effective.with_primary_model(model).ok_or_else(|| Refusal::not_offered("Model", &names))
}
