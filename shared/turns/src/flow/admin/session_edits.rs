//! Edits, deletes, purges and restores sessions at a user's request (rule 12).

use std::{collections::BTreeMap, time::Duration};

use contracts::{
    error::causes,
    id::{OrgId, SessionId},
    request::SessionEdit,
};
use futures::future::join;
use protocol::{
    Caller,
    change::TurnChange,
    id::SessionKey,
    queue_message::FinalizeMessage,
    session::Session,
    transition::{
        purging,
        session_edits::{self, Edit},
    },
    turn::Turn,
};

use crate::flow::{
    access,
    admin::{index_notice, ownership_wait::wait_until_noticed},
    finish::{announcement::announce, partial_work},
    invocation::Invocation,
    write::{self, WriteOutcome},
};
use crate::{
    ports::{Clock, FinalizeQueue, QueueDeps, Reads},
    refusal::Refusal,
};

/// The most times a change decides again because the session changed meanwhile.
const MAX_TRIES: usize = 8;

/// The deployment's settings that concern changes of sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionPolicy {
    /// The retention of deleted sessions by org, in place of the default.
    pub retention_overrides: BTreeMap<OrgId, Duration>,
    /// True if the deployment has an index of sessions.
    pub sessions_are_indexed: bool,
}

/// Edits, deletes, purges and restores sessions.
#[derive(Debug, Clone)]
pub struct SessionEditor<D> {
    deps: D,
    policy: SessionPolicy,
}

impl<D: QueueDeps> SessionEditor<D> {
    /// Creates an editor over these dependencies.
    #[must_use]
    pub fn new(deps: D, policy: SessionPolicy) -> Self {
        Self { deps, policy }
    }

    /// Edits a session. Everyone who sees it may change its name, description and category. Only its owner or an
    /// operator may change its visibility.
    ///
    /// # Errors
    /// If this caller has no such session, doesn't own it, or it was deleted.
    pub async fn edit(&self, caller: &Caller, session: SessionId, edit: SessionEdit) -> Result<(), Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        let SessionEdit { name, description, category, visibility, .. } = edit;
        let edit = Edit { name, description, category, visibility };
        for _ in 0..MAX_TRIES {
            let session = self.session_for(caller, &key).await?;
            if edit.visibility.is_some() {
                ensure_administrator(caller, &session)?;
            }
            let commit = session_edits::edit(&session, &edit, self.deps.host().now());
            let Some(commit) = commit.map_err(|_| Refusal::SessionDeleted)? else { return Ok(()) };
            let renames = edit.name.is_some() || edit.description.is_some();
            let index_notified = async {
                if renames {
                    index_notice::send(&self.deps, self.policy.sessions_are_indexed, &key).await;
                }
            };
            if let WriteOutcome::Applied = join(write::commit(&self.deps, &commit), index_notified).await.0? {
                return Ok(());
            }
        }
        Err(Refusal::Contended)
    }

    /// Deletes a session and ends its open turn. The running attempt notices as it does a cancel: once this returns,
    /// it starts no further model call or tool effect. A deleted session stays as it is.
    ///
    /// # Errors
    /// If this caller has no such session, or doesn't own it.
    pub async fn delete(
        &self,
        caller: &Caller,
        session: SessionId,
        invocation: &Invocation,
    ) -> Result<(), Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        for _ in 0..MAX_TRIES {
            let session = self.session_for(caller, &key).await?;
            ensure_administrator(caller, &session)?;
            let open = self.open_turn(&session).await?;
            let retention = self.retention(&session).await?;
            let (now, timing) = (self.deps.host().now(), self.deps.timing());
            let deletion =
                session_edits::delete(&session, open.as_ref(), &caller.user.id, retention, now, timing);
            let Some(mut commit) = deletion else { return Ok(()) };
            let ended = open.filter(|_| !commit.turns.is_empty());
            if let Some(turn) = &ended {
                let left = partial_work::find(self.deps.store(), self.deps.payloads(), turn).await;
                let with_work = |change: TurnChange| change.with_partial_work(left.clone());
                commit.turns = commit.turns.into_iter().map(with_work).collect();
            }
            if let WriteOutcome::Applied = write::commit(&self.deps, &commit).await? {
                access::audit_write(self.deps.store(), "delete", caller, &session).await;
                if let Some(turn) = ended {
                    join(
                        announce(&self.deps, &turn, invocation.correlation.as_ref()),
                        wait_until_noticed(&self.deps, &turn),
                    )
                    .await;
                }
                return Ok(());
            }
        }
        Err(Refusal::Contended)
    }

    /// Starts the purge of a session, deleted or not, and ends its open turn. A purge that has started continues.
    ///
    /// # Errors
    /// If this caller has no such session, or doesn't own it.
    pub async fn request_purge(&self, caller: &Caller, session: SessionId) -> Result<(), Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        let message = FinalizeMessage::SessionPurge { org: key.org.clone(), session: key.session.clone() };
        for _ in 0..MAX_TRIES {
            let found = self.deps.store().session(&key).await?;
            if found.is_some_and(|found| found.is_purged() && found.is_administered_by(caller)) {
                return Ok(());
            }
            let session = self.session_for(caller, &key).await?;
            ensure_administrator(caller, &session)?;
            let open = self.open_turn(&session).await?;
            let (now, timing) = (self.deps.host().now(), self.deps.timing());
            let commit = purging::begin(&session, open.as_ref(), &caller.user.id, now, timing);
            let Some(commit) = commit else { continue };
            if let WriteOutcome::Applied = write::commit(&self.deps, &commit).await? {
                access::audit_write(self.deps.store(), "purge", caller, &session).await;
                let announced = async {
                    if let Err(error) = self.deps.queue().send(&message).await {
                        // The sweep finds the session anyway; only latency is lost.
                        tracing::warn!(error = %causes(&error), "{}", contracts::log::PURGE_NOTICE_FAILED);
                    }
                };
                let ended = open.filter(|_| !commit.turns.is_empty());
                join(announced, async {
                    if let Some(turn) = &ended {
                        wait_until_noticed(&self.deps, turn).await;
                    }
                })
                .await;
                return Ok(());
            }
        }
        Err(Refusal::Contended)
    }

    /// Restores a deleted session. Any other session stays as it is.
    ///
    /// # Errors
    /// If this caller has no such session, or doesn't own it.
    pub async fn restore(&self, caller: &Caller, session: SessionId) -> Result<(), Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        for _ in 0..MAX_TRIES {
            let session = self.session_for(caller, &key).await?;
            ensure_administrator(caller, &session)?;
            let Some(commit) = session_edits::restore(&session, self.deps.host().now()) else {
                return Ok(());
            };
            if let WriteOutcome::Applied = write::commit(&self.deps, &commit).await? {
                access::audit_write(self.deps.store(), "restore", caller, &session).await;
                return Ok(());
            }
        }
        Err(Refusal::Contended)
    }

    /// Returns how long this session is kept after deletion: as its context says, or its org's setting, or the
    /// default.
    async fn retention(&self, session: &Session) -> Result<Duration, Refusal> {
        let org = &session.key.org;
        let of_context = match &session.contexts.conversation {
            Some(id) => self.deps.store().conversation_context(org, id).await?,
            None => None,
        };
        let of_context = of_context.and_then(|context| context.retention());
        let of_org = self.policy.retention_overrides.get(org).copied();
        Ok(of_context.or(of_org).unwrap_or(self.deps.timing().retention))
    }

    async fn session_for(&self, caller: &Caller, key: &SessionKey) -> Result<Session, Refusal> {
        let session = self.deps.store().session(key).await?.ok_or(Refusal::SessionNotFound)?;
        let is_visible = access::can_see(self.deps.store(), caller, &session).await?;
        if is_visible { Ok(session) } else { Err(Refusal::SessionNotFound) }
    }

    async fn open_turn(&self, session: &Session) -> Result<Option<Turn>, Refusal> {
        match &session.open_turn {
            Some(open) => Ok(self.deps.store().turn(&session.key.turn(open.clone())).await?),
            None => Ok(None),
        }
    }
}

fn ensure_administrator(caller: &Caller, session: &Session) -> Result<(), Refusal> {
    if session.is_administered_by(caller) { Ok(()) } else { Err(Refusal::OwnerRequired) }
}
