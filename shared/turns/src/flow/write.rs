//! Conditional writes whose result is always known: a write with an unknown or lost result is followed by a read-back
//! (I11).

use std::time::Duration;

use protocol::{
    change::{Commit, SessionChange, TurnChange},
    id::TurnKey,
    transition::import::Reservation,
    turn::{State, Turn},
};

use crate::ports::{
    ArchiveItem, ArchiveStore, Deps, Random, Reads, Source, Store, Timer, Unavailable, WriteError,
};

/// The number of tries before the store counts as unavailable.
const MAX_TRIES: u32 = 6;

/// The outcome of a conditional write.
#[derive(Debug)]
pub(crate) enum WriteOutcome {
    /// The write was applied, according to the reply or the stored head.
    Applied,
    /// Another write won. Contains the stored head, if there is one.
    Superseded(Option<Box<Turn>>),
}

/// Writes a turn head.
pub(crate) async fn turn(deps: &impl Deps, change: &TurnChange) -> Result<WriteOutcome, Unavailable> {
    write_checked(deps, change, || deps.store().write_turn(change)).await
}

/// Writes a transaction. It is atomic, so its first turn is evidence for all of it.
pub(crate) async fn commit(deps: &impl Deps, commit: &Commit) -> Result<WriteOutcome, Unavailable> {
    match commit.turns.first() {
        Some(witness) => write_checked(deps, witness, || deps.store().commit(commit)).await,
        None => commit_session(deps, commit).await,
    }
}

/// Writes a transaction without turns; the stored session is the evidence. If it changed meanwhile, the caller
/// decides again from the new state.
async fn commit_session(deps: &impl Deps, commit: &Commit) -> Result<WriteOutcome, Unavailable> {
    let SessionChange { condition, after } = &commit.session;
    let mut last: Source = "contention".into();
    for tries in 0..MAX_TRIES {
        if tries > 0 {
            back_off(deps, tries).await;
        }
        match deps.store().commit(commit).await {
            Ok(()) => return Ok(WriteOutcome::Applied),
            Err(WriteError::Contended) => continue,
            Err(WriteError::ConditionFailed) => last = "a condition did not hold".into(),
            Err(WriteError::Unknown(source)) => last = source,
        }
        let stored = deps.store().session(&after.key).await?;
        if stored.as_ref() == Some(after) {
            return Ok(WriteOutcome::Applied);
        }
        if stored.map(|stored| stored.rev) != *condition {
            return Ok(WriteOutcome::Superseded(None));
        }
    }
    Err(unavailable(last))
}

/// Writes items of an import. Repeating a write is safe, so a lost reply needs no read-back.
pub(crate) async fn archive_items<D: Deps<Store: ArchiveStore>>(
    deps: &D,
    reservation: &Reservation,
    items: &[ArchiveItem],
) -> Result<WriteOutcome, Unavailable> {
    let mut last: Source = "contention".into();
    for tries in 0..MAX_TRIES {
        if tries > 0 {
            back_off(deps, tries).await;
        }
        match deps.store().put_archive_items(reservation, items).await {
            Ok(()) => return Ok(WriteOutcome::Applied),
            Err(WriteError::ConditionFailed) => return Ok(WriteOutcome::Superseded(None)),
            Err(WriteError::Contended) => {}
            Err(WriteError::Unknown(source)) => last = source,
        }
    }
    Err(unavailable(last))
}

async fn write_checked<F: Future<Output = Result<(), WriteError>>>(
    deps: &impl Deps,
    witness: &TurnChange,
    attempt: impl Fn() -> F,
) -> Result<WriteOutcome, Unavailable> {
    // Every finalization of a turn writes the same head. Without a lost reply of our own, another one wrote it, and counts.
    let is_terminal = matches!(witness.after.state, State::Finalized(_));
    let mut reply_lost = false;
    let mut last: Source = "contention".into();
    for tries in 0..MAX_TRIES {
        if tries > 0 {
            back_off(deps, tries).await;
        }
        match attempt().await {
            Ok(()) => return Ok(WriteOutcome::Applied),
            Err(WriteError::Contended) => continue,
            // A failed condition may be caused by an earlier try of our own whose reply was lost. The stored head
            // tells.
            Err(WriteError::ConditionFailed) => {
                let stored = read_back(deps, &witness.after.key).await?;
                return Ok(match stored {
                    Some(stored) if witness.was_applied(&stored) && (reply_lost || !is_terminal) => {
                        WriteOutcome::Applied
                    }
                    stored => WriteOutcome::Superseded(stored.map(Box::new)),
                });
            }
            Err(WriteError::Unknown(source)) => {
                reply_lost = true;
                last = source;
            }
        }
        let stored = read_back(deps, &witness.after.key).await?;
        match stored {
            Some(stored) if witness.was_applied(&stored) => return Ok(WriteOutcome::Applied),
            stored if !witness.condition.holds(stored.as_ref()) => {
                return Ok(WriteOutcome::Superseded(stored.map(Box::new)));
            }
            // Not applied yet, and the condition still holds, so the same write is safe to repeat.
            _ => {}
        }
    }
    Err(unavailable(last))
}

async fn read_back(deps: &impl Deps, key: &TurnKey) -> Result<Option<Turn>, Unavailable> {
    let mut tries = 0;
    loop {
        match deps.store().turn(key).await {
            Ok(turn) => return Ok(turn),
            Err(error) if tries + 1 == MAX_TRIES => return Err(error),
            Err(_) => tries += 1,
        }
        back_off(deps, tries).await;
    }
}

/// Sleeps with full jitter under a doubling cap: 50 ms, 100 ms, … 800 ms.
async fn back_off(deps: &impl Deps, tries: u32) {
    let cap = Duration::from_millis(25) * 2u32.saturating_pow(tries.min(MAX_TRIES));
    deps.host().sleep(deps.host().jitter(cap)).await;
}

fn unavailable(source: Source) -> Unavailable {
    Unavailable { what: "the table", source }
}
