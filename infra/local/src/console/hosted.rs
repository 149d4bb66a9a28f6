//! Files of a console that a static host serves, such as a bucket behind a CDN. The page has no server of its own: its
//! configuration is a file, and the user signs in to the identity provider in the page.

use std::borrow::Cow;
use std::collections::BTreeSet;

use contracts::{Error as WireError, ErrorCode, InvokeResult};
use reqwest::Url;
use serde::Serialize;

use super::assets::{self, CACHE_CONTROL, FILES, PAGE, Preload};
use super::{page_policy, payload_origin};

/// Name of the page.
const INDEX: &str = "index.html";
/// Files of the console's own API that a page without a server needs.
const CONFIG: &str = "console/api/config";
const CONTEXT_SCHEMA: &str = "console/api/context-schema";
/// Body of the responses to unknown names.
const NOT_FOUND: &str = "console/api/not-found";
/// The element of the page after which its policy comes.
const HEAD_START: &str = r#"<meta charset="utf-8" />"#;

/// The identity provider that the users of a hosted page sign in to, and the client that the page is.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PageSignIn {
    /// Metadata of the provider (RFC 8414).
    pub provider: serde_json::Value,
    /// The public client.
    pub client_id: String,
    /// The scopes to request, separated by spaces.
    pub scope: String,
    /// The audiences that the API accepts; empty if they are not known.
    pub audiences: Vec<String>,
    /// True for a Cognito user pool, whose sign-out has parameters of its own.
    pub is_pool: bool,
}

/// A hosted console.
#[derive(Debug, Clone)]
pub struct HostedPage {
    /// URL of the API.
    pub api: Url,
    /// The sign-in of the page.
    pub sign_in: PageSignIn,
}

/// A file of a hosted console, with its headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostedFile {
    /// Path below the host, without a leading slash.
    pub path: &'static str,
    /// Media type.
    pub content_type: &'static str,
    /// Value of `Cache-Control`.
    pub cache_control: &'static str,
    /// The content.
    pub bytes: Cow<'static, [u8]>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Config<'a> {
    api: &'a str,
    tokens: &'static str,
    is_local: bool,
    is_mock: bool,
    command: &'static str,
    sign_in: &'a PageSignIn,
}

/// Returns the files of a hosted console. The page comes last, since it refers to the others.
///
/// # Errors
/// Fails if the configuration can't be written as JSON.
pub fn hosted_files(page: &HostedPage) -> Result<Vec<HostedFile>, serde_json::Error> {
    let config = Config {
        api: page.api.as_str(),
        tokens: "signed-in",
        is_local: false,
        is_mock: false,
        command: "aptix",
        sign_in: &page.sign_in,
    };
    let not_found = WireError::new(ErrorCode::RouteNotFound, "This console has no server of its own.");
    let api = [
        envelope(CONFIG, &InvokeResult::ok(config))?,
        envelope(CONTEXT_SCHEMA, &InvokeResult::ok(agent::context::schema()))?,
        envelope(NOT_FOUND, &InvokeResult::<()>::err(not_found))?,
    ];
    let (mut index, mut files) = (None, Vec::from(api));
    for &(path, bytes) in FILES {
        if path == PAGE {
            let text = String::from_utf8_lossy(bytes);
            index = Some(file(INDEX, "text/html; charset=utf-8", markup(&text, page).into_bytes().into()));
        } else {
            files.push(file(path, assets::content_type(path), bytes.into()));
        }
    }
    files.extend(index);
    Ok(files)
}

fn envelope<T: Serialize>(
    path: &'static str,
    result: &InvokeResult<T>,
) -> Result<HostedFile, serde_json::Error> {
    Ok(file(path, "application/json", serde_json::to_vec(result)?.into()))
}

fn file(path: &'static str, content_type: &'static str, bytes: Cow<'static, [u8]>) -> HostedFile {
    HostedFile { path, content_type, cache_control: CACHE_CONTROL, bytes }
}

/// Returns the page with its policy and its preloads in its markup, since only the host can set headers.
fn markup(text: &str, page: &HostedPage) -> String {
    let policy = policy(page);
    let mut head =
        format!("{HEAD_START}\n    <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\" />");
    for preload in assets::preloads() {
        head.push_str(&match preload {
            Preload::Style(path) => format!("\n    <link rel=\"preload\" as=\"style\" href=\"{path}\" />"),
            Preload::Module(path) => format!("\n    <link rel=\"modulepreload\" href=\"{path}\" />"),
        });
    }
    text.replacen(HEAD_START, &head, 1)
}

/// Returns the page's policy: it may connect to the API, to its payloads, and to the provider's endpoints for tokens.
fn policy(page: &HostedPage) -> String {
    let endpoints = ["token_endpoint", "revocation_endpoint"].map(|name| page.sign_in.provider.get(name));
    let endpoints = endpoints.into_iter().flatten().filter_map(|url| Url::parse(url.as_str()?).ok());
    let mut origins: BTreeSet<String> =
        endpoints.chain([page.api.clone()]).map(|url| url.origin().ascii_serialization()).collect();
    origins.insert(payload_origin(&page.api).to_owned());
    page_policy(&origins.iter().map(String::as_str).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn page() -> HostedPage {
        HostedPage {
            api: "https://abc.execute-api.eu-west-1.amazonaws.com/live".parse().unwrap(),
            sign_in: PageSignIn {
                provider: json!({"issuer": "https://id.example", "token_endpoint": "https://tokens.example/t",
                    "authorization_endpoint": "https://id.example/a"}),
                client_id: "web".to_owned(),
                scope: "openid".to_owned(),
                audiences: vec!["web".to_owned()],
                is_pool: false,
            },
        }
    }

    fn text<'a>(files: &'a [HostedFile], path: &str) -> &'a str {
        let file = files.iter().find(|file| file.path == path).unwrap();
        str::from_utf8(&file.bytes).unwrap()
    }

    #[test]
    fn hosted_page_has_its_policy_before_anything_that_it_loads() {
        let files = hosted_files(&page()).unwrap();
        assert_eq!(files.last().unwrap().path, INDEX, "the page refers to the others");
        let index = text(&files, INDEX);
        let policy = index.split("content=\"").nth(1).unwrap().split('"').next().unwrap();
        let connect = policy.split("; ").find(|part| part.starts_with("connect-src")).unwrap();
        assert_eq!(
            connect,
            "connect-src 'self' https://*.amazonaws.com https://abc.execute-api.eu-west-1.amazonaws.com \
             https://tokens.example"
        );
        assert!(!policy.contains("frame-ancestors"), "browsers ignore it in markup");
        let place = |part: &str| index.find(part).unwrap();
        assert!(place("Content-Security-Policy") < place("<link") && place("<link") < place("<script"));
        assert!(index.contains(r#"<link rel="modulepreload" href="console/main.js" />"#));
    }

    #[test]
    fn hosted_files_are_those_of_the_page_and_its_configuration() {
        let files = hosted_files(&page()).unwrap();
        assert_eq!(files.len(), FILES.len() + 3);
        let config: Value = serde_json::from_str(text(&files, CONFIG)).unwrap();
        assert_eq!((&config["Successful"], &config["Result"]["Tokens"]), (&json!(true), &json!("signed-in")));
        assert_eq!(config["Result"]["SignIn"]["Provider"]["issuer"], "https://id.example");
        let not_found: Value = serde_json::from_str(text(&files, NOT_FOUND)).unwrap();
        assert_eq!(not_found["Errors"][0]["ErrorCode"], "RouteNotFound");
        let style = files.iter().find(|file| file.path == "console/style.css").unwrap();
        assert_eq!((style.content_type, style.cache_control), ("text/css; charset=utf-8", "no-cache"));
    }
}
