//! The API's OpenAPI document, in full and as generators of clients take it, and a page to browse it with and to try it on:
//! `GET /openapi.yaml`, `GET /openapi-3.0.json` and `GET /docs`.
//!
//! All are the local cloud's own and need no token. The page brings everything it needs, so it works
//! without a network; what it tries goes to this API, with a token of the console's. Deliberately absent: the document's
//! content, which `contracts` generates.

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::routing::get;
use contracts::openapi::Unwritable;

/// The first line of the file in the repository.
const NOTE: &str = "# @generated from the contract by `cargo run -p aptix -- openapi > infra/openapi.yaml`; don't edit it.\n";
/// The page, but for the document.
const PAGE: &str = include_str!("page.html");
/// What the page is made with.
const FILES: [(&str, &str, &str); 3] = [
    ("/docs/page.css", "text/css; charset=utf-8", include_str!("page.css")),
    ("/docs/page.js", "text/javascript; charset=utf-8", include_str!("page.js")),
    ("/docs/try.js", "text/javascript; charset=utf-8", include_str!("try.js")),
];
/// Where the document goes.
const PLACE: &str = "{{document}}";
/// The page loads its own files and talks to this API alone.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// The document as `infra/openapi.yaml` holds it.
///
/// # Errors
/// When it can't be written as YAML.
pub fn openapi() -> Result<String, Unwritable> {
    let yaml = contracts::openapi::yaml()?;
    Ok(format!("{NOTE}{yaml}"))
}

/// The page, with the document in it.
fn page() -> Result<String, Unwritable> {
    let json = contracts::openapi::json()?;
    // Nothing in the document may end the script element that holds it.
    Ok(PAGE.replacen(PLACE, &json.replace('<', r"\u003c"), 1))
}

/// The routes.
///
/// # Errors
/// When the document can't be written.
pub(crate) fn router() -> Result<Router, Unwritable> {
    let yaml = [(header::CONTENT_TYPE, "application/yaml")];
    let html =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)];
    let json = [(header::CONTENT_TYPE, "application/json")];
    let (openapi, plain, page) = (openapi()?, contracts::openapi::plain_json()?, page()?);
    let mut router = Router::new();
    for (path, kind, text) in FILES {
        let headers = [(header::CONTENT_TYPE, kind), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
        router = router.route(path, get(async move || (headers, text)));
    }
    Ok(router
        .route("/openapi.yaml", get(async move || (yaml, shared(), openapi)))
        .route("/openapi-3.0.json", get(async move || (json, shared(), plain)))
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
    fn the_page_holds_the_document_and_loads_its_own_files_alone() {
        let page = page().unwrap();
        assert!(page.contains(r#""operationId":"executeTurn""#) && !page.contains(PLACE));
        for loaded in
            PAGE.split("src=\"").skip(1).chain(PAGE.split("<link rel=\"stylesheet\" href=\"").skip(1))
        {
            let path = loaded.split('"').next().unwrap();
            assert!(FILES.iter().any(|(known, ..)| *known == path), "{path}");
        }
        for (path, _, text) in FILES {
            for outside in ["@import", "://", "innerHTML", "eval("] {
                assert!(!text.contains(outside), "{path}: {outside}");
            }
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
