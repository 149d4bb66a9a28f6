//! The OpenAPI document, as 3.1 and as 3.0 for client generators, and a page to browse and try it: `GET
//! /openapi.yaml`, `GET /openapi-3.0.json` and `GET /docs`.
//!
//! All three belong to the local cloud and need no token. The page is self-contained, so it works without a network;
//! its requests go to this API, with a token of the console. Deliberately absent: the document's content, which
//! `openapi` generates.

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::routing::get;
use openapi::SerializeError;

/// First line of the file in the repository.
const HEADER: &str = "# @generated from the contract by `cargo run -p aptix -- openapi > infra/openapi.yaml`; don't edit it.\n";
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

/// Returns the document as stored in `infra/openapi.yaml`.
///
/// # Errors
/// Fails if it can't be written as YAML.
pub fn openapi() -> Result<String, SerializeError> {
    let yaml = openapi::yaml()?;
    Ok(format!("{HEADER}{yaml}"))
}

/// Returns the page with the document embedded.
fn page() -> Result<String, SerializeError> {
    let json = openapi::json()?;
    // The document must not contain a closing tag of the script element that holds it.
    Ok(PAGE.replacen(PLACEHOLDER, &json.replace('<', r"\u003c"), 1))
}

/// Returns the routes.
///
/// # Errors
/// Fails if the document can't be generated.
pub(crate) fn router() -> Result<Router, SerializeError> {
    let yaml = [(header::CONTENT_TYPE, "application/yaml")];
    let html =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)];
    let json = [(header::CONTENT_TYPE, "application/json")];
    let (openapi, v3_0, page) = (openapi()?, openapi::json_3_0()?, page()?);
    let mut router = Router::new();
    for (path, kind, text) in FILES {
        let headers = [(header::CONTENT_TYPE, kind), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
        router = router.route(path, get(async move || (headers, text)));
    }
    Ok(router
        .route("/openapi.yaml", get(async move || (yaml, any_origin(), openapi)))
        .route("/openapi-3.0.json", get(async move || (json, any_origin(), v3_0)))
        .route("/docs", get(async move || (html, page))))
}

/// Returns the header that lets any web page read the document.
fn any_origin() -> [(HeaderName, HeaderValue); 1] {
    [(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"))]
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
