//! The start of a user turn.

use agent::{attempt::RecoveryPoint, outcome::Response};
use contracts::request::UserTurn;
use protocol::{Caller, transition::begin::Submission};

use crate::flow::{
    invocation::RequestScope, owned_turn::OwnedTurn, retrieval::question::Question, run::models::Models,
    start::rerun_parent::RerunSource,
};
use crate::stream::Writer;

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
