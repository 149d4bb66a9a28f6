//! A document that is written while it is read: a download, without the envelope.
//!
//! What fails on the way ends the connection, so that nobody takes a part for the whole.

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

/// A document of these pieces.
#[derive(Debug)]
pub struct Document<S> {
    /// What it consists of.
    pub pieces: S,
    /// Its media type.
    pub media_type: &'static str,
    /// What a file that holds it is called: letters, digits and `-._~`.
    pub name: String,
}

impl<S, E> IntoResponse for Document<S>
where
    S: Stream<Item = Result<Bytes, E>> + Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    fn into_response(self) -> Response {
        let pieces = self.pieces.inspect_err(|error| {
            tracing::error!(error = %causes(error), "a document was cut short");
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
