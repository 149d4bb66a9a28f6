//! Edits, deletes, purges, restores, quarantines and releases sessions at a user's request (rule 12), also under a
//! precondition on their entity tag (RFC 9110 §13.1).

use std::time::Duration;

use contracts::{
    error::causes,
    id::SessionId,
    read::{AgentSession, Visibility},
    request::{SessionEdit, SessionVisibility},
};
use futures::future::{OptionFuture, join};
use protocol::{
    Caller,
    change::{Commit, TurnChange},
    id::SessionKey,
    queue_message::FinalizeMessage,
    session::Session,
    transition::{
        purging,
        session_edits::{self, Edit},
    },
    turn::Turn,
};

use crate::{
    flow::{
        access,
        admin::{
            context_edits::Precondition,
            notices::{self, wait_until_noticed},
        },
        entity_tag::entity_tag,
        finish::{partial, settle::announce},
        invocation::Invocation,
        read::{
            session_reader::{SessionReader, WithWarnings},
            sessions::TurnsPage,
        },
        usage_hold,
        write::{self, Tried, WriteOutcome},
    },
    ports::{Clock, FinalizeQueue, OrgSettingsReads, PayloadReads, QueueDeps, Reads},
    refusal::Refusal,
};

/// The state that a session must have for a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RequiredState {
    /// Any state.
    #[default]
    Any,
    /// This revision.
    Revision(u64),
    /// The state that the change leads to, so that a repeated request succeeds.
    Target,
}

impl RequiredState {
    /// Requires that a change may be made to this session.
    fn ensure(self, session: &Session) -> Result<(), Refusal> {
        match self {
            Self::Revision(revision) if revision != session.rev => Err(Refusal::SessionChanged(None)),
            Self::Target => Err(Refusal::SessionChanged(None)),
            Self::Any | Self::Revision(_) => Ok(()),
        }
    }
}

/// A change that is decided on a session.
struct Change {
    /// The session as it was read.
    session: Session,
    commit: Commit,
    /// The session's open turn, if the change may end it.
    open: Option<Turn>,
    /// True if the session's entry in the index is out of date after it.
    renames: bool,
}

/// Edits, deletes, purges and restores sessions.
#[derive(Debug, Clone)]
pub struct SessionEditor<D> {
    pub(super) deps: D,
    sessions_are_indexed: bool,
    default_visibility: SessionVisibility,
    required: RequiredState,
}

impl<D: QueueDeps> SessionEditor<D> {
    /// Creates an editor over these dependencies, for a deployment with or without an index of sessions. Orgs whose
    /// settings leave the visibility of sessions open have the default one.
    #[must_use]
    pub fn new(deps: D, sessions_are_indexed: bool, default_visibility: SessionVisibility) -> Self {
        Self { deps, sessions_are_indexed, default_visibility, required: RequiredState::Any }
    }

    /// Returns an editor that refuses to change a session in another state than this.
    pub(super) fn requiring(&self, required: RequiredState) -> Self
    where
        D: Clone,
    {
        Self { required, ..self.clone() }
    }

    /// Edits a session. Everyone who sees it may change its name, description and category. Only its owner or an
    /// operator may change its visibility, and only an operator or an agent editor its pins.
    ///
    /// # Errors
    /// If this caller has no such session, doesn't own it, may not open it, or it was deleted or quarantined.
    pub async fn edit(&self, caller: &Caller, session: SessionId, edit: SessionEdit) -> Result<(), Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        let SessionEdit { name, description, category, visibility, .. } = edit;
        let (agent_version, conversation_version) =
            (edit.agent_context_version, edit.conversation_context_version);
        let edit = Edit { name, description, category, visibility, agent_version, conversation_version };
        let pins = agent_version.is_some() || conversation_version.is_some();
        let renames = edit.name.is_some() || edit.description.is_some();
        let action = pins.then_some("pin");
        let decide = || async {
            let session = self.session_for(caller, &key).await?;
            if let Some(visibility) = edit.visibility {
                ensure_administrator(caller, &session)?;
                self.ensure_may_show(caller, &session, visibility).await?;
            }
            if pins {
                access::require_context_editor(caller)?;
                self.ensure_versions(&session, &edit).await?;
            }
            let commit = session_edits::edit(&session, &edit, self.deps.host().now())?;
            Ok(commit.map(|commit| Change { session, commit, open: None, renames }))
        };
        self.change(caller, action, decide).await.map(drop)
    }

    /// Deletes a session and ends its open turn. The running attempt notices as it does a cancel: once this returns,
    /// it starts no further model call or tool effect. A deleted session stays as it is.
    ///
    /// # Errors
    /// If this caller has no such session, doesn't own it, or it is quarantined.
    pub async fn delete(
        &self,
        caller: &Caller,
        session: SessionId,
        invocation: &Invocation,
    ) -> Result<(), Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        let decide = || async {
            let session = self.administered_session(caller, &key).await?;
            let open = self.open_turn(&session).await?;
            let retention = self.retention(&session).await?;
            let (by, now, timing) = (&caller.user.id, self.deps.host().now(), self.deps.timing());
            let commit = session_edits::delete(&session, open.as_ref(), by, retention, now, timing)?;
            Ok(commit.map(|commit| Change { session, commit, open, renames: false }))
        };
        if let Some(done) = self.change(caller, Some("delete"), decide).await? {
            self.after_end(done.open.as_ref(), invocation).await;
        }
        Ok(())
    }

    /// Quarantines a session for an operator, and cancels its open turn as [`Self::delete`] does. Until its release
    /// it accepts no turns, results or changes. Reads go on. A quarantined session stays as it is.
    ///
    /// # Errors
    /// If the caller isn't an operator, has no such session, or it was deleted.
    pub async fn quarantine(
        &self,
        caller: &Caller,
        session: SessionId,
        invocation: &Invocation,
    ) -> Result<(), Refusal> {
        access::require_operator(caller)?;
        let key = SessionKey { org: caller.org.clone(), session };
        let decide = || async {
            let session = self.session_for(caller, &key).await?;
            let open = self.open_turn(&session).await?;
            let (by, now, timing) = (&caller.user.id, self.deps.host().now(), self.deps.timing());
            let commit = session_edits::quarantine(&session, open.as_ref(), by, now, timing)?;
            Ok(commit.map(|commit| Change { session, commit, open, renames: false }))
        };
        if let Some(done) = self.change(caller, Some("quarantine"), decide).await? {
            self.after_end(done.open.as_ref(), invocation).await;
        }
        Ok(())
    }

    /// Releases a session from its quarantine, for an operator. Any other session stays as it is.
    ///
    /// # Errors
    /// If the caller isn't an operator, or has no such session.
    pub async fn release(&self, caller: &Caller, session: SessionId) -> Result<(), Refusal> {
        access::require_operator(caller)?;
        let key = SessionKey { org: caller.org.clone(), session };
        let decide = || async {
            let session = self.session_for(caller, &key).await?;
            let commit = session_edits::release(&session, self.deps.host().now());
            Ok(commit.map(|commit| Change { session, commit, open: None, renames: false }))
        };
        self.change(caller, Some("release"), decide).await.map(drop)
    }

    /// Starts the purge of a session, deleted or not, and ends its open turn. The turn is finalized before its data is
    /// removed. A purge that has started continues.
    ///
    /// # Errors
    /// If this caller has no such session, doesn't own it, or it is quarantined.
    pub async fn request_purge(&self, caller: &Caller, session: SessionId) -> Result<(), Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        let decide = || async {
            let found = self.deps.store().session(&key).await?;
            if found.is_some_and(|found| found.is_purged() && found.is_administered_by(caller)) {
                return Ok(None);
            }
            let session = self.administered_session(caller, &key).await?;
            let open = self.open_turn(&session).await?;
            let (by, now, timing) = (&caller.user.id, self.deps.host().now(), self.deps.timing());
            let commit = purging::begin(&session, open.as_ref(), by, now, timing)?;
            Ok(commit.map(|commit| Change { session, commit, open, renames: false }))
        };
        let Some(done) = self.change(caller, Some("purge"), decide).await? else { return Ok(()) };
        let message = FinalizeMessage::SessionPurge { org: key.org.clone(), session: key.session.clone() };
        let announced = async {
            if let Err(error) = self.deps.queue().send(&message).await {
                // The sweep finds the session anyway; only latency is lost.
                tracing::warn!(error = %causes(&error), "{}", contracts::log::PURGE_NOTICE_FAILED);
            }
        };
        let ended = done.open.filter(|_| !done.commit.turns.is_empty());
        let noticed = OptionFuture::from(ended.as_ref().map(|turn| wait_until_noticed(&self.deps, turn)));
        join(announced, noticed).await;
        Ok(())
    }

    /// Restores a deleted session. Any other session stays as it is.
    ///
    /// # Errors
    /// If this caller has no such session, or doesn't own it.
    pub async fn restore(&self, caller: &Caller, session: SessionId) -> Result<(), Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        let decide = || async {
            let session = self.administered_session(caller, &key).await?;
            let commit = session_edits::restore(&session, self.deps.host().now());
            Ok(commit.map(|commit| Change { session, commit, open: None, renames: false }))
        };
        self.change(caller, Some("restore"), decide).await.map(drop)
    }

    /// Decides on a change and writes it, and audits it as this action. Returns the written change; none if there is
    /// nothing to change.
    async fn change<F>(
        &self,
        caller: &Caller,
        action: Option<&'static str>,
        decide: impl Fn() -> F,
    ) -> Result<Option<Change>, Refusal>
    where
        F: Future<Output = Result<Option<Change>, Refusal>>,
    {
        write::decide(self.deps.host(), || async {
            let Some(change) = decide().await? else { return Ok(Tried::Done(None)) };
            self.required.ensure(&change.session)?;
            let index_notified = async {
                if change.renames {
                    let key = &change.session.key;
                    notices::send_index_notice(&self.deps, self.sessions_are_indexed, key).await;
                }
            };
            let (written, ()) = join(self.write(&change), index_notified).await;
            if let WriteOutcome::Superseded(_) = written? {
                return Ok(Tried::Conflict);
            }
            if let Some(action) = action {
                access::audit_write(self.deps.store(), action, caller, &change.session).await;
            }
            Ok(Tried::Done(Some(change)))
        })
        .await
    }

    /// Writes a change. If it ends the open turn, with the work that the turn has left.
    async fn write(&self, Change { commit, open, .. }: &Change) -> Result<WriteOutcome, Refusal> {
        let Some(turn) = open.as_ref().filter(|_| !commit.turns.is_empty()) else {
            return Ok(write::commit(&self.deps, commit).await?);
        };
        let left = partial::find_work(self.deps.store(), self.deps.payloads(), turn).await;
        let with_work = |change: &TurnChange| change.clone().with_partial_work(left.clone());
        let turns: Vec<TurnChange> = commit.turns.iter().map(with_work).collect();
        let spent = turns.first().and_then(|change| change.after.spent.as_ref());
        usage_hold::hold_spent(&self.deps, turn, spent).await;
        Ok(write::commit(&self.deps, &Commit { turns, ..commit.clone() }).await?)
    }

    /// Announces the turn that a change has ended, and waits until its attempt notices. A turn that was settled before
    /// has its announcement already.
    async fn after_end(&self, open: Option<&Turn>, invocation: &Invocation) {
        let Some(turn) = open.filter(|turn| turn.settlement().is_none()) else { return };
        join(
            announce(&self.deps, turn, invocation.correlation.as_ref()),
            wait_until_noticed(&self.deps, turn),
        )
        .await;
    }

    /// Requires an operator to open a session of an org that keeps its sessions to their participants.
    async fn ensure_may_show(
        &self,
        caller: &Caller,
        session: &Session,
        visibility: Visibility,
    ) -> Result<(), Refusal> {
        if visibility != Visibility::Org || session.visibility == visibility || caller.operator {
            return Ok(());
        }
        let settings = self.deps.store().org_settings(&caller.org).await?;
        let of_org = settings.session_visibility.unwrap_or(self.default_visibility);
        of_org.may_open().then_some(()).ok_or_else(Refusal::visibility_restricted)
    }

    /// Requires the versions that a session is to be pinned to.
    async fn ensure_versions(&self, session: &Session, edit: &Edit) -> Result<(), Refusal> {
        let (store, org, contexts) = (self.deps.store(), &session.key.org, &session.contexts);
        if let Some(version) = edit.agent_version.filter(|version| *version > 0) {
            let found = match &contexts.agent {
                Some(id) => store.agent_version(org, id, version).await?.is_some(),
                None => false,
            };
            ensure_version(found, version)?;
        }
        if let Some(version) = edit.conversation_version.filter(|version| *version > 0) {
            let found = match &contexts.conversation {
                Some(id) => store.conversation_version(org, id, version).await?.is_some(),
                None => false,
            };
            ensure_version(found, version)?;
        }
        Ok(())
    }

    /// Returns how long this session is kept after deletion: as its context says, or its org's setting, or the
    /// default.
    async fn retention(&self, session: &Session) -> Result<Duration, Refusal> {
        let org = &session.key.org;
        let store = self.deps.store();
        let of_context = match (&session.contexts.conversation, session.contexts.pins.conversation) {
            (Some(id), Some(version)) => store.conversation_version(org, id, version).await?,
            (Some(id), None) => store.conversation_context(org, id).await?.map(|found| found.content),
            (None, _) => None,
        };
        if let Some(retention) = of_context.and_then(|context| context.retention()) {
            return Ok(retention);
        }
        let days = store.org_settings(org).await?.retention_days;
        let of_org = days.map(|days| Duration::from_secs(u64::from(days) * 24 * 60 * 60));
        Ok(of_org.unwrap_or(self.deps.timing().retention))
    }

    async fn session_for(&self, caller: &Caller, key: &SessionKey) -> Result<Session, Refusal> {
        let found = self.deps.store().session(key).await?;
        let is_visible = access::sees(self.deps.store(), caller, key, found.as_ref()).await?;
        found.filter(|_| is_visible).ok_or(Refusal::SessionNotFound)
    }

    async fn administered_session(&self, caller: &Caller, key: &SessionKey) -> Result<Session, Refusal> {
        let session = self.session_for(caller, key).await?;
        ensure_administrator(caller, &session)?;
        Ok(session)
    }

    async fn open_turn(&self, session: &Session) -> Result<Option<Turn>, Refusal> {
        match &session.open_turn {
            Some(open) => Ok(self.deps.store().turn(&session.key.turn(open.clone())).await?),
            None => Ok(None),
        }
    }
}

fn ensure_version(found: bool, version: u32) -> Result<(), Refusal> {
    if found { Ok(()) } else { Err(Refusal::context_version_not_found(version.to_string())) }
}

fn ensure_administrator(caller: &Caller, session: &Session) -> Result<(), Refusal> {
    if session.is_administered_by(caller) { Ok(()) } else { Err(Refusal::owner_required()) }
}

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
