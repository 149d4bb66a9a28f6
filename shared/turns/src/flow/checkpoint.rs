//! Keeping a stream durable while an attempt works, and reading what another one kept.

use std::convert::Infallible;

use crate::{
    ports::{Store, Unavailable, World},
    stream::{CHECKPOINT_EVERY, Live},
};
use protocol::id::TurnKey;

/// Writes a checkpoint a second while the model writes. One that can't be written is part of the next.
pub(crate) async fn keep(store: &impl Store, world: &impl World, turn: &TurnKey, live: &Live) -> Infallible {
    if !live.is_streamed() {
        return std::future::pending().await;
    }
    let mut saved = None;
    loop {
        world.sleep(CHECKPOINT_EVERY).await;
        let Some(checkpoint) = live.checkpoint(turn, saved, world.now()) else {
            continue;
        };
        match store.put_checkpoint(&checkpoint).await {
            Ok(()) => saved = Some(checkpoint.ends),
            Err(error) => tracing::warn!(%error, source = %error.source, "a checkpoint could not be stored"),
        }
    }
}

/// Hands on what another attempt kept since it was last looked at.
pub(crate) async fn relay(store: &impl Store, turn: &TurnKey, live: &Live) -> Result<(), Unavailable> {
    if !live.is_streamed() {
        return Ok(());
    }
    for checkpoint in store.checkpoints(turn, live.read_up_to()).await? {
        live.relay(&checkpoint);
    }
    Ok(())
}
