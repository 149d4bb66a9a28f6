//! Starts and resumes the turn of a request: where it begins, what it continues from, and whether it is a repetition.
//!
//! A request of OpenAI's APIs names no turn, so the decisions are made here, on what [`Turns`] reads: a new session, the
//! session of the previous response, or a fork of it. The function gives the port to the turns.

mod chat;
mod repetition;
mod resumption;
mod turn;

use contracts::{
    Error, ErrorCode,
    id::{SessionId, TurnId},
    request::{ForkRequest, ToolContinuation, UserTurn},
};
use protocol::Caller;
use runtime::id_key::IdKeys;
use turns::{
    flow::{DerivedSession, StartConditions, TurnHead, TurnSnapshot},
    refusal::Refusal,
    stream::ResponseStart,
};

use crate::{error::ApiError, id::ResponseId};

pub use chat::start_chat;
pub use repetition::{retry_count, start_response};
pub use resumption::{Resumed, no_calls, resume};

/// A response and the start of its turn.
pub type Started<W> = (ResponseId, ResponseStart<W>);

/// The turns of the service for one request: its caller, its time, and what it reads and writes.
pub trait Turns: Sync {
    /// The work of a turn whose response isn't ready.
    type Work: Send;

    /// Returns the caller.
    fn caller(&self) -> &Caller;

    /// Returns the keys of derived ids.
    fn id_keys(&self) -> &IdKeys;

    /// Returns the time of the request, in seconds.
    fn now(&self) -> u64;

    /// Returns a random text of 32 hexadecimal digits.
    fn random(&self) -> String;

    /// Reads the id of the session's last turn.
    fn last_turn(&self, session: &SessionId) -> impl Future<Output = Result<Option<TurnId>, Refusal>> + Send;

    /// Reads the head of a turn, if it is there.
    fn head(&self, id: &ResponseId) -> impl Future<Output = Result<Option<TurnHead>, Refusal>> + Send;

    /// Reads the state of a session and a turn with derived ids.
    fn derived(&self, id: &ResponseId) -> impl Future<Output = Result<DerivedSession, Refusal>> + Send;

    /// Reads a turn with its request and its response so far.
    fn snapshot(&self, id: &ResponseId) -> impl Future<Output = Result<TurnSnapshot, Refusal>> + Send;

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

fn internal() -> ApiError {
    Error::from(ErrorCode::Internal).into()
}
