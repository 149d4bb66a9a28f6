//! S3: s3s over a folder, with conditional writes made atomic.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Request, Response, StatusCode, header};
use axum::middleware::from_fn;
use http_body_util::{BodyExt, Limited};
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tokio::sync::Mutex;

use super::{ACCESS_KEY, SECRET_KEY, presigned};

/// The largest object; far beyond what the system writes.
const MAX_OBJECT_BYTES: usize = 128 * 1024 * 1024;

/// A folder that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the object folder: {0}")]
pub struct Error(String);

#[derive(Clone)]
struct Bucket {
    service: S3Service,
    /// OwnedTurn around a conditional write: s3s-fs looks whether the object exists and then writes it, so
    /// that two writers could both find it missing.
    conditional: Arc<Mutex<()>>,
}

/// S3 over the objects in `folder`, which must exist. Unsigned requests are refused.
pub(crate) fn router(folder: &Path) -> Result<Router, Error> {
    let files = FileSystem::new(folder).map_err(|error| Error(format!("{error:?}")))?;
    let mut builder = S3ServiceBuilder::new(files);
    builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
    let bucket = Bucket { service: builder.build(), conditional: Arc::default() };
    Ok(Router::new().fallback(handle).layer(from_fn(presigned::headers)).with_state(bucket))
}

async fn handle(State(bucket): State<Bucket>, request: Request<Body>) -> Response<Body> {
    let conditional = request.method() == Method::PUT
        && (request.headers().contains_key(header::IF_NONE_MATCH)
            || request.headers().contains_key(header::IF_MATCH));
    let (parts, body) = request.into_parts();
    let body = Limited::new(body, MAX_OBJECT_BYTES);
    if !conditional {
        return bucket.call(Request::from_parts(parts, Body::new(body))).await;
    }
    // The body is read first: a writer that stalls must not hold up every other one.
    let Ok(body) = body.collect().await else {
        return status(StatusCode::PAYLOAD_TOO_LARGE);
    };
    let body = Body::from(body.to_bytes());
    let _one_at_a_time = bucket.conditional.lock().await;
    bucket.call(Request::from_parts(parts, body)).await
}

impl Bucket {
    async fn call(&self, request: Request<Body>) -> Response<Body> {
        let request = request.map(s3s::Body::http_body_unsync);
        match self.service.call(request).await {
            Ok(response) => response.map(Body::new),
            Err(_) => status(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
