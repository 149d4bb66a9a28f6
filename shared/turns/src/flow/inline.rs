//! Payloads of a turn: by a link, or in the answer itself for whoever can't follow one (DD-005).
//!
//! An answer is stored as an object of its own when it is first asked for here: most never are, and the outcome object
//! has it anyway (docs/decisions/0002-the-answers-own-object.md).

use contracts::{
    id::{SessionId, TurnId},
    read::PayloadValue,
    request::limits::MAX_INLINE_BYTES,
};
use protocol::Caller;

use super::{
    outcomes,
    read::{PayloadName, SessionReader},
};
use crate::{
    ports::{Link, PayloadArchive, Payloads, Reads},
    refusal::Refusal,
};

impl<R: Reads, P: Payloads> SessionReader<R, P> {
    /// A short-lived link to a payload.
    ///
    /// # Errors
    /// When the turn or its payload does not exist for this caller.
    pub async fn payload(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        name: PayloadName,
    ) -> Result<Link, Refusal> {
        let payload = self.named(caller, session, turn, name).await?;
        if let Some(link) = self.payloads.link(&payload).await? {
            return Ok(link);
        }
        outcomes::store_answer(&self.payloads, &payload).await?;
        self.payloads.link(&payload).await?.ok_or(Refusal::PayloadNotFound)
    }
}

impl<R: Reads, P: Payloads + PayloadArchive> SessionReader<R, P> {
    /// A payload, whole.
    ///
    /// # Errors
    /// When the turn or its payload does not exist for this caller, or is larger than [`MAX_INLINE_BYTES`].
    pub async fn inline(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        name: PayloadName,
    ) -> Result<PayloadValue, Refusal> {
        let payload = self.named(caller, session, turn, name).await?;
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
