//! The reader of sessions, turns and payloads as the caller may see them, and what its pages have in common. It can't change
//! the table.

use contracts::{
    id::{SessionId, TurnId},
    invoke_result::Warning,
};
use futures::future::try_join;
use protocol::{
    Caller,
    id::{SessionKey, TurnKey},
    session::Session,
};

use crate::{
    flow::access,
    ports::{PayloadReads, Reads, Record, Unavailable},
    refusal::Refusal,
};

/// Reads sessions and turns.
#[derive(Debug)]
pub struct SessionReader<R, P> {
    pub(crate) store: R,
    pub(crate) payloads: P,
}

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Creates a reader. Its type parameters limit it to reads from here on.
    #[must_use]
    pub fn new(store: R, payloads: P) -> Self {
        Self { store, payloads }
    }

    /// Reads a turn with its details, if the caller may see it.
    pub(crate) async fn visible_record(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
    ) -> Result<Record, Refusal> {
        self.visible_session_and_record(caller, session, turn).await.map(|(_, record)| record)
    }

    /// Returns a turn with its details, and its session, if the caller may see them.
    pub(crate) async fn visible_session_and_record(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
    ) -> Result<(Session, Record), Refusal> {
        let key: TurnKey = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let (session, record) = try_join(self.store.session(&key.session), self.store.record(&key)).await?;
        let visible = self.visible(caller, &key.session, session).await?;
        visible.zip(record).ok_or(Refusal::TurnNotFound)
    }

    /// Returns the session if the caller may see it. Logs the read if the caller isn't a participant.
    pub(crate) async fn visible(
        &self,
        caller: &Caller,
        key: &SessionKey,
        found: Option<Session>,
    ) -> Result<Option<Session>, Unavailable> {
        let Some((session, role)) = access::visible(&self.store, caller, key, found).await? else {
            return Ok(None);
        };
        access::audit_read(caller, role);
        Ok(Some(session))
    }
}

/// The number of concurrent reads. A page refers to few contexts, and the store caches those that it read lately.
pub(crate) const MAX_CONCURRENT_READS: usize = 8;

/// Parses a token of a session's turns: a sequence number.
pub(crate) fn parse_sequence(token: Option<&str>) -> Result<Option<u64>, Refusal> {
    let number = |text: &str| text.parse().ok().filter(|number: &u64| number.to_string() == text);
    token.map(|token| number(token).ok_or_else(Refusal::invalid_continuation_token)).transpose()
}

/// A result with the warnings that belong to the response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithWarnings<T> {
    /// The result.
    pub result: T,
    /// Warnings about the call, for example missing names.
    pub warnings: Vec<Warning>,
}
