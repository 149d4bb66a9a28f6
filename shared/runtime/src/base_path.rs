//! Removes the base path of a custom domain from a request's path.
//!
//! API Gateway matches `/agents/v1/models` to the resource `/v1/{proxy+}`, and passes the function the whole path. Routes
//! don't know the base path, so it needs no setting. The event names the resource, which tells where the base path ends:
//! text that looks like another route, as in `/v1/x/api/ai/agent/sessions`, moves nothing.

use axum::extract::Request;
use http::{Uri, uri::PathAndQuery};
use lambda_http::{RequestExt, request::RequestContext};

/// Removes what precedes the path of the resource.
pub(crate) fn strip(mut request: Request) -> Request {
    if let Some(uri) = without_base_path(&request) {
        *request.uri_mut() = uri;
    }
    request
}

/// Returns the URI without its base path. `None` if the URI has no base path.
fn without_base_path(request: &Request) -> Option<Uri> {
    let Some(RequestContext::ApiGatewayV1(context)) = request.request_context_ref() else { return None };
    let resource = context.resource_path.as_deref()?;
    let parameters = request.path_parameters_ref();
    let rest = parameters.and_then(|parameters| parameters.first("proxy")).unwrap_or_default();
    let path = request.uri().path();
    let slashes = |text: &str| text.matches('/').count();
    let extra = slashes(path).checked_sub(slashes(resource) + slashes(rest)).filter(|extra| *extra > 0)?;
    let (start, _) = path.match_indices('/').nth(extra)?;
    let fixed = resource.split('{').next()?;
    let own = request.uri().path_and_query()?.as_str().get(start..).filter(|own| own.starts_with(fixed))?;
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(own).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use axum::{Router, body::Body, extract::RawQuery, routing::get};
    use contracts::paths;
    use futures::FutureExt;
    use lambda_http::aws_lambda_events::apigw::ApiGatewayProxyRequestContext;
    use tower::ServiceExt;

    use super::*;
    use crate::api::with_middleware;

    const SESSIONS: (&str, &str) = (paths::SESSIONS, "");

    /// Returns the status of a request for a path that API Gateway matched to a resource, with the rest of the path.
    fn status(path: &str, (resource, proxy): (&str, &str)) -> u16 {
        let answer = || {
            get(|RawQuery(query): RawQuery| async move { assert_eq!(query.as_deref(), Some("pageSize=3")) })
        };
        let routes = Router::new().route(paths::SESSIONS, answer()).route("/v1/models", answer());
        let mut context = ApiGatewayProxyRequestContext::default();
        context.resource_path = Some(resource.to_owned());
        let proxy = HashMap::from([("proxy".to_owned(), proxy.to_owned())]);
        let request = Request::get(path)
            .body(Body::empty())
            .unwrap()
            .with_request_context(RequestContext::ApiGatewayV1(context))
            .with_path_parameters(proxy);
        with_middleware(routes).oneshot(request).now_or_never().unwrap().unwrap().status().as_u16()
    }

    #[test]
    fn base_path_of_a_domain_is_no_part_of_the_route() {
        assert_eq!(status("/api/ai/agent/sessions?pageSize=3", SESSIONS), 200);
        assert_eq!(status("/agents/api/ai/agent/sessions?pageSize=3", SESSIONS), 200);
        assert_eq!(status("https://api.example.com/agents/api/ai/agent/sessions?pageSize=3", SESSIONS), 200);
        assert_eq!(status("/v1/models?pageSize=3", ("/v1/{proxy+}", "models")), 200);
        assert_eq!(status("/agents/v1/models?pageSize=3", ("/v1/{proxy+}", "models")), 200);
    }

    #[test]
    fn path_that_names_no_route_stays_unknown() {
        assert_eq!(status("/agents/api/ai/other", SESSIONS), 404);
        assert_eq!(status("/agents?next=/api/ai/agent/sessions", SESSIONS), 404);
        let inside = |path: &str| ("/v1/{proxy+}", path.split_once("v1/").unwrap().1.to_owned());
        for path in ["/v1/x/api/ai/agent/sessions", "/agents/v1/x/api/ai/agent/sessions", "/v1/v1/models"] {
            let (resource, proxy) = inside(path);
            assert_eq!(status(path, (resource, &proxy)), 404, "{path}");
        }
    }
}
