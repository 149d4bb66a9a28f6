//! An answer that outlasts what a silent connection is allowed: it begins before it is known.
//!
//! JSON may begin with whitespace, so that is what the client gets until the answer is there. The status
//! has to be said first: it is 200, and `Successful` tells how it ended.

use std::{convert::Infallible, pin::Pin, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, header::CONTENT_TYPE};
use tokio::time::timeout;

use crate::stream::Pace;

/// What JSON may begin with.
const WHITESPACE: &str = "\n";

/// A JSON answer that is still to come: the bytes of an `InvokeResult`.
#[derive(Debug)]
pub struct Late<F> {
    answer: F,
    every: Duration,
}

impl<F: Future<Output = Bytes> + Send + 'static> Late<F> {
    /// An answer that begins now.
    pub fn new(answer: F, pace: Pace) -> Self {
        Self { answer, every: pace.whitespace }
    }
}

impl<F: Future<Output = Bytes> + Send + 'static> IntoResponse for Late<F> {
    fn into_response(self) -> Response {
        let waiting = Waiting { answer: Box::pin(self.answer), patience: Duration::ZERO, every: self.every };
        let body = stream::unfold(Some(waiting), |waiting| async { waiting?.next().await });
        let mut response = Response::new(Body::from_stream(body));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

struct Waiting<F> {
    answer: Pin<Box<F>>,
    patience: Duration,
    every: Duration,
}

impl<F: Future<Output = Bytes>> Waiting<F> {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Option<Self>)> {
        match timeout(self.patience, &mut self.answer).await {
            Ok(answer) => Some((Ok(answer), None)),
            Err(_) => {
                let waiting = Self { patience: self.every, ..self };
                Some((Ok(Bytes::from_static(WHITESPACE.as_bytes())), Some(waiting)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt, channel::oneshot};

    use super::*;

    #[tokio::test]
    async fn whitespace_comes_first_and_then_the_answer() {
        let (send, receive) = oneshot::channel();
        let pace = Pace { whitespace: Duration::from_millis(1), ..Pace::default() };
        let response = Late::new(async { receive.await.unwrap() }, pace).into_response();
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
