//! Bodies that record the state of their connection: a request's while the client has to send it, and a response's
//! until it is sent.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};

use super::connections::{Connection, RequestGuard};

/// A request's body, for which a reader may have to wait.
#[derive(Debug)]
pub(super) struct RequestBody {
    body: Incoming,
    connection: Arc<Connection>,
}

impl RequestBody {
    pub(super) fn new(body: Incoming, connection: Arc<Connection>) -> Self {
        Self { body, connection }
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        match &frame {
            Poll::Pending => self.connection.wait_for_sender(),
            Poll::Ready(Some(Ok(frame))) => {
                self.connection.client_sent(frame.data_ref().map_or(0, Bytes::len));
            }
            Poll::Ready(Some(Err(_)) | None) => self.connection.client_has_sent_all(),
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        self.connection.client_has_sent_all();
    }
}

/// A response's body, and the guard of its request.
#[derive(Debug)]
pub(super) struct ResponseBody {
    body: Body,
    _request: RequestGuard,
}

impl ResponseBody {
    pub(super) fn new(body: Body, request: RequestGuard) -> Self {
        Self { body, _request: request }
    }
}

impl HttpBody for ResponseBody {
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
