//! Serves responses as one buffered JSON value each.
//!
//! `lambda_http` can do that for any response, but it pulls in charset tables of hundreds of kilobytes. Responses
//! here are UTF-8 or bytes, so they don't need those (docs/internals/decisions/0019-small-programs.md).

use axum::{Router, response::Response};
use futures::{FutureExt, future::BoxFuture};
use http::StatusCode;
use http_body_util::BodyExt;
use lambda_http::{
    Adapter, Body, IntoResponse, Request,
    lambda_runtime::{Runtime, layers::TracingLayer},
    tower::ServiceExt,
};

use crate::{message_responder::MessageLayer, tasks};

/// Serves the routes until the Lambda service ends the process, one invocation at a time.
///
/// # Errors
/// Fails if the Runtime API is gone.
pub(crate) async fn serve(routes: Router, messages: MessageLayer) -> Result<(), lambda_http::Error> {
    let handler = Adapter::from(ServiceExt::<Request>::map_response(routes, Buffered));
    Runtime::new(handler).layer(messages).layer(tasks::layer()).layer(TracingLayer::new()).run().await
}

/// A response that is read to its end before it is sent.
struct Buffered(Response);

impl IntoResponse for Buffered {
    fn into_response(self) -> BoxFuture<'static, http::Response<Body>> {
        buffer(self.0).boxed()
    }
}

async fn buffer(response: Response) -> http::Response<Body> {
    let (mut parts, body) = response.into_parts();
    let body = match body.collect().await {
        // The runtime sends bytes that aren't UTF-8 as Base64.
        Ok(body) => match String::from_utf8(body.to_bytes().into()) {
            Ok(text) => Body::Text(text),
            Err(error) => Body::Binary(error.into_bytes()),
        },
        Err(_) => {
            tracing::error!("{}", contracts::log::RESPONSE_INTERRUPTED);
            parts.status = StatusCode::INTERNAL_SERVER_ERROR;
            Body::Empty
        }
    };
    http::Response::from_parts(parts, body)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures::stream;

    use super::*;

    async fn leaves(body: impl Into<axum::body::Body>) -> http::Response<Body> {
        let response = Response::builder().header("content-type", "text/plain").body(body.into()).unwrap();
        Buffered(response).into_response().await
    }

    #[tokio::test]
    async fn text_stays_text_and_bytes_stay_bytes() {
        let text = leaves("é").await;
        assert_eq!((text.status(), text.body()), (StatusCode::OK, &Body::Text("é".to_owned())));
        assert_eq!(text.headers().get("content-type").unwrap(), "text/plain");
        let bytes = leaves(vec![0xff, 0]).await;
        assert_eq!(bytes.body(), &Body::Binary(vec![0xff, 0]));
    }

    #[tokio::test]
    async fn truncated_response_is_an_error() {
        let pieces = [Ok(Bytes::from_static(b"half")), Err(std::io::Error::other("gone"))];
        let broken = leaves(axum::body::Body::from_stream(stream::iter(pieces))).await;
        assert_eq!((broken.status(), broken.body()), (StatusCode::INTERNAL_SERVER_ERROR, &Body::Empty));
    }
}
