//! Streams a document for download, without the `InvokeResult` envelope.
//!
//! An error on the way aborts the connection, so that the client doesn't mistake a part for the whole document.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use contracts::error::causes;
use futures::{Stream, TryStreamExt};
use http::{
    HeaderValue,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE},
};

/// A document for download.
#[derive(Debug)]
pub struct Download<S> {
    /// The chunks of its body.
    pub pieces: S,
    /// Its media type.
    pub media_type: &'static str,
    /// The file name to suggest: letters, digits and `-._~`.
    pub name: String,
}

impl<S, E> IntoResponse for Download<S>
where
    S: Stream<Item = Result<Bytes, E>> + Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    fn into_response(self) -> Response {
        let pieces = self.pieces.inspect_err(|error| {
            tracing::error!(error = %causes(error), "{}", contracts::log::DOWNLOAD_TRUNCATED);
        });
        let mut response = Response::new(Body::from_stream(pieces));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        if let Ok(name) = HeaderValue::try_from(format!("attachment; filename=\"{}\"", self.name)) {
            headers.insert(CONTENT_DISPOSITION, name);
        }
        response
    }
}
