//! Answers that leave whole, as one JSON value each.
//!
//! `lambda_http` makes that value of any response, and for that it knows all charsets: tables of hundreds of kilobytes. An
//! answer of ours is UTF-8 or bytes (docs/decisions/0019-small-programs.md).

use axum::{Router, response::Response};
use futures::{FutureExt, future::BoxFuture};
use http::StatusCode;
use http_body_util::BodyExt;
use lambda_http::{Body, IntoResponse, Request, tower::ServiceExt};

/// Serves routes until the Lambda service ends the process.
///
/// # Errors
/// When the Runtime API is gone.
pub(crate) async fn serve(routes: Router) -> Result<(), lambda_http::Error> {
    lambda_http::run(ServiceExt::<Request>::map_response(routes, Whole)).await
}

/// An answer that is read to its end before it leaves.
struct Whole(Response);

impl IntoResponse for Whole {
    fn into_response(self) -> BoxFuture<'static, http::Response<Body>> {
        read(self.0).boxed()
    }
}

async fn read(response: Response) -> http::Response<Body> {
    let (mut parts, body) = response.into_parts();
    let body = match body.collect().await {
        // Bytes that are no text leave as Base64.
        Ok(body) => match String::from_utf8(body.to_bytes().into()) {
            Ok(text) => Body::Text(text),
            Err(error) => Body::Binary(error.into_bytes()),
        },
        Err(_) => {
            tracing::error!("an answer broke off");
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
        Whole(response).into_response().await
    }

    #[tokio::test]
    async fn text_leaves_as_text_and_bytes_as_bytes() {
        let text = leaves("é").await;
        assert_eq!((text.status(), text.body()), (StatusCode::OK, &Body::Text("é".to_owned())));
        assert_eq!(text.headers().get("content-type").unwrap(), "text/plain");
        let bytes = leaves(vec![0xff, 0]).await;
        assert_eq!(bytes.body(), &Body::Binary(vec![0xff, 0]));
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_an_error() {
        let pieces = [Ok(Bytes::from_static(b"half")), Err(std::io::Error::other("gone"))];
        let broken = leaves(axum::body::Body::from_stream(stream::iter(pieces))).await;
        assert_eq!((broken.status(), broken.body()), (StatusCode::INTERNAL_SERVER_ERROR, &Body::Empty));
    }
}
