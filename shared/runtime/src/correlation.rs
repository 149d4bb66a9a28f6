//! Assigns each request a correlation id: `X-Correlation-ID`.
//!
//! The client may send one. Otherwise the gateway's request id is used, or else Lambda's. An invalid value (see
//! [`CorrelationId`]) is replaced like a missing one: only logs depend on it, so it is no reason to reject the
//! request. Every response carries the id in use.

use std::convert::Infallible;

use axum::{
    extract::{FromRequestParts, Request},
    middleware::Next,
    response::Response,
};
use http::{HeaderName, HeaderValue, request::Parts};
use lambda_http::{RequestExt, request::RequestContext};
use protocol::correlation::CorrelationId;

/// The header in which a client sends a correlation id, and in which the response returns it.
pub const X_CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");

/// The request's correlation id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correlation(pub CorrelationId);

impl Correlation {
    fn from_request(request: &Request) -> Self {
        let from_client = request.headers().get(X_CORRELATION_ID).and_then(|id| id.to_str().ok());
        let from_gateway = match request.request_context_ref() {
            Some(RequestContext::ApiGatewayV1(context)) => context.request_id.as_deref(),
            Some(RequestContext::ApiGatewayV2(context)) => context.request_id.as_deref(),
            _ => None,
        };
        let from_lambda = request.lambda_context_ref().map(|context| context.request_id.as_str());
        let named = [from_client, from_gateway, from_lambda].into_iter().flatten();
        Self(named.filter_map(|id| CorrelationId::new(id).ok()).next().unwrap_or_else(CorrelationId::unnamed))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Correlation {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().cloned().unwrap_or_else(|| Self(CorrelationId::unnamed())))
    }
}

/// Sets the request's correlation id and returns it in the response.
pub(crate) async fn propagate(mut request: Request, next: Next) -> Response {
    let correlation = Correlation::from_request(&request);
    let name = HeaderValue::try_from(correlation.0.as_str());
    request.extensions_mut().insert(correlation);
    let mut response = next.run(request).await;
    // A correlation id is visible ASCII, which is always a valid header value.
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
        Correlation::from_request(&request).0.into()
    }

    #[test]
    fn correlation_id_prefers_client_then_gateway_then_lambda() {
        assert_eq!(request(Some(b"joined-1"), Some("g"), Some("l")), "joined-1");
        assert_eq!(request(None, Some("g"), Some("l")), "g");
        assert_eq!(request(None, None, Some("l")), "l");
        assert_eq!(request(None, None, None), "unnamed");
    }

    #[test]
    fn invalid_correlation_id_is_replaced() {
        for wrong in [b"" as &[u8], b"a b", b"\xff", &[b'x'; 129]] {
            assert_eq!(request(Some(wrong), Some("g"), Some("l")), "g", "{wrong:?}");
        }
    }
}
