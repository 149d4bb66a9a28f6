//! The API's OpenAPI document, and a page to browse it with: `GET /openapi.yaml` and `GET /docs`.
//!
//! Both are the local cloud's own and need no token. The page brings everything it needs, so it works
//! without a network. Deliberately absent: the document's content, which `contracts` generates.

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::routing::get;

/// The first line of the file in the repository.
const NOTE: &str =
    "# Generated from the contract by `cargo run -p local -- openapi > infra/openapi.yaml`; don't edit it.\n";
/// The page, but for the document.
const PAGE: &str = include_str!("page.html");
/// Where the document goes.
const PLACE: &str = "{{document}}";
/// The page loads nothing and talks to nobody.
const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

/// The document can't be written.
#[derive(Debug, thiserror::Error)]
#[error("the OpenAPI document can't be written: {0}")]
pub struct Error(String);

/// The document as `infra/openapi.yaml` holds it.
///
/// # Errors
/// When it can't be written as YAML.
pub fn openapi() -> Result<String, Error> {
    let yaml = contracts::openapi::document().to_yaml().map_err(|error| Error(error.to_string()))?;
    Ok(format!("{NOTE}{yaml}"))
}

/// The page, with the document in it.
fn page() -> Result<String, Error> {
    let json = contracts::openapi::document().to_json().map_err(|error| Error(error.to_string()))?;
    // Nothing in the document may end the script element that holds it.
    Ok(PAGE.replacen(PLACE, &json.replace('<', r"\u003c"), 1))
}

/// The two routes.
///
/// # Errors
/// When the document can't be written.
pub(crate) fn router() -> Result<Router, Error> {
    let yaml = [(header::CONTENT_TYPE, "application/yaml")];
    let html =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)];
    let (openapi, page) = (openapi()?, page()?);
    Ok(Router::new()
        .route("/openapi.yaml", get(async move || (yaml, shared(), openapi)))
        .route("/docs", get(async move || (html, page))))
}

/// Other tools may read the document from a browser.
fn shared() -> [(HeaderName, HeaderValue); 1] {
    [(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_holds_the_document_and_loads_nothing() {
        let page = page().unwrap();
        assert!(page.contains(r#""operationId":"executeTurn""#) && !page.contains(PLACE));
        for outside in ["<link", "src=", "@import", "fetch(", "http-equiv"] {
            assert!(!PAGE.contains(outside), "{outside}");
        }
    }

    #[test]
    fn the_document_can_not_end_its_element() {
        let page = page().unwrap();
        let document = page.split_once(r#"<script type="application/json" id="document">"#).unwrap().1;
        let document = document.split_once("</script>").unwrap().0;
        let document: serde_json::Value = serde_json::from_str(document.trim()).unwrap();
        assert_eq!(document["openapi"], "3.1.0");
    }
}
