//! Imports exported sessions into an org that has none of their ids.
//!
//! All documents are parsed and validated before anything is written. Then, for each session, the import reserves the
//! id, writes objects and items under that reservation (rule 13), and publishes the session last. Until then no read
//! shows anything of it. The same import again resumes an interrupted one, or joins one that is under way.

use contracts::read::{ImportedSession, SessionExport, SessionImport};
use futures::future::{try_join, try_join_all};
use protocol::{
    Caller,
    change::Commit,
    transition::import::{self, Action, Reservation},
};

use crate::{
    flow::{
        access,
        admin::{
            document_check::{self, Fault},
            export_reader::{ExportReader, IdPolicy, id_map},
            notices::{self, SessionPolicy},
        },
        write::{self, Tried, WriteOutcome},
    },
    ports::{
        ARCHIVE_BATCH_SIZE, Archive, ArchivedSession, Deps, Host, Payloads, QueueDeps, Reads, Unavailable,
    },
    refusal::Refusal,
};

/// The number of objects to write concurrently.
const MAX_CONCURRENT_WRITES: usize = 8;

/// Imports the sessions of an export.
///
/// # Errors
/// If the caller isn't an operator, a document is incomplete or inconsistent, or another session has one of the
/// ids. Nothing is written then.
pub async fn import_sessions(
    deps: &impl QueueDeps<Store: Archive>,
    policy: SessionPolicy,
    caller: &Caller,
    exports: Vec<SessionExport>,
    ids: IdPolicy,
) -> Result<SessionImport, Refusal> {
    access::require_operator(caller)?;
    document_check::distinct_sessions(&exports)
        .map_err(|Fault { at, rule }| Refusal::invalid_export(&at, &rule))?;
    let id_map = id_map(caller, &exports, ids);
    let mut prepared = Vec::with_capacity(exports.len());
    for (number, export) in exports.into_iter().enumerate() {
        let read = ExportReader {
            store: deps.store(),
            payloads: deps.payloads(),
            id_map: &id_map,
            now: deps.host().now(),
        };
        let one = read.prepare(caller, export);
        prepared.push(
            one.map_err(|Fault { at, rule }| Refusal::invalid_export(&format!("[{number}].{at}"), &rule))?,
        );
    }
    let mut free = Vec::with_capacity(prepared.len());
    for one in &prepared {
        let step = next_step(deps, caller, &one.archived, false).await?;
        free.push(!matches!(step, NextStep::Finish));
    }
    let mut sessions = Vec::with_capacity(prepared.len());
    for (one, was_free) in prepared.into_iter().zip(free) {
        restore_to(deps, policy, caller, &one.archived, was_free).await?;
        sessions.push(ImportedSession {
            id: one.archived.session.key.session.clone(),
            exported_id: one.exported_id,
            turn_count: one.archived.session.turn_count,
        });
    }
    Ok(SessionImport { sessions })
}

/// Restores one validated session.
///
/// # Errors
/// If another session has its id, or a store can't be reached.
pub async fn restore_session(
    deps: &impl QueueDeps,
    policy: SessionPolicy,
    caller: &Caller,
    one: &ArchivedSession,
) -> Result<(), Refusal> {
    restore_to(deps, policy, caller, one, false).await
}

/// Restores a session. `was_free` is true if this import saw its id free before.
async fn restore_to(
    deps: &impl QueueDeps,
    policy: SessionPolicy,
    caller: &Caller,
    one: &ArchivedSession,
    was_free: bool,
) -> Result<(), Refusal> {
    write::decide_with(deps.host(), was_free, |mut was_free| async move {
        let tried = try_to_restore(deps, policy, caller, one, &mut was_free).await;
        (was_free, tried)
    })
    .await
}

async fn try_to_restore(
    deps: &impl QueueDeps,
    policy: SessionPolicy,
    caller: &Caller,
    one: &ArchivedSession,
    was_free: &mut bool,
) -> Result<Tried<()>, Refusal> {
    let reservation = match next_step(deps, caller, one, *was_free).await? {
        NextStep::Reserve(commit) => {
            *was_free = true;
            match write::commit(deps, &commit).await? {
                WriteOutcome::Applied => Reservation::of(&commit.session.after),
                WriteOutcome::Superseded(_) => return Ok(Tried::Conflict),
            }
        }
        NextStep::Continue(reservation) => {
            *was_free = true;
            reservation
        }
        NextStep::Finish => {
            if *was_free {
                announce(deps, policy, caller, one).await;
            }
            return Ok(Tried::Done(()));
        }
    };
    let written = write_contents(deps, &reservation, one).await?;
    let published = match written {
        WriteOutcome::Applied => {
            let publish = import::publish(&reservation, one.document(), deps.host().now());
            write::commit(deps, &publish).await?
        }
        superseded @ WriteOutcome::Superseded(_) => superseded,
    };
    // Otherwise an identical import was faster, or the reservation is being purged.
    if let WriteOutcome::Applied = published {
        announce(deps, policy, caller, one).await;
    }
    Ok(published.done(()))
}

/// Writes everything but the session. Objects are stored once, and items only while the reservation holds.
async fn write_contents(
    deps: &impl Deps,
    reservation: &Reservation,
    one: &ArchivedSession,
) -> Result<WriteOutcome, Unavailable> {
    let payloads = deps.payloads();
    for files in one.files.chunks(MAX_CONCURRENT_WRITES) {
        try_join_all(files.iter().map(|file| payloads.put_file(file))).await?;
    }
    for batch in one.items.chunks(ARCHIVE_BATCH_SIZE) {
        let written = write::archive_items(deps, reservation, batch).await?;
        if let WriteOutcome::Superseded(_) = written {
            return Ok(written);
        }
    }
    Ok(WriteOutcome::Applied)
}

async fn announce(deps: &impl QueueDeps, policy: SessionPolicy, caller: &Caller, one: &ArchivedSession) {
    access::audit_session("import", caller, &one.session.key.session);
    notices::send_index_notice(deps, policy, &one.session.key).await;
}

/// Decides on the next step of a session's import.
async fn next_step(
    deps: &impl Deps,
    caller: &Caller,
    one: &ArchivedSession,
    was_free: bool,
) -> Result<NextStep, Refusal> {
    let (store, key) = (deps.store(), &one.session.key);
    write::decide(deps.host(), || async {
        let (existing, purge) = try_join(store.session(key), store.purge(key)).await?;
        let (by, now) = (&caller.user.id, deps.host().now());
        match import::action(existing.as_ref(), purge.as_ref(), one.document(), was_free, by, now) {
            Action::Reserve(commit) => Ok(Tried::Done(NextStep::Reserve(commit))),
            Action::Continue(reservation) => Ok(Tried::Done(NextStep::Continue(reservation))),
            Action::AlreadyImported => Ok(Tried::Done(NextStep::Finish)),
            Action::Conflict => Err(Refusal::session_exists(&key.session)),
            Action::Wait => Err(Refusal::session_being_purged(&key.session)),
            Action::ReadAgain => Ok(Tried::Conflict),
        }
    })
    .await
}

/// The next step of a session's import.
enum NextStep {
    /// Reserve the id.
    Reserve(Box<Commit>),
    /// Write under this reservation.
    Continue(Reservation),
    /// Nothing: the session is imported.
    Finish,
}
