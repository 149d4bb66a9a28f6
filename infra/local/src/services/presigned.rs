//! What a presigned link says about the headers of its answer, which S3 does and s3s leaves undone.

use axum::body::Body;
use axum::extract::Query;
use axum::http::{HeaderName, HeaderValue, Request, Response, header};
use axum::middleware::Next;

/// The parameters of a link that name a header's value.
const NAMED: [(&str, HeaderName); 2] = [
    ("response-content-type", header::CONTENT_TYPE),
    ("response-content-disposition", header::CONTENT_DISPOSITION),
];

/// Answers a request whose signature was good with the headers that its link names.
pub(crate) async fn headers(request: Request<Body>, next: Next) -> Response<Body> {
    let query = Query::<Vec<(String, String)>>::try_from_uri(request.uri());
    let mut response = next.run(request).await;
    if !response.status().is_success() {
        return response;
    }
    for (name, value) in query.map(|Query(pairs)| pairs).unwrap_or_default() {
        let named = NAMED.iter().find(|(parameter, _)| *parameter == name);
        if let (Some((_, header)), Ok(value)) = (named, HeaderValue::try_from(value)) {
            response.headers_mut().insert(header.clone(), value);
        }
    }
    response
}
