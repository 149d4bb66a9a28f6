//! The start of a user turn.

use agent::{attempt::RecoveryPoint, outcome::Response};
use contracts::{id::TurnId, request::UserTurn};
use protocol::{Caller, transition::begin::Submission};

use crate::flow::{
    invocation::RequestScope, owned_turn::OwnedTurn, retrieval::question::Question, run::models::Models,
    start::rerun_parent::RerunSource,
};
use crate::stream::Writer;

/// Conditions on the start of a turn. Without them a repeated request gets its turn's outcome, and a new turn follows
/// whatever turn is the session's last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartConditions {
    /// Refuses a turn id that is in use, even for the same request.
    pub is_new: bool,
    /// Refuses a new turn unless this turn is the session's last.
    pub follows: Option<TurnId>,
}

/// A user turn to start: sent by the client, or a rerun of another turn.
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

/// The result of claiming a turn.
pub(crate) enum Claim {
    /// This call owns the turn. Contains the step to continue from.
    Owned(Box<OwnedTurn>, Box<RecoveryPoint>),
    /// The turn has a response already.
    Replayed(Response),
}

impl Claim {
    /// Creates the claim of a turn that this call owns.
    pub(super) fn owned(owned: OwnedTurn, step: RecoveryPoint) -> Self {
        Self::Owned(Box::new(owned), Box::new(step))
    }
}
