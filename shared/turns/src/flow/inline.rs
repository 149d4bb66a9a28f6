//! Inline: a payload in the answer itself (DD-005), for whoever can't follow a link.

use contracts::{
    id::{SessionId, TurnId},
    read::PayloadValue,
    request::limits::MAX_INLINE_BYTES,
};
use protocol::Caller;

use super::read::{PayloadName, SessionReader};
use crate::{
    ports::{PayloadArchive, PayloadReads, Reads},
    refusal::Refusal,
};

impl<R: Reads, P: PayloadReads + PayloadArchive> SessionReader<R, P> {
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
        let found = self.payloads.read(&payload, MAX_INLINE_BYTES).await?.ok_or(Refusal::PayloadNotFound)?;
        let bytes = found.bytes.ok_or(Refusal::InlineTooLarge { size: found.size })?;
        Ok(PayloadValue::new(payload.kind.file_name().to_owned(), found.media_type, &bytes))
    }
}
