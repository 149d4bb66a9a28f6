//! The OpenAPI document, as 3.1 and as 3.0 for client generators, and a page to browse and try it: `GET
//! /openapi.yaml`, `GET /openapi-3.0.json` and `GET /docs`.
//!
//! All three belong to the local cloud and need no token. The page is self-contained, so it works without a network;
//! its requests go to this API, with a token of the console. Deliberately absent: the document's content, which
//! `openapi` generates.

use std::sync::LazyLock;

use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use openapi::SerializeError;

/// The page, without the document.
const PAGE: &str = include_str!("page.html");
/// Files that the page loads.
const FILES: [(&str, &str, &str); 3] = [
    ("/docs/page.css", "text/css; charset=utf-8", include_str!("page.css")),
    ("/docs/page.js", "text/javascript; charset=utf-8", include_str!("page.js")),
    ("/docs/try.js", "text/javascript; charset=utf-8", include_str!("try.js")),
];
/// Placeholder for the document.
const PLACEHOLDER: &str = "{{document}}";
/// Content security policy: the page only loads its own files and only connects to this API.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// Returns the page with the document embedded.
fn page() -> Result<String, SerializeError> {
    let json = openapi::json()?;
    // The document must not contain a closing tag of the script element that holds it.
    Ok(PAGE.replacen(PLACEHOLDER, &json.replace('<', r"\u003c"), 1))
}

/// A document that the first request generates, since most local clouds are never asked for one.
type Document = LazyLock<Result<String, SerializeError>>;

static YAML: Document = LazyLock::new(openapi::yaml);
static JSON_3_0: Document = LazyLock::new(openapi::json_3_0);
static HTML: Document = LazyLock::new(page);

/// Returns the routes.
pub(crate) fn router() -> Router {
    let mut router = Router::new();
    for (path, kind, text) in FILES {
        let headers = [(header::CONTENT_TYPE, kind), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
        router = router.route(path, get(async move || (headers, text)));
    }
    router
        .route("/openapi.yaml", get(async || respond(&YAML, "application/yaml", [any_origin()])))
        .route("/openapi-3.0.json", get(async || respond(&JSON_3_0, "application/json", [any_origin()])))
        .route("/docs", get(async || respond(&HTML, "text/html; charset=utf-8", [policy()])))
}

fn respond(
    document: &'static Document,
    kind: &'static str,
    headers: [(HeaderName, HeaderValue); 1],
) -> Response {
    match LazyLock::force(document) {
        Ok(text) => {
            (HeaderMap::from_iter(headers), [(header::CONTENT_TYPE, kind)], text.as_str()).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// Returns the header that restricts what the page may load.
fn policy() -> (HeaderName, HeaderValue) {
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY))
}

/// Returns the header that lets any web page read the document.
fn any_origin() -> (HeaderName, HeaderValue) {
    (header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_holds_document_and_loads_own_files_only() {
        let page = page().unwrap();
        assert!(page.contains(r#""operationId":"executeTurn""#) && !page.contains(PLACEHOLDER));
        for loaded in
            PAGE.split("src=\"").skip(1).chain(PAGE.split("<link rel=\"stylesheet\" href=\"").skip(1))
        {
            let path = loaded.split('"').next().unwrap();
            assert!(FILES.iter().any(|(served, ..)| *served == path), "{path}");
        }
        for (path, _, text) in FILES {
            for outside in ["@import", "://", "innerHTML", "eval("] {
                assert!(!text.contains(outside), "{path}: {outside}");
            }
        }
    }

    #[test]
    fn document_cannot_close_its_element() {
        let page = page().unwrap();
        let document = page.split_once(r#"<script type="application/json" id="document">"#).unwrap().1;
        let document = document.split_once("</script>").unwrap().0;
        let document: serde_json::Value = serde_json::from_str(document.trim()).unwrap();
        assert_eq!(document["openapi"], "3.1.0");
    }
}
