//! Protection from web pages: any page in a browser on this machine can send requests to 127.0.0.1.
//!
//! `Host` has to be a name of this machine, so that a page can't reach a server under a name of its own that it has
//! rebound to 127.0.0.1 (DNS rebinding). `Origin`, which browsers add to a page's requests, has to be a page that this
//! machine serves. Other clients send no `Origin`.
//!
//! A browser that follows a redirect of the API to a presigned link sends `Origin: null` if the page is from another
//! port. Such a link works for whoever knows it, so it may be followed. It sends the same for the scripts of the console's
//! sandboxed frame, which are public.

use std::net::IpAddr;

use axum::body::Body;
use axum::http::uri::{Authority, Uri};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use contracts::{Error, ErrorCode, InvokeResult};

/// Names of this machine that no other party can own. Docker Desktop gives the second name to containers.
const OWN_NAMES: [&str; 2] = ["localhost", "host.docker.internal"];

/// The scripts of the console's sandboxed frame, whose origin is its own.
pub(crate) const FRAME_SCRIPTS: [&str; 2] = ["/console/diagram-frame.js", "/console/vendor/mermaid.min.js"];

/// Requests of web pages that a server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WebAccess {
    /// Those of pages that this machine serves, and those for the scripts of the console's sandboxed frame.
    OwnPages,
    /// Those of pages that this machine serves, and presigned links that a redirect led to.
    Links,
}

/// Reason for which a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Rejection {
    #[error(
        "The local cloud only answers under localhost and the addresses of this machine. Check the Host header."
    )]
    Host,
    #[error(
        "The local cloud refuses requests from web pages that this machine does not serve. Check the Origin header."
    )]
    Origin,
}

impl WebAccess {
    /// Returns the reason to refuse a request that arrived at this address of this machine. `None` accepts it.
    pub(super) fn rejection<B>(self, request: &Request<B>, address: IpAddr) -> Option<Rejection> {
        let rejection = rejection(request.headers(), address)?;
        let is_null = request.headers().get(header::ORIGIN).is_some_and(|origin| origin == "null");
        let is_open = match self {
            Self::OwnPages => FRAME_SCRIPTS.contains(&request.uri().path()),
            Self::Links => is_presigned(request.uri()),
        };
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let is_allowed = rejection == Rejection::Origin && is_null && is_read && is_open;
        (!is_allowed).then_some(rejection)
    }
}

/// Returns true for a presigned link to S3.
pub(crate) fn is_presigned(uri: &Uri) -> bool {
    uri.query().is_some_and(|query| query.split('&').any(|member| member.starts_with("X-Amz-Signature=")))
}

fn rejection(headers: &HeaderMap, address: IpAddr) -> Option<Rejection> {
    let is_own_host = |host: &HeaderValue| {
        let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
        host.is_some_and(|host| is_own_name(&host, address))
    };
    let mut hosts = headers.get_all(header::HOST).iter().peekable();
    if hosts.peek().is_none() || !hosts.all(is_own_host) {
        return Some(Rejection::Host);
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    (!origins.all(|origin| is_own_origin(origin, address))).then_some(Rejection::Origin)
}

/// Returns true if this machine, which has this address, serves the page.
fn is_own_origin(origin: &HeaderValue, address: IpAddr) -> bool {
    let origin = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
    origin.is_some_and(|origin| {
        matches!(origin.scheme_str(), Some("http" | "https"))
            && origin.authority().is_some_and(|host| is_own_name(host, address))
    })
}

/// Returns true for the names and loopback addresses of this machine, and for the address itself.
fn is_own_name(host: &Authority, address: IpAddr) -> bool {
    if host.as_str().contains('@') {
        return false;
    }
    let name = host.host();
    let literal = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    match literal.parse::<IpAddr>() {
        Ok(literal) => literal.is_loopback() || literal == address.to_canonical(),
        Err(_) => OWN_NAMES.iter().any(|own| name.eq_ignore_ascii_case(own)),
    }
}

/// Returns the response to a refused request.
pub(super) fn response(rejection: Rejection) -> Response<Body> {
    let result = InvokeResult::<()>::err(Error::new(ErrorCode::Forbidden, rejection.to_string()));
    let mut response = Response::new(Body::from(serde_json::to_vec(&result).unwrap_or_default()));
    *response.status_mut() = StatusCode::FORBIDDEN;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const BRIDGE: IpAddr = IpAddr::V4(Ipv4Addr::new(172, 17, 0, 1));
    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn check(address: IpAddr, host: &str, origin: Option<&str>) -> Option<Rejection> {
        let mut headers = HeaderMap::new();
        headers.insert("host", host.parse().unwrap());
        origin.map(|origin| headers.insert("origin", origin.parse().unwrap()));
        rejection(&headers, address)
    }

    #[test]
    fn names_and_addresses_of_this_machine_pass() {
        for host in ["127.0.0.1:9000", "localhost", "LOCALHOST:9000", "[::1]:1", "host.docker.internal:9001"]
        {
            assert_eq!(check(LOOPBACK, host, None), None, "{host}");
        }
        assert_eq!(check(BRIDGE, "172.17.0.1:9100", None), None);
        assert_eq!(check(LOOPBACK, "localhost:1", Some("http://localhost:5173")), None);
    }

    #[test]
    fn rebound_names_and_other_addresses_are_refused() {
        for host in [
            "evil.example",
            "evil.example:9000",
            "localhost.evil.example",
            "127.0.0.1.evil.example:9000",
            "",
            "a b",
        ] {
            assert_eq!(check(LOOPBACK, host, None), Some(Rejection::Host), "{host}");
        }
        for host in ["172.17.0.2:1", "0.0.0.0:1", "x@127.0.0.1:1", "127.0.0.1:1@evil.example", "[::2]"] {
            assert_eq!(check(LOOPBACK, host, None), Some(Rejection::Host), "{host}");
        }
        assert_eq!(rejection(&HeaderMap::new(), LOOPBACK), Some(Rejection::Host));
        let mut two = HeaderMap::new();
        two.append("host", "localhost".parse().unwrap());
        two.append("host", "evil.example".parse().unwrap());
        assert_eq!(rejection(&two, LOOPBACK), Some(Rejection::Host));
    }

    #[test]
    fn only_public_files_pass_without_an_origin() {
        let check = |access: WebAccess, method: &str, uri: &str, origin: &str| {
            let request = Request::builder().method(method).uri(uri).header("host", "127.0.0.1:1");
            access.rejection(&request.header("origin", origin).body(()).unwrap(), LOOPBACK)
        };
        let link = "/bucket/key?X-Amz-Date=1&X-Amz-Signature=2";
        assert_eq!(check(WebAccess::Links, "GET", link, "null"), None);
        assert_eq!(check(WebAccess::Links, "GET", link, "http://127.0.0.1:9000"), None);
        let [script, ..] = FRAME_SCRIPTS;
        assert_eq!(check(WebAccess::OwnPages, "GET", script, "null"), None);
        for (access, method, uri, origin) in [
            (WebAccess::OwnPages, "GET", link, "null"),
            (WebAccess::OwnPages, "GET", "/console/main.js", "null"),
            (WebAccess::OwnPages, "GET", script, "https://evil.example"),
            (WebAccess::OwnPages, "POST", script, "null"),
            (WebAccess::Links, "GET", script, "null"),
            (WebAccess::Links, "PUT", link, "null"),
            (WebAccess::Links, "GET", "/bucket/key", "null"),
            (WebAccess::Links, "GET", link, "https://evil.example"),
        ] {
            assert_eq!(
                check(access, method, uri, origin),
                Some(Rejection::Origin),
                "{method} {uri} {origin}"
            );
        }
    }

    #[test]
    fn foreign_origins_are_refused() {
        for origin in
            ["https://evil.example", "null", "http://127.0.0.1.evil.example", "file://", "localhost", ""]
        {
            assert_eq!(check(LOOPBACK, "localhost:1", Some(origin)), Some(Rejection::Origin), "{origin}");
        }
    }
}
