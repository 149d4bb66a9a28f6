//! Changes of a session under a precondition on its entity tag (RFC 9110 §13.1).

use contracts::{id::SessionId, read::AgentSession, request::SessionEdit};
use protocol::{Caller, id::SessionKey};

use crate::flow::{
    admin::{
        context_edits::Precondition,
        session_edits::{RequiredState, SessionEditor},
    },
    entity_tag::entity_tag,
    invocation::Invocation,
    read::{session_reader::SessionReader, sessions::TurnsPage, warnings::WithWarnings},
    write::{self, Tried},
};
use crate::{
    ports::{PayloadReads, QueueDeps, Reads},
    refusal::Refusal,
};

/// Returns the entity tag of a session as a reader sees it. Positions of further pages count before their encryption,
/// so that every function computes the same tag.
#[must_use]
pub fn session_entity_tag(WithWarnings { result, warnings }: &WithWarnings<AgentSession>) -> String {
    entity_tag(&(result, warnings))
}

/// A change of a session that a precondition may guard.
#[derive(Debug, Clone)]
pub enum SessionOperation<'a> {
    /// [`SessionEditor::edit`].
    Edit(SessionEdit),
    /// [`SessionEditor::delete`].
    Delete(&'a Invocation),
    /// [`SessionEditor::request_purge`].
    Purge,
    /// [`SessionEditor::restore`].
    Restore,
    /// [`SessionEditor::quarantine`].
    Quarantine(&'a Invocation),
    /// [`SessionEditor::release`].
    Release,
}

impl<D: QueueDeps + Clone> SessionEditor<D> {
    /// Changes a session if its entity tag, as `reader` shows it to the caller, is as required. The write is conditional
    /// on the revision that has the tag.
    ///
    /// # Errors
    /// Those of the operation, and if the session isn't in the required state.
    pub async fn change_if<R: Reads, P: PayloadReads>(
        &self,
        reader: &SessionReader<R, P>,
        caller: &Caller,
        id: &SessionId,
        required: Precondition,
        operation: SessionOperation<'_>,
    ) -> Result<(), Refusal> {
        // A change of a session that doesn't exist is refused in any case.
        if matches!(required, Precondition::None | Precondition::Present) {
            return self.apply(caller, id, &operation).await;
        }
        let key = SessionKey { org: caller.org.clone(), session: id.clone() };
        write::decide(self.deps.host(), || async {
            // The revision is read first: if the tag is that of a newer one, the change fails and is decided again.
            let stored = reader.store.session(&key).await?;
            let shown = match Box::pin(reader.read_session(caller, id.clone(), TurnsPage::default())).await {
                Ok((shown, _)) => Some(shown),
                Err(Refusal::SessionNotFound) => None,
                Err(refusal) => return Err(refusal),
            };
            let tag = shown.as_ref().map(session_entity_tag);
            let state = match stored.filter(|_| tag.is_some() && required.admits(tag.as_ref())) {
                Some(stored) => RequiredState::Revision(stored.rev),
                None => RequiredState::Target,
            };
            match self.requiring(state).apply(caller, id, &operation).await {
                Err(Refusal::SessionChanged(_)) if state == RequiredState::Target => {
                    Err(Refusal::SessionChanged(tag))
                }
                Err(Refusal::SessionChanged(_)) => Ok(Tried::Conflict),
                result => result.map(Tried::Done),
            }
        })
        .await
    }

    async fn apply(
        &self,
        caller: &Caller,
        id: &SessionId,
        operation: &SessionOperation<'_>,
    ) -> Result<(), Refusal> {
        let id = id.clone();
        // Boxed: each is large, and one runs.
        match operation {
            SessionOperation::Edit(edit) => Box::pin(self.edit(caller, id, edit.clone())).await,
            SessionOperation::Delete(invocation) => Box::pin(self.delete(caller, id, invocation)).await,
            SessionOperation::Purge => Box::pin(self.request_purge(caller, id)).await,
            SessionOperation::Restore => Box::pin(self.restore(caller, id)).await,
            SessionOperation::Quarantine(invocation) => {
                Box::pin(self.quarantine(caller, id, invocation)).await
            }
            SessionOperation::Release => Box::pin(self.release(caller, id)).await,
        }
    }
}
