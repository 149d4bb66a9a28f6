//! Who may ask what is not the API's: a page of the console itself, in a browser of this machine.
//!
//! The console listens on 127.0.0.1, but every page that a browser of this machine has open could send requests there, also
//! under a name of its own that it has made to mean 127.0.0.1. So the `Host` has to be a name that nobody else can
//! hold, and the browser has to say that the request comes from that very origin. A header that only
//! scripts can set keeps forms and links out.
//!
//! Deliberately absent: anything against other programs of this machine. They reach the services anyway.

use axum::body::Body;
use axum::http::{HeaderMap, Request, header};
use axum::middleware::Next;
use axum::response::Response;
use contracts::ErrorCode;

/// The header that the console's requests have. Another origin would have to ask first, and nobody allows it.
const MARK: &str = "x-aptix-console";
/// What a browser on this machine calls it.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Lets a request of the console's own pages pass.
pub(super) async fn check(request: Request<Body>, next: Next) -> Response {
    match refusal(request.headers()) {
        None => next.run(request).await,
        Some(why) => super::refused(ErrorCode::Forbidden, why),
    }
}

/// Why a request is none of the console's.
fn refusal(headers: &HeaderMap) -> Option<&'static str> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = text(header::HOST.as_str()).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    if !NAMES.contains(&name) {
        return Some("The console answers as 127.0.0.1 and localhost alone.");
    }
    let is_same_site = text("sec-fetch-site").is_none_or(|site| site == "same-origin");
    let is_same_origin =
        text(header::ORIGIN.as_str()).is_none_or(|origin| origin == format!("http://{host}"));
    if !is_same_site || !is_same_origin {
        return Some("The console answers its own pages alone.");
    }
    if text(MARK).is_none() {
        return Some("The console's own pages send the header X-Aptix-Console.");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(pairs: &[(&'static str, &'static str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        refusal(&headers).is_some()
    }

    #[test]
    fn the_consoles_own_pages_pass() {
        for host in ["127.0.0.1:9000", "localhost:9000", "localhost", "[::1]:9000"] {
            assert!(!refused(&[("host", host), (MARK, "1")]), "{host}");
        }
        let own = [
            ("host", "localhost:9000"),
            ("origin", "http://localhost:9000"),
            ("sec-fetch-site", "same-origin"),
        ];
        assert!(!refused(&[own[0], own[1], own[2], (MARK, "1")]));
    }

    #[test]
    fn a_name_that_was_made_to_mean_this_machine_is_refused() {
        for host in
            ["evil.example:9000", "127.0.0.1.evil.example", "localhost.evil.example:9000", "", "127.0.0.2:1"]
        {
            assert!(
                refused(&[("host", host), ("origin", "http://evil.example:9000"), (MARK, "1")]),
                "{host}"
            );
            assert!(refused(&[("host", host), (MARK, "1")]), "{host}");
        }
    }

    #[test]
    fn pages_of_other_origins_are_refused_also_those_of_this_machine() {
        let host = ("host", "127.0.0.1:9000");
        for origin in [
            "http://127.0.0.1:3000",
            "http://localhost:9000",
            "https://127.0.0.1:9000",
            "https://evil.example",
            "null",
        ] {
            assert!(refused(&[host, ("origin", origin), (MARK, "1")]), "{origin}");
        }
        for site in ["same-site", "cross-site", "none"] {
            assert!(refused(&[host, ("sec-fetch-site", site), (MARK, "1")]), "{site}");
        }
        assert!(refused(&[host]), "a form or a link can't set the header");
    }
}
