//! Removes the base path of a custom domain from a request's path.
//!
//! API Gateway matches `/agents/api/ai/agent/execute` to the resource `/api/ai/agent/execute`, and passes the function the
//! whole path. Routes don't know the base path, so it needs no setting.

use axum::extract::Request;
use contracts::paths::PREFIX;
use http::{Uri, uri::PathAndQuery};

/// Removes what precedes the API's own path.
pub(crate) fn strip(mut request: Request) -> Request {
    if let Some(uri) = without_base_path(request.uri()) {
        *request.uri_mut() = uri;
    }
    request
}

/// Returns the URI without its base path. `None` if the URI has no base path.
fn without_base_path(uri: &Uri) -> Option<Uri> {
    let start = uri.path().find(PREFIX).filter(|start| *start > 0)?;
    let rest = uri.path_and_query()?.as_str().get(start..)?;
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(rest).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, extract::RawQuery, routing::get};
    use contracts::paths;
    use futures::FutureExt;
    use tower::ServiceExt;

    use super::*;
    use crate::api::with_middleware;

    /// Returns the status of a request for a path.
    fn status(path: &str) -> u16 {
        let routes = Router::new().route(
            paths::SESSIONS,
            get(|RawQuery(query): RawQuery| async move { assert_eq!(query.as_deref(), Some("pageSize=3")) }),
        );
        let request = Request::get(path).body(Body::empty()).unwrap();
        with_middleware(routes).oneshot(request).now_or_never().unwrap().unwrap().status().as_u16()
    }

    #[test]
    fn base_path_of_a_domain_is_no_part_of_the_route() {
        assert_eq!(status("/api/ai/agent/sessions?pageSize=3"), 200);
        assert_eq!(status("/agents/api/ai/agent/sessions?pageSize=3"), 200);
        assert_eq!(status("https://api.example.com/agents/api/ai/agent/sessions?pageSize=3"), 200);
    }

    #[test]
    fn path_that_names_no_route_stays_unknown() {
        assert_eq!(status("/agents/api/ai/other"), 404);
        assert_eq!(status("/agents?next=/api/ai/agent/sessions"), 404);
        assert_eq!(status("/api/ai/agent/nothing/api/ai/agent/sessions"), 404);
    }
}
