//! Sends whitespace so that gateways don't close idle connections.
//!
//! JSON may begin with whitespace, so the client receives whitespace until the response is ready. The status has to
//! be sent first: it is always 200, and `Successful` reports the outcome.

use std::{convert::Infallible, pin::Pin, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, header::CONTENT_TYPE};
use tokio::time::timeout;

use crate::stream::KeepAlive;

/// Whitespace that may precede JSON.
const WHITESPACE: &str = "\n";

/// A JSON response that isn't ready yet. It resolves to the bytes of an `InvokeResult`.
#[derive(Debug)]
pub struct KeepAliveJson<F> {
    response: F,
    interval: Duration,
}

impl<F: Future<Output = Bytes> + Send + 'static> KeepAliveJson<F> {
    /// Creates a response that starts sending now.
    pub fn new(response: F, keep_alive: KeepAlive) -> Self {
        Self { response, interval: keep_alive.whitespace_interval }
    }
}

impl<F: Future<Output = Bytes> + Send + 'static> IntoResponse for KeepAliveJson<F> {
    fn into_response(self) -> Response {
        let pending = PendingResponse {
            response: Box::pin(self.response),
            wait: Duration::ZERO,
            interval: self.interval,
        };
        let body = stream::unfold(Some(pending), |pending| async { pending?.next().await });
        let mut response = Response::new(Body::from_stream(body));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

struct PendingResponse<F> {
    response: Pin<Box<F>>,
    wait: Duration,
    interval: Duration,
}

impl<F: Future<Output = Bytes>> PendingResponse<F> {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Option<Self>)> {
        match timeout(self.wait, &mut self.response).await {
            Ok(response) => Some((Ok(response), None)),
            Err(_) => {
                let pending = Self { wait: self.interval, ..self };
                Some((Ok(Bytes::from_static(WHITESPACE.as_bytes())), Some(pending)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt, channel::oneshot};

    use super::*;

    #[tokio::test]
    async fn whitespace_precedes_the_response() {
        let (send, receive) = oneshot::channel();
        let keep_alive = KeepAlive { whitespace_interval: Duration::from_millis(1), ..KeepAlive::default() };
        let response = KeepAliveJson::new(async { receive.await.unwrap() }, keep_alive).into_response();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (200, &HeaderValue::from_static("application/json"))
        );
        let mut body = response.into_body().into_data_stream();
        for _ in 0..3 {
            assert_eq!(body.next().await.unwrap().unwrap(), WHITESPACE);
        }
        send.send(Bytes::from_static(b"{}")).unwrap();
        let rest: Vec<Bytes> = body.map(Result::unwrap).collect().await;
        let rest = rest.concat();
        assert_eq!(rest.trim_ascii_start(), b"{}");
    }
}
