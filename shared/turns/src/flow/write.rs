//! Writes that end in knowledge: applied, or not and this is what stands (I11).

use std::time::Duration;

use protocol::{
    change::{Commit, SessionChange, TurnChange},
    id::TurnKey,
    turn::Turn,
};

use crate::ports::{Deps, Random, Reads, Source, Store, Timer, Unavailable, WriteError};

/// How often a write is tried before its store counts as unavailable.
const TRIES: u32 = 6;

/// What a conditional write came to.
#[derive(Debug)]
pub(crate) enum Written {
    /// It was applied: the reply said so, or the stored head shows it.
    Applied,
    /// It was not; this head stands instead, where there is one to tell.
    Stands(Option<Box<Turn>>),
}

/// Writes one head.
pub(crate) async fn turn(deps: &impl Deps, change: &TurnChange) -> Result<Written, Unavailable> {
    write(deps, change, || deps.store().write_turn(change)).await
}

/// Writes one transaction. It is all or nothing, so its first turn tells for all of it.
pub(crate) async fn commit(deps: &impl Deps, commit: &Commit) -> Result<Written, Unavailable> {
    match commit.turns.first() {
        Some(witness) => write(deps, witness, || deps.store().commit(commit)).await,
        None => session(deps, commit).await,
    }
}

/// A transaction on a session alone: what is stored of the session tells. Where somebody changed it since, whoever
/// asks decides anew, and finds what is to be found.
async fn session(deps: &impl Deps, commit: &Commit) -> Result<Written, Unavailable> {
    let SessionChange { condition, after } = &commit.session;
    let mut last: Source = "contention".into();
    for tries in 0..TRIES {
        if tries > 0 {
            back_off(deps, tries).await;
        }
        match deps.store().commit(commit).await {
            Ok(()) => return Ok(Written::Applied),
            Err(WriteError::Contended) => continue,
            Err(WriteError::Lost) => last = "a condition did not hold".into(),
            Err(WriteError::Unknown(source)) => last = source,
        }
        let stored = deps.store().session(&after.key).await?;
        if stored.as_ref() == Some(after) {
            return Ok(Written::Applied);
        }
        if stored.map(|stored| stored.rev) != *condition {
            return Ok(Written::Stands(None));
        }
    }
    Err(unavailable(last))
}

async fn write<F: Future<Output = Result<(), WriteError>>>(
    deps: &impl Deps,
    witness: &TurnChange,
    attempt: impl Fn() -> F,
) -> Result<Written, Unavailable> {
    let mut last: Source = "contention".into();
    for tries in 0..TRIES {
        if tries > 0 {
            back_off(deps, tries).await;
        }
        match attempt().await {
            Ok(()) => return Ok(Written::Applied),
            Err(WriteError::Contended) => continue,
            // A lost condition may be our own earlier try whose reply went astray, so both are
            // settled by what is stored.
            Err(WriteError::Lost) => {
                let stored = read_back(deps, &witness.after.key).await?;
                return Ok(match stored {
                    Some(stored) if witness.shows_in(&stored) => Written::Applied,
                    stored => Written::Stands(stored.map(Box::new)),
                });
            }
            Err(WriteError::Unknown(source)) => last = source,
        }
        let stored = read_back(deps, &witness.after.key).await?;
        match stored {
            Some(stored) if witness.shows_in(&stored) => return Ok(Written::Applied),
            stored if !witness.condition.holds(stored.as_ref()) => {
                return Ok(Written::Stands(stored.map(Box::new)));
            }
            // Not applied as yet, and the condition still holds: the same write again is safe.
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
            Err(error) if tries + 1 == TRIES => return Err(error),
            Err(_) => tries += 1,
        }
        back_off(deps, tries).await;
    }
}

/// Full jitter under a doubling cap: 50 ms, 100 ms, … 800 ms.
async fn back_off(deps: &impl Deps, tries: u32) {
    let cap = Duration::from_millis(25) * 2u32.saturating_pow(tries.min(TRIES));
    deps.host().sleep(deps.host().jitter(cap)).await;
}

fn unavailable(source: Source) -> Unavailable {
    Unavailable { what: "the table", source }
}
