//! A body that leaves once, after the sender has confirmed it.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::oneshot;

/// The sender's end of a gate.
pub(crate) struct Gate {
    /// Resolves when the connection is ready for the body, and fails when the body is gone.
    pub(crate) asked: oneshot::Receiver<()>,
    /// Lets the body leave. Dropping it closes the gate for good.
    pub(crate) permit: oneshot::Sender<()>,
}

/// A request body behind a gate. It can't be cloned, so no layer below can send it again.
pub(crate) struct GatedBody(State);

enum State {
    Waiting { bytes: Bytes, ask: Option<oneshot::Sender<()>>, permit: oneshot::Receiver<()> },
    Spent,
}

/// The gate was closed, or dropped together with the call.
#[derive(Debug, thiserror::Error)]
#[error("the sender took the request back")]
pub(crate) struct Closed;

/// Returns a gate and the body behind it.
pub(crate) fn gated(bytes: Bytes) -> (Gate, GatedBody) {
    let (ask, asked) = oneshot::channel();
    let (permit, permitted) = oneshot::channel();
    let body = GatedBody(State::Waiting { bytes, ask: Some(ask), permit: permitted });
    (Gate { asked, permit }, body)
}

impl Body for GatedBody {
    type Data = Bytes;
    type Error = Closed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Closed>>> {
        let State::Waiting { bytes, ask, permit } = &mut self.0 else {
            return Poll::Ready(None);
        };
        if let Some(ask) = ask.take() {
            // Without a receiver the permit fails too.
            let _ = ask.send(());
        }
        let frame = match Pin::new(permit).poll(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(())) => Ok(Frame::data(std::mem::take(bytes))),
            Poll::Ready(Err(_)) => Err(Closed),
        };
        self.0 = State::Spent;
        Poll::Ready(Some(frame))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, State::Spent)
    }

    /// The exact size, so that servers get a `Content-Length`.
    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            State::Waiting { bytes, .. } => {
                SizeHint::with_exact(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
            }
            State::Spent => SizeHint::with_exact(0),
        }
    }
}
