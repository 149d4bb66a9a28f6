//! Which request this is, for everybody who logs about it: `X-Correlation-ID`.
//!
//! A client may name its request; otherwise the gateway's own id for it does, or else Lambda's. A name that is
//! none of ours (see [`CorrelationId`]) is replaced like one that is absent: nothing but logs depends on it, so no
//! request is refused for it. Every answer says which id it has become.

use std::convert::Infallible;

use axum::{
    extract::{FromRequestParts, Request},
    middleware::Next,
    response::Response,
};
use http::{HeaderName, HeaderValue, request::Parts};
use lambda_http::{RequestExt, request::RequestContext};
use protocol::correlation::CorrelationId;

/// Where a client names its request, and is told what it is named.
pub const X_CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");

/// The request's correlation id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correlation(pub CorrelationId);

impl Correlation {
    fn of(request: &Request) -> Self {
        let by_client = request.headers().get(X_CORRELATION_ID).and_then(|id| id.to_str().ok());
        let by_gateway = match request.request_context_ref() {
            Some(RequestContext::ApiGatewayV1(context)) => context.request_id.as_deref(),
            Some(RequestContext::ApiGatewayV2(context)) => context.request_id.as_deref(),
            _ => None,
        };
        let by_lambda = request.lambda_context_ref().map(|context| context.request_id.as_str());
        let named = [by_client, by_gateway, by_lambda].into_iter().flatten();
        Self(named.filter_map(|id| CorrelationId::new(id).ok()).next().unwrap_or_else(CorrelationId::unnamed))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Correlation {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().cloned().unwrap_or_else(|| Self(CorrelationId::unnamed())))
    }
}

/// Names the request, and says so in its answer.
pub(crate) async fn carried(mut request: Request, next: Next) -> Response {
    let correlation = Correlation::of(&request);
    let name = HeaderValue::try_from(correlation.0.as_str());
    request.extensions_mut().insert(correlation);
    let mut response = next.run(request).await;
    // Visible ASCII always is a header's value.
    if let Ok(name) = name {
        response.headers_mut().insert(X_CORRELATION_ID, name);
    }
    response
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use lambda_http::aws_lambda_events::apigw::ApiGatewayProxyRequestContext;

    use super::*;

    fn request(header: Option<&[u8]>, gateway: Option<&str>, lambda: Option<&str>) -> String {
        let mut request = Request::new(Body::empty());
        if let Some(header) = header {
            request.headers_mut().insert(X_CORRELATION_ID, HeaderValue::from_bytes(header).unwrap());
        }
        if let Some(id) = gateway {
            let mut context = ApiGatewayProxyRequestContext::default();
            context.request_id = Some(id.to_owned());
            request = request.with_request_context(RequestContext::ApiGatewayV1(context));
        }
        if let Some(id) = lambda {
            let mut context = lambda_http::Context::default();
            context.request_id = id.to_owned();
            request = request.with_lambda_context(context);
        }
        Correlation::of(&request).0.into()
    }

    #[test]
    fn the_client_names_its_request_and_else_the_gateway_and_else_lambda() {
        assert_eq!(request(Some(b"joined-1"), Some("g"), Some("l")), "joined-1");
        assert_eq!(request(None, Some("g"), Some("l")), "g");
        assert_eq!(request(None, None, Some("l")), "l");
        assert_eq!(request(None, None, None), "unnamed");
    }

    #[test]
    fn a_name_that_is_none_is_replaced() {
        for wrong in [b"" as &[u8], b"a b", b"\xff", &[b'x'; 129]] {
            assert_eq!(request(Some(wrong), Some("g"), Some("l")), "g", "{wrong:?}");
        }
    }
}
