//! S3: s3s over SQLite, with the features that the system uses: whole objects, conditional writes, lists, presigned
//! links, and versions of deleted objects.

mod buckets;
mod objects;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Request, Response, StatusCode};
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tower_http::cors::{Any, CorsLayer};

use super::account::{ACCESS_KEY, SECRET_KEY};
use super::error::{Error, listen};
use crate::function::Function;
use crate::listener::Server;
use buckets::Buckets;
use objects::Objects;

/// A running S3.
#[derive(Debug)]
pub(crate) struct S3(Server);

impl S3 {
    /// Starts an S3 over the objects in `file`, which is created if it does not exist. Requests have to be signed with
    /// the access key of a function, or with that of the local cloud.
    pub(super) async fn start(address: SocketAddr, file: &Path) -> Result<Self, Error> {
        let router = router(Objects::open(file)?);
        Ok(Self(listen(address).await?.serve(router)))
    }

    pub(crate) fn url(&self) -> &str {
        self.0.url()
    }
}

fn router(objects: Objects) -> Router {
    let mut builder = S3ServiceBuilder::new(Buckets::new(objects));
    let mut auth = SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY);
    for function in Function::ALL {
        auth.register(function.access_key(), SECRET_KEY.into());
    }
    builder.set_auth(auth);
    Router::new().fallback(handle).with_state(builder.build()).layer(cors())
}

/// Returns the CORS rules of the bucket, as in `template.yaml`: web pages may follow links.
fn cors() -> CorsLayer {
    CorsLayer::new()
        .allow_methods([Method::GET])
        .allow_origin(Any)
        .allow_headers(Any)
        .max_age(Duration::from_secs(600))
}

async fn handle(State(service): State<S3Service>, request: Request<Body>) -> Response<Body> {
    let request = request.map(s3s::Body::http_body_unsync);
    service.call(request).await.map_or_else(
        |_| {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response
        },
        |response| response.map(Body::new),
    )
}
