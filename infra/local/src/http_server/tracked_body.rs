//! A response body that keeps its connection busy until it is sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use super::connections::RequestGuard;

/// The body, and the guard of its request.
#[derive(Debug)]
pub(super) struct TrackedBody {
    body: Body,
    _request: RequestGuard,
}

impl TrackedBody {
    pub(super) fn new(body: Body, request: RequestGuard) -> Self {
        Self { body, _request: request }
    }
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
