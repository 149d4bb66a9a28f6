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
use axum::http::{Method, Request, Response, StatusCode, header};
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::error::{Error, listen};
use crate::http_server::is_presigned;
use crate::listener::Server;
use crate::service_keys::ServiceKeys;
use buckets::Buckets;
use objects::Objects;

/// A running S3.
#[derive(Debug)]
pub(crate) struct S3(Server);

impl S3 {
    /// Starts an S3 over the objects in `file`, which is created if it does not exist. Requests have to be signed with
    /// one of the keys.
    pub(super) async fn start(address: SocketAddr, file: &Path, keys: &ServiceKeys) -> Result<Self, Error> {
        let router = router(Objects::open(file)?, keys);
        Ok(Self(listen(address).await?.serve_links(router)))
    }

    pub(crate) fn url(&self) -> &str {
        self.0.url()
    }
}

fn router(objects: Objects, keys: &ServiceKeys) -> Router {
    let mut builder = S3ServiceBuilder::new(Buckets::new(objects));
    let mut auth = SimpleAuth::new();
    for access_key in ServiceKeys::access_keys() {
        auth.register(access_key, keys.secret().into());
    }
    builder.set_auth(auth);
    Router::new().fallback(handle).with_state(builder.build()).layer(cors())
}

/// Returns the CORS rules: pages may read presigned links, and nothing else. Pages of other sites are refused before.
fn cors() -> CorsLayer {
    let is_link = AllowOrigin::predicate(|_, request| is_presigned(&request.uri));
    CorsLayer::new()
        .allow_methods([Method::GET, Method::HEAD])
        .allow_origin(is_link)
        .allow_headers([header::IF_NONE_MATCH, header::RANGE])
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
