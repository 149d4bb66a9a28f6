//! Upkeep: sessions are edited, deleted and restored on a user's word (DD-002A, rule 12).

use std::time::Duration;

use contracts::{error::causes, id::SessionId, request::SessionEdit};
use futures::future::join;
use protocol::{
    Caller,
    announcement::FinalizeMessage,
    change::TurnChange,
    id::SessionKey,
    session::Session,
    transition::{
        purging,
        upkeep::{self, Edit},
    },
    turn::Turn,
};

use super::{
    access,
    executor::{Executor, Invocation},
    steps,
    write::{self, Written},
};
use crate::{
    ports::{AgentDeps, Clock, FinalizeQueue, Reads},
    refusal::Refusal,
};

/// How often a change of a session decides anew because somebody else changed it.
const ROUNDS: usize = 8;

impl<D: AgentDeps> Executor<D> {
    /// Edits a session. Whoever sees it may name and describe it; who sees it is its owner's to say.
    ///
    /// # Errors
    /// When there is no such session for this caller, it is not the caller's, or it was deleted.
    pub async fn edit(&self, caller: &Caller, session: SessionId, edit: SessionEdit) -> Result<(), Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        let edit = Edit { name: edit.name, description: edit.description, visibility: edit.visibility };
        for _ in 0..ROUNDS {
            let session = self.session_for(caller, &key).await?;
            if edit.visibility.is_some() {
                governed(caller, &session)?;
            }
            let commit = upkeep::edit(&session, &edit, self.deps.host().now());
            let Some(commit) = commit.map_err(|_| Refusal::SessionDeleted)? else { return Ok(()) };
            let renames = edit.name.is_some() || edit.description.is_some();
            let told = async {
                if renames {
                    self.tell_index(&key).await;
                }
            };
            if let Written::Applied = join(write::commit(&self.deps, &commit), told).await.0? {
                return Ok(());
            }
        }
        Err(Refusal::Contended)
    }

    /// Deletes a session, and ends its open turn. Whoever works on that learns of it as of a cancel: once this
    /// returns it begins nothing more. A session that was deleted stays as it is.
    ///
    /// # Errors
    /// When there is no such session for this caller, or it is not the caller's.
    pub async fn delete(
        &self,
        caller: &Caller,
        session: SessionId,
        invocation: &Invocation,
    ) -> Result<(), Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        for _ in 0..ROUNDS {
            let session = self.session_for(caller, &key).await?;
            governed(caller, &session)?;
            let open = self.open_turn(&session).await?;
            let retention = self.retention(&session).await?;
            let (now, timing) = (self.deps.host().now(), self.deps.timing());
            let deletion = upkeep::delete(&session, open.as_ref(), &caller.user.id, retention, now, timing);
            let Some(mut commit) = deletion else { return Ok(()) };
            let ended = open.filter(|_| !commit.turns.is_empty());
            if let Some(turn) = &ended {
                let left = steps::left(self.deps.store(), self.deps.payloads(), turn).await;
                let knowing = |change: TurnChange| change.knowing(left.clone());
                commit.turns = commit.turns.into_iter().map(knowing).collect();
            }
            if let Written::Applied = write::commit(&self.deps, &commit).await? {
                access::audit_write(self.deps.store(), "delete", caller, &session).await;
                if let Some(turn) = ended {
                    join(self.announce(&turn, invocation.correlation.as_ref()), self.unseen(&turn)).await;
                }
                return Ok(());
            }
        }
        Err(Refusal::Contended)
    }

    /// Begins the purge of a session, deleted before or not, and ends its open turn. One that began before goes on.
    ///
    /// # Errors
    /// When there is no such session for this caller, or it is not the caller's.
    pub async fn order_purge(&self, caller: &Caller, session: SessionId) -> Result<(), Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        let message = FinalizeMessage::SessionPurge { org: key.org.clone(), session: key.session.clone() };
        for _ in 0..ROUNDS {
            let found = self.deps.store().session(&key).await?;
            if found.is_some_and(|found| found.is_purged() && found.is_governed_by(caller)) {
                return Ok(());
            }
            let session = self.session_for(caller, &key).await?;
            governed(caller, &session)?;
            let open = self.open_turn(&session).await?;
            let (now, timing) = (self.deps.host().now(), self.deps.timing());
            let begun = purging::begin(&session, open.as_ref(), &caller.user.id, now, timing);
            let Some(commit) = begun else { continue };
            if let Written::Applied = write::commit(&self.deps, &commit).await? {
                access::audit_write(self.deps.store(), "purge", caller, &session).await;
                let told = async {
                    if let Err(error) = self.deps.queue().send(&message).await {
                        // The sweep finds the session all the same; only latency is lost.
                        tracing::warn!(error = %causes(&error), "the purge could not be announced");
                    }
                };
                let ended = open.filter(|_| !commit.turns.is_empty());
                join(told, async {
                    if let Some(turn) = &ended {
                        self.unseen(turn).await;
                    }
                })
                .await;
                return Ok(());
            }
        }
        Err(Refusal::Contended)
    }

    /// Takes the deletion of a session back. One that was not deleted stays as it is.
    ///
    /// # Errors
    /// When there is no such session for this caller, or it is not the caller's.
    pub async fn restore(&self, caller: &Caller, session: SessionId) -> Result<(), Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        for _ in 0..ROUNDS {
            let session = self.session_for(caller, &key).await?;
            governed(caller, &session)?;
            let Some(commit) = upkeep::restore(&session, self.deps.host().now()) else { return Ok(()) };
            if let Written::Applied = write::commit(&self.deps, &commit).await? {
                access::audit_write(self.deps.store(), "restore", caller, &session).await;
                return Ok(());
            }
        }
        Err(Refusal::Contended)
    }

    /// How long this session is kept once it is deleted: as its context says, else as is said of its org, else as
    /// everywhere.
    async fn retention(&self, session: &Session) -> Result<Duration, Refusal> {
        let org = &session.key.org;
        let of_context = match &session.contexts.conversation {
            Some(id) => self.deps.store().conversation_context(org, id).await?,
            None => None,
        };
        let of_context = of_context.and_then(|context| context.retention());
        let of_org = self.deps.config().retention_of_orgs.get(org).copied();
        Ok(of_context.or(of_org).unwrap_or(self.deps.timing().retention))
    }

    async fn session_for(&self, caller: &Caller, key: &SessionKey) -> Result<Session, Refusal> {
        let session = self.deps.store().session(key).await?.ok_or(Refusal::SessionNotFound)?;
        let seen = access::sees(self.deps.store(), caller, &session).await?;
        if seen { Ok(session) } else { Err(Refusal::SessionNotFound) }
    }

    async fn open_turn(&self, session: &Session) -> Result<Option<Turn>, Refusal> {
        match &session.open_turn {
            Some(open) => Ok(self.deps.store().turn(&session.key.turn(open.clone())).await?),
            None => Ok(None),
        }
    }
}

fn governed(caller: &Caller, session: &Session) -> Result<(), Refusal> {
    if session.is_governed_by(caller) { Ok(()) } else { Err(Refusal::NotTheOwner) }
}
