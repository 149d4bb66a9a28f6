//! Writes that end in knowledge: applied, or not and this is what stands (I11).

use std::time::Duration;

use crate::ports::{Store, Unavailable, World, WriteError};
use protocol::{
    change::{Commit, TurnChange},
    id::TurnKey,
    turn::Turn,
};

/// How often a write is tried before its store counts as unavailable.
const TRIES: u32 = 6;

/// What a conditional write came to.
#[derive(Debug)]
pub(crate) enum Written {
    /// It was applied: the reply said so, or the stored head shows it.
    Applied,
    /// It was not; this head stands instead.
    Stands(Option<Box<Turn>>),
}

/// Writes one head.
pub(crate) async fn turn(
    store: &impl Store,
    world: &impl World,
    change: &TurnChange,
) -> Result<Written, Unavailable> {
    write(store, world, change, || store.write_turn(change)).await
}

/// Writes one transaction. It is all or nothing, so its first turn tells for all of it.
pub(crate) async fn commit(
    store: &impl Store,
    world: &impl World,
    commit: &Commit,
) -> Result<Written, Unavailable> {
    match commit.turns.first() {
        Some(witness) => write(store, world, witness, || store.commit(commit)).await,
        None => {
            store.commit(commit).await.map(|()| Written::Applied).map_err(|error| unavailable(error.into()))
        }
    }
}

async fn write<F: Future<Output = Result<(), WriteError>>>(
    store: &impl Store,
    world: &impl World,
    witness: &TurnChange,
    attempt: impl Fn() -> F,
) -> Result<Written, Unavailable> {
    let mut last: crate::ports::Source = "contention".into();
    for tries in 0..TRIES {
        if tries > 0 {
            world.sleep(backoff(world, tries)).await;
        }
        match attempt().await {
            Ok(()) => return Ok(Written::Applied),
            Err(WriteError::Contended) => continue,
            // A lost condition may be our own earlier try whose reply went astray, so both are
            // settled by what is stored.
            Err(WriteError::Lost) => {
                let stored = read_back(store, world, &witness.after.key).await?;
                return Ok(match stored {
                    Some(stored) if witness.shows_in(&stored) => Written::Applied,
                    stored => Written::Stands(stored.map(Box::new)),
                });
            }
            Err(WriteError::Unknown(source)) => last = source,
        }
        let stored = read_back(store, world, &witness.after.key).await?;
        match stored {
            Some(stored) if witness.shows_in(&stored) => return Ok(Written::Applied),
            stored if !witness.given.holds(stored.as_ref()) => {
                return Ok(Written::Stands(stored.map(Box::new)));
            }
            // Not applied as yet, and the condition still holds: the same write again is safe.
            _ => {}
        }
    }
    Err(unavailable(last))
}

async fn read_back(
    store: &impl Store,
    world: &impl World,
    key: &TurnKey,
) -> Result<Option<Turn>, Unavailable> {
    let mut tries = 0;
    loop {
        match store.turn(key).await {
            Ok(turn) => return Ok(turn),
            Err(error) if tries + 1 == TRIES => return Err(error),
            Err(_) => tries += 1,
        }
        world.sleep(backoff(world, tries)).await;
    }
}

/// Full jitter under a doubling cap: 50 ms, 100 ms, … 1.6 s.
fn backoff(world: &impl World, tries: u32) -> Duration {
    world.jitter(Duration::from_millis(25) * 2u32.saturating_pow(tries.min(6)))
}

fn unavailable(source: crate::ports::Source) -> Unavailable {
    Unavailable { what: "the table", source }
}
