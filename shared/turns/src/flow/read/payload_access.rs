//! Access to a turn's payloads: by link, or inline for clients that can't follow one.
//!
//! An answer becomes an object of its own on first access. Most answers are never accessed here, and the outcome
//! object contains them anyway (docs/internals/decisions/0002-answer-object-on-request.md). A small request becomes
//! one when its turn becomes terminal, or on first access (docs/internals/decisions/0037-small-requests-inline.md).

use contracts::{
    ErrorCode, FileAddress,
    id::{SessionId, TurnId},
    read::PayloadValue,
    request::limits::MAX_INLINE_BYTES,
};
use protocol::{
    Caller,
    id::AttemptId,
    payload::{Kind, Payload},
};

use crate::{
    flow::{
        finish::{evidence, outcomes},
        read::{session_reader::SessionReader, turn_history},
        stored_request,
    },
    ports::{Link, PayloadReads, Payloads, Reads, Record, Unavailable},
    refusal::Refusal,
};

/// The name of a turn's payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PayloadName {
    /// The request in full.
    Instruction,
    /// The answer in full.
    Answer,
    /// The raw request of a reply, or of the turn's last model call. For operators.
    ModelRequest {
        /// The reply, by round.
        round: Option<u32>,
    },
    /// The provider's raw response to it. For operators.
    ModelResponse {
        /// The reply, by round.
        round: Option<u32>,
    },
    /// A published file.
    File {
        /// The hash of its bytes.
        address: FileAddress,
        /// Its name.
        name: String,
    },
}

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
        self.create_missing(&payload).await?;
        self.payloads.link(&payload).await?.ok_or_else(|| ErrorCode::PayloadNotFound.into())
    }

    /// Creates an object that its turn doesn't have yet: an answer, or a request that is still inline.
    async fn create_missing(&self, payload: &Payload) -> Result<(), Unavailable> {
        outcomes::store_answer(&self.payloads, payload).await?;
        stored_request::load_and_publish(&self.store, &self.payloads, payload).await
    }
}

impl<R: Reads, P: Payloads> SessionReader<R, P> {
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
            self.create_missing(&payload).await?;
            found = self.payloads.read(&payload, MAX_INLINE_BYTES).await?;
        }
        let found = found.ok_or(ErrorCode::PayloadNotFound)?;
        let bytes = found.bytes.ok_or_else(|| Refusal::inline_too_large(found.size))?;
        Ok(PayloadValue::new(payload.kind.file_name().to_owned(), found.media_type, &bytes))
    }
}

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Resolves the name of a payload to its object.
    async fn resolve_payload(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        name: PayloadName,
    ) -> Result<Payload, Refusal> {
        let raw = matches!(name, PayloadName::ModelRequest { .. } | PayloadName::ModelResponse { .. });
        if raw && !caller.operator {
            return Err(ErrorCode::PayloadNotFound.into());
        }
        let record = self.visible_record(caller, session, turn).await?;
        let kind = match name {
            PayloadName::Instruction => Kind::Instruction(record.turn.stored_request()),
            PayloadName::Answer => record.turn.answer().ok_or(ErrorCode::PayloadNotFound)?.kind,
            PayloadName::File { address, name } => Kind::File { address, name },
            PayloadName::ModelRequest { round } => {
                self.raw_payload_kind(&record, round, Kind::ModelRequest).await?
            }
            PayloadName::ModelResponse { round } => {
                self.raw_payload_kind(&record, round, Kind::ModelResponse).await?
            }
        };
        Ok(Payload { turn: record.turn.key, kind })
    }

    /// Resolves the raw payload of a reply, or of the turn's last model call.
    async fn raw_payload_kind(
        &self,
        record: &Record,
        round: Option<u32>,
        kind: fn(AttemptId, u32) -> Kind,
    ) -> Result<Kind, Refusal> {
        if let Some(round) = round {
            // Boxed: only operators ask for this, and the history's future is large.
            let history = Box::pin(turn_history::load(&self.store, &self.payloads, &record.turn)).await?;
            let model_call = history.call_info(round).ok_or(ErrorCode::PayloadNotFound)?;
            return Ok(kind(model_call.attempt_id.clone(), model_call.number));
        }
        let call = evidence::load_report(&self.store, &self.payloads, record).await?.last_raw_payload;
        let settled = record.turn.settlement();
        let writer = settled.and_then(|settlement| settlement.verdict.writer());
        let (Some(call), Some(writer)) = (call, writer) else {
            return Err(ErrorCode::PayloadNotFound.into());
        };
        Ok(kind(writer.clone(), call))
    }
}
