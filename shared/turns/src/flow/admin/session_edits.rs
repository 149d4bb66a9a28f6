//! Edits, deletes, purges, restores, quarantines and releases sessions at a user's request (rule 12), also under a
//! precondition on their entity tag (RFC 9110 §13.1).

use std::time::Duration;

use contracts::{
    Fingerprint,
    error::causes,
    id::SessionId,
    read::{AgentSession, Visibility},
    request::SessionEdit,
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
            documents::Precondition,
            notices::{self, SessionPolicy, wait_until_noticed},
        },
        finish::{partial, settle::announce},
        invocation::Invocation,
        meter,
        read::{
            session_reader::{SessionReader, WithWarnings},
            sessions::TurnsPage,
        },
        write::{self, Tried, WriteOutcome},
    },
    ports::{Deps, FinalizeQueue, Host, PayloadReads, QueueDeps, Reads, Store, TypedDocuments},
    refusal::Refusal,
};

/// The state that a session must have for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequiredState {
    /// Any state.
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

/// An edit, a deletion or another operation on a session.
#[derive(Debug, Clone)]
pub enum SessionOperation<'a> {
    /// Edits it. Everyone who sees it may change its name, description and category. Only its owner or an operator may
    /// change its visibility, and only an operator or an agent editor its pins. Refused once it is deleted or
    /// quarantined.
    Edit(SessionEdit),
    /// Deletes it and ends its open turn. The running attempt notices as it does a cancel: once this returns, it starts
    /// no further model call or tool effect. A deleted session stays as it is. Refused while it is quarantined.
    Delete(&'a Invocation),
    /// Starts its purge, deleted or not, and ends its open turn. The turn is finalized before its data is removed. A
    /// purge that has started continues. Refused while it is quarantined.
    Purge,
    /// Restores a deleted session. Any other session stays as it is.
    Restore,
    /// Quarantines it for an operator, and cancels its open turn as a deletion does. Until its release it accepts no
    /// turns, results or changes. Reads go on. A quarantined session stays as it is.
    Quarantine(&'a Invocation),
    /// Releases it from its quarantine, for an operator. Any other session stays as it is.
    Release,
}

impl SessionOperation<'_> {
    /// Returns the name of the operation in the audit log. `None` if it isn't audited.
    fn audited_action(&self) -> Option<&'static str> {
        match self {
            Self::Edit(edit) => changes_pins(edit).then_some("pin"),
            Self::Delete(_) => Some("delete"),
            Self::Purge => Some("purge"),
            Self::Restore => Some("restore"),
            Self::Quarantine(_) => Some("quarantine"),
            Self::Release => Some("release"),
        }
    }
}

/// Changes a session.
///
/// # Errors
/// If this caller has no such session, may not change it so, or its state forbids the change.
pub async fn change_session(
    deps: &impl QueueDeps,
    policy: SessionPolicy,
    caller: &Caller,
    id: &SessionId,
    operation: &SessionOperation<'_>,
) -> Result<(), Refusal> {
    change_in(RequiredState::Any, deps, policy, caller, id, operation).await
}

/// Changes a session if its entity tag, as `reader` shows it to the caller, is as required. The write is conditional on
/// the revision that has the tag.
///
/// # Errors
/// Those of [`change_session`], and if the session isn't in the required state.
pub async fn change_session_if<R: Reads, P: PayloadReads>(
    deps: &impl QueueDeps,
    policy: SessionPolicy,
    reader: &SessionReader<R, P>,
    caller: &Caller,
    id: &SessionId,
    required: Precondition,
    operation: &SessionOperation<'_>,
) -> Result<(), Refusal> {
    // A change of a session that doesn't exist is refused in any case.
    if matches!(required, Precondition::None | Precondition::Present) {
        return change_session(deps, policy, caller, id, operation).await;
    }
    let key = SessionKey { org: caller.org.clone(), session: id.clone() };
    write::decide(deps.host(), || async {
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
        match change_in(state, deps, policy, caller, id, operation).await {
            Err(Refusal::SessionChanged(_)) if state == RequiredState::Target => {
                Err(Refusal::SessionChanged(tag))
            }
            Err(Refusal::SessionChanged(_)) => Ok(Tried::Conflict),
            result => result.map(Tried::Done),
        }
    })
    .await
}

/// A change that is decided on a session.
struct Change {
    /// The session as it was read.
    session: Session,
    commit: Commit,
    /// The session's open turn, if the change may end it.
    open: Option<Turn>,
}

/// Changes a session that is in the required state, audits the change, and announces what it ends.
async fn change_in(
    required: RequiredState,
    deps: &impl QueueDeps,
    policy: SessionPolicy,
    caller: &Caller,
    id: &SessionId,
    operation: &SessionOperation<'_>,
) -> Result<(), Refusal> {
    if let SessionOperation::Quarantine(_) | SessionOperation::Release = operation {
        access::require_operator(caller)?;
    }
    let key = SessionKey { org: caller.org.clone(), session: id.clone() };
    let is_renamed = matches!(operation, SessionOperation::Edit(edit) if edit.name.is_some() || edit.description.is_some());
    let changed = write::decide(deps.host(), || async {
        let Some(change) = decide(deps, policy, caller, &key, operation).await? else {
            return Ok(Tried::Done(None));
        };
        required.ensure(&change.session)?;
        let index_notified =
            OptionFuture::from(is_renamed.then(|| notices::send_index_notice(deps, policy, &key)));
        let (written, _) = join(write_change(deps, &change), index_notified).await;
        if let WriteOutcome::Superseded(_) = written? {
            return Ok(Tried::Conflict);
        }
        if let Some(action) = operation.audited_action() {
            access::audit_write(deps.store(), action, caller, &change.session).await;
        }
        Ok::<_, Refusal>(Tried::Done(Some(change)))
    });
    let Some(Change { commit, open, .. }) = changed.await? else { return Ok(()) };
    match operation {
        SessionOperation::Delete(invocation) | SessionOperation::Quarantine(invocation) => {
            // A turn that was settled before has its announcement already.
            if let Some(turn) = open.filter(|turn| turn.settlement().is_none()) {
                let announced = announce(deps, &turn, invocation.correlation.as_ref());
                join(announced, wait_until_noticed(deps, &turn)).await;
            }
        }
        SessionOperation::Purge => {
            let ended = open.filter(|_| !commit.turns.is_empty());
            let noticed = OptionFuture::from(ended.as_ref().map(|turn| wait_until_noticed(deps, turn)));
            join(announce_purge(deps, &key), noticed).await;
        }
        SessionOperation::Edit(_) | SessionOperation::Restore | SessionOperation::Release => {}
    }
    Ok(())
}

/// Decides on a change of the stored session. `None` if there is nothing to change.
async fn decide(
    deps: &impl QueueDeps,
    policy: SessionPolicy,
    caller: &Caller,
    key: &SessionKey,
    operation: &SessionOperation<'_>,
) -> Result<Option<Change>, Refusal> {
    let (store, by, timing) = (deps.store(), &caller.user.id, deps.timing());
    if let SessionOperation::Purge = operation {
        let found = store.session(key).await?;
        if found.is_some_and(|found| found.is_purged() && found.is_administered_by(caller)) {
            return Ok(None);
        }
    }
    let session = visible_session(store, caller, key).await?;
    if let SessionOperation::Delete(_) | SessionOperation::Purge | SessionOperation::Restore = operation {
        ensure_administrator(caller, &session)?;
    }
    let open = match operation {
        SessionOperation::Delete(_) | SessionOperation::Purge | SessionOperation::Quarantine(_) => {
            open_turn(store, &session).await?
        }
        SessionOperation::Edit(_) | SessionOperation::Restore | SessionOperation::Release => None,
    };
    let now = || deps.host().now();
    let commit = match operation {
        SessionOperation::Edit(edit) => {
            let edit = admitted_edit(store, policy, caller, &session, edit).await?;
            session_edits::edit(&session, &edit, now())?
        }
        SessionOperation::Delete(_) => {
            let retention = retention(deps, &session).await?;
            session_edits::delete(&session, open.as_ref(), by, retention, now(), timing)?
        }
        SessionOperation::Purge => purging::begin(&session, open.as_ref(), by, now(), timing)?,
        SessionOperation::Restore => session_edits::restore(&session, now()),
        SessionOperation::Quarantine(_) => {
            session_edits::quarantine(&session, open.as_ref(), by, now(), timing)?
        }
        SessionOperation::Release => session_edits::release(&session, now()),
    };
    Ok(commit.map(|commit| Change { session, commit, open }))
}

/// Returns the edit for the session, if the caller may make it.
async fn admitted_edit(
    store: &impl Store,
    policy: SessionPolicy,
    caller: &Caller,
    session: &Session,
    edit: &SessionEdit,
) -> Result<Edit, Refusal> {
    let has_pins = changes_pins(edit);
    let SessionEdit { name, description, category, visibility, .. } = edit.clone();
    let (agent_version, conversation_version) =
        (edit.agent_context_version, edit.conversation_context_version);
    let edit = Edit { name, description, category, visibility, agent_version, conversation_version };
    if let Some(visibility) = visibility {
        ensure_administrator(caller, session)?;
        ensure_may_show(store, policy, caller, session, visibility).await?;
    }
    if has_pins {
        access::require_context_editor(caller)?;
        ensure_versions(store, session, &edit).await?;
    }
    Ok(edit)
}

/// True if the edit pins the session to versions of its contexts, or removes its pins.
fn changes_pins(edit: &SessionEdit) -> bool {
    edit.agent_context_version.is_some() || edit.conversation_context_version.is_some()
}

/// Writes a change. If it ends the open turn, with the work that the turn has left.
async fn write_change(
    deps: &impl Deps,
    Change { commit, open, .. }: &Change,
) -> Result<WriteOutcome, Refusal> {
    let Some(turn) = open.as_ref().filter(|_| !commit.turns.is_empty()) else {
        return Ok(write::commit(deps, commit).await?);
    };
    let left = partial::find_work(deps.store(), deps.payloads(), turn).await;
    let with_work = |change: &TurnChange| change.clone().with_partial_work(left.clone());
    let turns: Vec<TurnChange> = commit.turns.iter().map(with_work).collect();
    let spent = turns.first().and_then(|change| change.after.spent.as_ref());
    meter::hold_spent(deps, turn, spent).await;
    Ok(write::commit(deps, &Commit { turns, ..commit.clone() }).await?)
}

/// Announces a purge that has begun.
async fn announce_purge(deps: &impl QueueDeps, key: &SessionKey) {
    let message = FinalizeMessage::SessionPurge { org: key.org.clone(), session: key.session.clone() };
    if let Err(error) = deps.queue().send(&message).await {
        // The sweep finds the session anyway; only latency is lost.
        tracing::warn!(error = %causes(&error), "{}", contracts::log::PURGE_NOTICE_FAILED);
    }
}

/// Requires an operator to open a session of an org that keeps its sessions to their participants.
async fn ensure_may_show(
    store: &impl Store,
    policy: SessionPolicy,
    caller: &Caller,
    session: &Session,
    visibility: Visibility,
) -> Result<(), Refusal> {
    if visibility != Visibility::Org || session.visibility == visibility || caller.operator {
        return Ok(());
    }
    let settings = store.org_settings(&caller.org).await?;
    let of_org = settings.session_visibility.unwrap_or(policy.default_visibility);
    of_org.may_open().then_some(()).ok_or_else(Refusal::visibility_restricted)
}

/// Requires the versions that a session is to be pinned to.
async fn ensure_versions(store: &impl Reads, session: &Session, edit: &Edit) -> Result<(), Refusal> {
    let (org, contexts) = (&session.key.org, &session.contexts);
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

/// Returns how long this session is kept after deletion: as its context says, or its org's setting, or the default.
async fn retention(deps: &impl Deps, session: &Session) -> Result<Duration, Refusal> {
    let (store, org) = (deps.store(), &session.key.org);
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
    Ok(of_org.unwrap_or(deps.timing().retention))
}

async fn visible_session(store: &impl Reads, caller: &Caller, key: &SessionKey) -> Result<Session, Refusal> {
    let found = store.session(key).await?;
    let is_visible = access::sees(store, caller, key, found.as_ref()).await?;
    found.filter(|_| is_visible).ok_or(Refusal::SessionNotFound)
}

async fn open_turn(store: &impl Reads, session: &Session) -> Result<Option<Turn>, Refusal> {
    match &session.open_turn {
        Some(open) => Ok(store.turn(&session.key.turn(open.clone())).await?),
        None => Ok(None),
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
    // Strings, numbers and lists always serialize.
    Fingerprint::hash_bytes(&serde_json::to_vec(&(result, warnings)).unwrap_or_default()).to_string()
}
