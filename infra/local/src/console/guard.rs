//! Access control of the console's own API: only pages of the console itself, in a browser on this machine, may call
//! it.
//!
//! The console listens on 127.0.0.1, but any page in a browser on this machine can send requests there. It can also
//! use a domain name that it has rebound to 127.0.0.1. So the `Host` has to be a name that no other party can own, and
//! the browser has to report the console's own origin.
//!
//! Other users of this machine can connect too, and can send any header. So a request also needs the console's key,
//! which the link to the console holds in its fragment. Browsers send no fragment; the page keeps the key and sends it
//! as a header, which no form and no link can set.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, header};
use axum::middleware::Next;
use axum::response::Response;
use contracts::ErrorCode;

use super::Console;
use super::response::error_response;

/// Header of the console's requests, with the console's key. Another origin would need a preflight request to set it, and none is ever
/// granted.
const CONSOLE_HEADER: &str = "x-aptix-console";
/// Host names of the console in a browser on this machine.
const LOCAL_HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Passes on requests of the console's own pages and rejects every other.
pub(super) async fn check(
    State(console): State<Arc<Console>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    match rejection_reason(request.headers(), &console.key) {
        None => next.run(request).await,
        Some(why) => error_response(ErrorCode::Forbidden, why),
    }
}

/// Returns the reason for which a request does not come from the console's own pages.
fn rejection_reason(headers: &HeaderMap, key: &str) -> Option<&'static str> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = text(header::HOST.as_str()).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    if !LOCAL_HOSTS.contains(&name) {
        return Some("The console only answers under the names 127.0.0.1 and localhost.");
    }
    let is_same_site = text("sec-fetch-site").is_none_or(|site| site == "same-origin");
    let is_same_origin =
        text(header::ORIGIN.as_str()).is_none_or(|origin| origin == format!("http://{host}"));
    if !is_same_site || !is_same_origin {
        return Some("The console only answers requests from its own pages.");
    }
    let sent = text(CONSOLE_HEADER).unwrap_or_default().as_bytes();
    if aws_lc_rs::constant_time::verify_slices_are_equal(sent, key.as_bytes()).is_err() {
        return Some(
            "Open the console with the link that `aptix` prints when it starts, or run `aptix console`.",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "the key";

    fn is_rejected(pairs: &[(&'static str, &'static str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        rejection_reason(&headers, KEY).is_some()
    }

    #[test]
    fn own_pages_pass() {
        for host in ["127.0.0.1:9000", "localhost:9000", "localhost", "[::1]:9000"] {
            assert!(!is_rejected(&[("host", host), (CONSOLE_HEADER, KEY)]), "{host}");
        }
        let own = [
            ("host", "localhost:9000"),
            ("origin", "http://localhost:9000"),
            ("sec-fetch-site", "same-origin"),
        ];
        assert!(!is_rejected(&[own[0], own[1], own[2], (CONSOLE_HEADER, KEY)]));
    }

    #[test]
    fn rebound_host_is_rejected() {
        for host in
            ["evil.example:9000", "127.0.0.1.evil.example", "localhost.evil.example:9000", "", "127.0.0.2:1"]
        {
            assert!(
                is_rejected(&[("host", host), ("origin", "http://evil.example:9000"), (CONSOLE_HEADER, KEY)]),
                "{host}"
            );
            assert!(is_rejected(&[("host", host), (CONSOLE_HEADER, KEY)]), "{host}");
        }
    }

    #[test]
    fn other_origins_are_rejected_even_on_this_machine() {
        let host = ("host", "127.0.0.1:9000");
        for origin in [
            "http://127.0.0.1:3000",
            "http://localhost:9000",
            "https://127.0.0.1:9000",
            "https://evil.example",
            "null",
        ] {
            assert!(is_rejected(&[host, ("origin", origin), (CONSOLE_HEADER, KEY)]), "{origin}");
        }
        for site in ["same-site", "cross-site", "none"] {
            assert!(is_rejected(&[host, ("sec-fetch-site", site), (CONSOLE_HEADER, KEY)]), "{site}");
        }
        assert!(is_rejected(&[host]), "a form or a link can't set the header");
        for key in ["", "1", "the ke", "the key "] {
            assert!(is_rejected(&[host, (CONSOLE_HEADER, key)]), "{key:?}");
        }
    }
}
