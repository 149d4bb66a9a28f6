//! Reads a request body within its limits.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

use super::envelope::Refusal;

/// Reads a body of at most `limit` bytes within `timeout`.
///
/// A body that is too large is still read to its end and discarded. Otherwise a client that is still sending would
/// see a broken connection instead of the response.
pub(crate) async fn read(body: Body, limit: usize, timeout: Duration) -> Result<Bytes, Refusal> {
    let mut buffer = Some(BytesMut::new());
    let read = tokio::time::timeout(timeout, collect(body, limit, &mut buffer)).await;
    match (buffer, read) {
        (None, _) => Err(Refusal::PayloadTooLarge),
        (Some(buffer), Ok(Ok(()))) => Ok(buffer.freeze()),
        (Some(_), Ok(Err(_)) | Err(_)) => Err(Refusal::Incomplete),
    }
}

/// Reads to the end. The buffer is dropped once the limit is exceeded.
async fn collect(mut body: Body, limit: usize, buffer: &mut Option<BytesMut>) -> Result<(), axum::Error> {
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        if buffer.as_ref().is_some_and(|buffer| buffer.len() + data.len() > limit) {
            *buffer = None;
        }
        if let Some(buffer) = buffer {
            buffer.extend_from_slice(&data);
        }
    }
    Ok(())
}
