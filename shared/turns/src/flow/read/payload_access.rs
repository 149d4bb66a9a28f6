//! Access to a turn's payloads: by link, or inline for clients that can't follow one.
//!
//! An answer becomes an object of its own on first access. Most answers are never accessed here, and the outcome
//! object contains them anyway (docs/internals/decisions/0002-answer-object-on-request.md).

use contracts::{
    id::{SessionId, TurnId},
    read::PayloadValue,
    request::limits::MAX_INLINE_BYTES,
};
use protocol::Caller;

use crate::flow::finish::outcomes;
use crate::flow::read::session_reader::{PayloadName, SessionReader};
use crate::{
    ports::{Link, PayloadArchive, Payloads, Reads},
    refusal::Refusal,
};

impl<R: Reads, P: Payloads> SessionReader<R, P> {
    /// Returns a short-lived link to a payload.
    ///
    /// # Errors
    /// If the turn or its payload doesn't exist for this caller.
    pub async fn payload_link(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        name: PayloadName,
    ) -> Result<Link, Refusal> {
        let payload = self.resolve_payload(caller, session, turn, name).await?;
        if let Some(link) = self.payloads.link(&payload).await? {
            return Ok(link);
        }
        outcomes::store_answer(&self.payloads, &payload).await?;
        self.payloads.link(&payload).await?.ok_or(Refusal::PayloadNotFound)
    }
}

impl<R: Reads, P: Payloads + PayloadArchive> SessionReader<R, P> {
    /// Reads a payload in full.
    ///
    /// # Errors
    /// If the turn or its payload doesn't exist for this caller, or is larger than [`MAX_INLINE_BYTES`].
    pub async fn inline_payload(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        name: PayloadName,
    ) -> Result<PayloadValue, Refusal> {
        let payload = self.resolve_payload(caller, session, turn, name).await?;
        let mut found = self.payloads.read(&payload, MAX_INLINE_BYTES).await?;
        if found.is_none() {
            outcomes::store_answer(&self.payloads, &payload).await?;
            found = self.payloads.read(&payload, MAX_INLINE_BYTES).await?;
        }
        let found = found.ok_or(Refusal::PayloadNotFound)?;
        let bytes = found.bytes.ok_or(Refusal::InlineTooLarge { size: found.size })?;
        Ok(PayloadValue::new(payload.kind.file_name().to_owned(), found.media_type, &bytes))
    }
}
