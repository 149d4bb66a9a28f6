//! Imports exported sessions into an org that has none of their ids.
//!
//! All documents are parsed and validated before anything is written. Then, for each session, the import reserves the
//! id, writes the objects and items, and publishes the session last. Until then no read shows anything of it. The
//! same import again resumes an interrupted one.

use contracts::read::{ImportedSession, SessionExport, SessionImport};
use futures::{StreamExt, TryStreamExt, future::try_join, stream};
use protocol::{
    Caller,
    change::Commit,
    session::Session,
    transition::import::{self, Action},
};

use crate::flow::{
    access,
    admin::{
        export_reader::{ExportReader, Fault, IdPolicy, id_map},
        index_notice,
    },
    write::{self, WriteOutcome},
};
use crate::{
    ports::{
        Archive, ArchiveStore, ArchivedSession, Clock, Deps, PayloadArchive, Payloads, QueueDeps, Reads,
    },
    refusal::Refusal,
};

/// The most times an import decides again because the session changed meanwhile.
const MAX_TRIES: usize = 8;

/// The number of objects or items to write concurrently.
const MAX_CONCURRENT_WRITES: usize = 8;

/// Imports sessions.
#[derive(Debug, Clone)]
pub struct Importer<D> {
    deps: D,
    sessions_are_indexed: bool,
}

impl<D: QueueDeps + Deps<Store: ArchiveStore>> Importer<D> {
    /// Creates an importer over these dependencies, for a deployment with or without an index of sessions.
    #[must_use]
    pub fn new(deps: D, sessions_are_indexed: bool) -> Self {
        Self { deps, sessions_are_indexed }
    }

    /// Restores one validated session.
    ///
    /// # Errors
    /// If another session has its id, or a store can't be reached.
    pub async fn restore(&self, caller: &Caller, one: &ArchivedSession) -> Result<(), Refusal> {
        for _ in 0..MAX_TRIES {
            let Some(reserve) = self.reservation(caller, &one.session).await? else { return Ok(()) };
            if !matches!(write::commit(&self.deps, &reserve).await?, WriteOutcome::Applied) {
                continue;
            }
            let payloads = self.deps.payloads();
            let files = one.files.iter().cloned();
            let files = files.map(|file| async move { payloads.put_file(&file).await });
            stream::iter(files).buffer_unordered(MAX_CONCURRENT_WRITES).try_collect::<Vec<()>>().await?;
            let store = self.deps.store();
            let parts = one.items.iter().cloned();
            let parts = parts.map(|part| async move { store.put_archive_item(&part).await });
            stream::iter(parts).buffer_unordered(MAX_CONCURRENT_WRITES).try_collect::<Vec<()>>().await?;
            let publish = import::publish(&reserve.session.after, &one.session, self.deps.host().now());
            if let WriteOutcome::Applied = write::commit(&self.deps, &publish).await? {
                access::audit_session("import", caller, &one.session.key.session);
                index_notice::send(&self.deps, self.sessions_are_indexed, &one.session.key).await;
                return Ok(());
            }
        }
        Err(Refusal::Contended)
    }

    /// Returns the commit that reserves the session's id; none if the session is imported already.
    async fn reservation(&self, caller: &Caller, session: &Session) -> Result<Option<Commit>, Refusal> {
        let store = self.deps.store();
        let (existing, purge) = try_join(store.session(&session.key), store.purge(&session.key)).await?;
        let now = self.deps.host().now();
        match import::action(existing.as_ref(), purge.as_ref(), session, &caller.user.id, now) {
            Action::Reserve(commit) => Ok(Some(*commit)),
            Action::AlreadyImported => Ok(None),
            Action::Conflict => Err(Refusal::SessionExists(session.key.session.clone())),
            Action::Wait => Err(Refusal::SessionBeingPurged(session.key.session.clone())),
        }
    }
}

impl<D: QueueDeps + Deps<Store: ArchiveStore + Archive, Payloads: PayloadArchive>> Importer<D> {
    /// Imports the sessions of an export.
    ///
    /// # Errors
    /// If the caller isn't an operator, a document is incomplete or inconsistent, or another session has one of the
    /// ids. Nothing is written then.
    pub async fn import(
        &self,
        caller: &Caller,
        exports: Vec<SessionExport>,
        ids: IdPolicy,
    ) -> Result<SessionImport, Refusal> {
        access::require_operator(caller)?;
        let id_map = id_map(caller, &exports, ids);
        let mut prepared = Vec::with_capacity(exports.len());
        for (number, export) in exports.into_iter().enumerate() {
            let read =
                ExportReader { store: self.deps.store(), payloads: self.deps.payloads(), id_map: &id_map };
            let one = read.prepare(caller, export);
            prepared.push(one.map_err(|Fault { at, rule }| Refusal::InvalidExport {
                at: format!("[{number}].{at}"),
                rule,
            })?);
        }
        for one in &prepared {
            self.reservation(caller, &one.archived.session).await?;
        }
        let mut sessions = Vec::with_capacity(prepared.len());
        for one in prepared {
            self.restore(caller, &one.archived).await?;
            sessions.push(ImportedSession {
                id: one.archived.session.key.session.clone(),
                exported_id: one.exported_id,
                turn_count: one.archived.session.turn_count,
            });
        }
        Ok(SessionImport { sessions })
    }
}
