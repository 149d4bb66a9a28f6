//! The turns of the service, as a request reads and starts them.

use std::slice::from_ref;

use contracts::{
    id::{SessionId, TurnId},
    request::{ForkRequest, ToolContinuation, UserMessage, UserTurn},
};
use protocol::Caller;
use runtime::id_key::IdKeys;
use turns::{
    flow::{DerivedSession, DerivedTurn, StartConditions, TurnHead, TurnSnapshot},
    refusal::Refusal,
    stream::ResponseStart,
};

use crate::{chat::TurnRound, error::StartError};

/// The turns of the service for one request: its caller, its time, and what it reads and writes.
pub trait Turns: Sync {
    /// The work of a turn whose response isn't ready.
    type Work: Send;

    /// Returns the caller.
    fn caller(&self) -> &Caller;

    /// Returns the keys of derived ids and marks.
    fn id_keys(&self) -> &IdKeys;

    /// Returns the time of the request, in seconds.
    fn now(&self) -> u64;

    /// Returns a random text of 32 hexadecimal digits.
    fn random(&self) -> String;

    /// Reads the id of the session's last turn.
    fn last_turn(&self, session: &SessionId) -> impl Future<Output = Result<Option<TurnId>, Refusal>> + Send;

    /// Reads the head of a turn, if it is there.
    fn head(&self, id: &TurnRound) -> impl Future<Output = Result<Option<TurnHead>, Refusal>> + Send;

    /// Reads sessions and turns with derived ids, in their order and with as few requests as possible.
    fn derived_all(
        &self,
        ids: &[TurnRound],
    ) -> impl Future<Output = Result<Vec<DerivedTurn>, Refusal>> + Send;

    /// Reads the rest of a turn with derived ids.
    fn derived_snapshot(
        &self,
        turn: &DerivedTurn,
    ) -> impl Future<Output = Result<TurnSnapshot, Refusal>> + Send;

    /// Reads the state of a session and a turn with derived ids.
    fn derived(&self, id: &TurnRound) -> impl Future<Output = Result<DerivedSession, Refusal>> + Send {
        async {
            Ok(self.derived_all(from_ref(id)).await?.pop().map_or(DerivedSession::Free, |turn| turn.state))
        }
    }

    /// Reads a turn with its request and its response so far.
    fn snapshot(&self, id: &TurnRound) -> impl Future<Output = Result<TurnSnapshot, Refusal>> + Send;

    /// Returns a message with the contents of the uploaded files that it names.
    fn with_contents(
        &self,
        message: &UserMessage,
    ) -> impl Future<Output = Result<UserMessage, StartError>> + Send;

    /// Forks a session into one with a derived id.
    fn fork(
        &self,
        session: &SessionId,
        request: &ForkRequest,
    ) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Starts a turn.
    fn start(
        &self,
        turn: UserTurn,
        conditions: StartConditions,
    ) -> impl Future<Output = ResponseStart<Self::Work>> + Send;

    /// Resumes a turn with the results of its calls.
    fn resume(&self, results: ToolContinuation) -> impl Future<Output = ResponseStart<Self::Work>> + Send;
}
