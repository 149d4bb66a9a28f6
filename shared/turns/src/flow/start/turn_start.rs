//! The start of a user turn, as a chain of types. Each has what is known at that point, so that nothing can be asked for
//! too early: [`TurnStart`] is requested, [`ReadStart`] has read, [`Admission`] has reserved, `ResolvedTurn` has its
//! settings, and [`OwnedTurn`] has begun. A submission has the parts of the request on which the turn's lifecycle depends.

use std::sync::{Arc, OnceLock};

use agent::{attempt::RecoveryPoint, mode::Catalog, outcome::Response, text::excerpt};
use contracts::{
    Fingerprint,
    id::{OrgId, TurnId},
    request::UserTurn,
};
use protocol::{
    Caller,
    budget::{RateLimits, Subjects},
    id::{AttemptId, SessionKey},
    session::{ContextPins, Contexts, Hints, IdOrigin, SolutionChange, SolutionContext},
    transition::begin::{Snapshot, Submission},
};

use crate::{
    flow::{
        invocation::RequestScope, limits::OrgLimits, meter::Reservation, owned_turn::OwnedTurn,
        retrieval::Question, run::models::Models, start::rerun::RerunSource,
    },
    ports::{AgentDeps, Documents, Unavailable},
    stream::Writer,
};

/// Conditions on the start of a turn. Without them a repeated request gets its turn's outcome, and a new turn follows
/// whatever turn is the session's last.
#[derive(Debug, Clone, Default)]
pub struct StartConditions {
    /// Refuses a turn id that is in use, even for the same request.
    pub is_new: bool,
    /// Refuses a new turn unless this turn is the session's last.
    pub follows: Option<TurnId>,
    /// Continues from no earlier turn of the session: the request brings all that the model gets.
    pub starts_over: bool,
    /// Refuses a session that exists, unless this origin of its id admits it.
    pub id_origin: IdOrigin,
    /// The session and the turn, as the request has just read them. Saves the first read, if the turn can begin on them.
    pub read: Option<Box<Snapshot>>,
    /// Receives the rate limits that the start has counted against.
    pub rate_limits: RateLimitCell,
}

/// A cell that a start fills with the rate limits of its caller, before the response begins.
#[derive(Debug, Clone, Default)]
pub struct RateLimitCell(Arc<OnceLock<RateLimits>>);

impl RateLimitCell {
    /// Returns the rate limits. Empty if the start counted against none.
    #[must_use]
    pub fn get(&self) -> RateLimits {
        self.0.get().copied().unwrap_or_default()
    }

    /// Sets the rate limits. The first start of a request that counts wins.
    pub(super) fn set(&self, rate_limits: RateLimits) {
        let _ = self.0.set(rate_limits);
    }
}

/// A user turn to start, as it is requested: sent by the client, or a rerun of another turn.
pub(crate) struct TurnStart<'a, D> {
    /// The dependencies.
    pub(crate) deps: &'a D,
    /// The models.
    pub(crate) models: Models<'a>,
    /// The caller.
    pub(crate) caller: &'a Caller,
    /// The submission of the request.
    pub(crate) submission: &'a Submission,
    /// The request.
    pub(crate) request: &'a UserTurn,
    /// The conditions on its start.
    pub(crate) conditions: &'a StartConditions,
    /// The turn to run again, if it is a rerun.
    pub(crate) rerun: Option<&'a RerunSource<'a>>,
    /// The question to search for, if any.
    pub(crate) question: Option<Question<'a>>,
    /// The scope of the request.
    pub(crate) scope: &'a RequestScope,
    /// The stream of the answer.
    pub(crate) stream: &'a Writer,
}

/// The rules of an org for a turn that is about to start.
pub(super) struct OrgRules {
    /// The settings and the budgets.
    pub(super) limits: OrgLimits,
    /// The modes that the turn may use: the built-in ones, and those of the org.
    pub(super) catalog: Catalog,
}

/// A turn to start with all that its admission depends on: the stored state, and the rules of the org.
pub(super) struct ReadStart<'r, 'a, D> {
    /// The turn to start.
    pub(super) start: &'r TurnStart<'a, D>,
    /// The session and its turns.
    pub(super) snapshot: Snapshot,
    /// The rules of the org.
    pub(super) org: &'r OrgRules,
}

/// The admission of a turn: no rule refuses it, and its part of the budgets is reserved. The settings of the turn are
/// resolved for it.
pub(super) struct Admission {
    /// The subjects whose limits hold for the turn.
    pub(super) subjects: Subjects,
    /// The reserved part. Empty in orgs without budgets.
    pub(super) reservation: Reservation,
}

/// Reads the modes that turns of an org may use.
///
/// # Errors
/// If the store can't be reached.
pub(crate) async fn load_catalog(deps: &impl AgentDeps, org: &OrgId) -> Result<Catalog, Unavailable> {
    let own = deps.store().modes(org).await?;
    Ok(deps.config().catalog.with_modes(&own))
}

/// The result of claiming a turn.
pub(crate) enum Claim {
    /// This call owns the turn. Contains the step to continue from.
    Owned(Box<OwnedTurn>, Box<RecoveryPoint>),
    /// The turn has a response already.
    Replayed(Response),
}

impl Claim {
    /// Creates the claim of a turn that this call owns.
    pub(crate) fn owned(owned: OwnedTurn, step: RecoveryPoint) -> Self {
        Self::Owned(Box::new(owned), Box::new(step))
    }
}

/// Builds the submission of a request.
pub(crate) fn submission(
    caller: &Caller,
    request: &UserTurn,
    fingerprint: Fingerprint,
    id: AttemptId,
) -> Submission {
    let session = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
    Submission {
        key: session.turn(request.turn_id.clone()),
        id_origin: IdOrigin::Client,
        requested_by: caller.user.clone(),
        fingerprint,
        id: Some(id.clone()),
        contexts: Contexts {
            agent: request.agent_context_id.clone(),
            conversation: request.conversation_context_id.clone(),
            pins: ContextPins::default(),
        },
        hints: Hints {
            workspace: request.workspace_id.clone(),
            repo: request.repo.clone(),
            language: request.language.clone(),
        },
        session_name: excerpt::session_name(request.instruction.as_deref()),
        instruction_summary: excerpt::excerpt_of(request.instruction.as_deref().unwrap_or_default()),
        solution: solution_change(request, fingerprint, id),
        streamed: request.streaming,
        unstored: request.options.as_ref().is_some_and(|options| options.unstored),
    }
}

/// Returns the change of the session's solution context: a text replaces it, an empty text removes it, and no text
/// keeps it.
fn solution_change(request: &UserTurn, fingerprint: Fingerprint, id: AttemptId) -> SolutionChange {
    match request.solution_context_text.as_deref() {
        None => SolutionChange::Unchanged,
        Some(text) if text.trim().is_empty() => SolutionChange::Removed,
        Some(text) => SolutionChange::Replaced(SolutionContext {
            session: Some(request.session_id.clone()),
            turn: request.turn_id.clone(),
            request: fingerprint,
            submission_id: Some(id),
            text: Fingerprint::hash_bytes(text.as_bytes()),
        }),
    }
}
