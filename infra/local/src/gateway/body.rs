//! Reading a request body within its limits.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

use super::envelope::Refusal;

/// The whole body, of at most `limit` bytes, within `patience`.
///
/// A body that is too large is read all the same, and forgotten: a client that is still sending would see a
/// broken connection instead of the answer.
pub(crate) async fn read(body: Body, limit: usize, patience: Duration) -> Result<Bytes, Refusal> {
    let mut kept = Some(BytesMut::new());
    let read = tokio::time::timeout(patience, collect(body, limit, &mut kept)).await;
    match (kept, read) {
        (None, _) => Err(Refusal::PayloadTooLarge),
        (Some(kept), Ok(Ok(()))) => Ok(kept.freeze()),
        (Some(_), Ok(Err(_)) | Err(_)) => Err(Refusal::Incomplete),
    }
}

/// Reads to the end; nothing is kept of what is too large.
async fn collect(mut body: Body, limit: usize, kept: &mut Option<BytesMut>) -> Result<(), axum::Error> {
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        if kept.as_ref().is_some_and(|kept| kept.len() + data.len() > limit) {
            *kept = None;
        }
        if let Some(kept) = kept {
            kept.extend_from_slice(&data);
        }
    }
    Ok(())
}
