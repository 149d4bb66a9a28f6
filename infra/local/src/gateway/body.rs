//! Reading a request body within its limits.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

use super::envelope::Refusal;

/// How much of a body that is too large is still read, so that the client sees the answer instead of
/// a broken connection.
const MAX_DISCARDED_BYTES: usize = 64 * 1024 * 1024;

/// The whole body, of at most `limit` bytes, within `patience`.
pub(crate) async fn read(body: Body, limit: usize, patience: Duration) -> Result<Bytes, Refusal> {
    match tokio::time::timeout(patience, collect(body, limit)).await {
        Ok(read) => read,
        Err(_) => Err(Refusal::Incomplete),
    }
}

async fn collect(mut body: Body, limit: usize) -> Result<Bytes, Refusal> {
    let mut kept = BytesMut::new();
    let mut seen = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::Incomplete)?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        seen += data.len();
        if seen <= limit {
            kept.extend_from_slice(&data);
        } else if seen > MAX_DISCARDED_BYTES {
            break;
        }
    }
    if seen > limit {
        return Err(Refusal::PayloadTooLarge);
    }
    Ok(kept.freeze())
}
