use reqwest::{Client, Response};

use super::*;

const CONSOLE_HEADER: &str = "x-aptix-console";
const KEY: &str = "the key";

async fn console(issuer: Issuer) -> (ConsoleServer, Client) {
    let (key, payloads) = (KEY.to_owned(), "http://127.0.0.1:1".to_owned());
    let console = Console { api: None, key: key.clone(), issuer, payloads, machine: None, queues: None };
    let listener = Listener::bind_loopback(0).await.unwrap();
    (ConsoleServer { server: listener.serve(router(console)), key }, Client::new())
}

/// Requests a token as a page does.
async fn request_token(
    server: &ConsoleServer,
    client: &Client,
    origin: &str,
    body: &'static str,
) -> Response {
    let request = client.post(format!("{}/console/api/token", server.url()));
    request.header("origin", origin).header(CONSOLE_HEADER, KEY).body(body).send().await.unwrap()
}

async fn token_of(response: Response) -> String {
    let response: serde_json::Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    response["Result"]["Token"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn page_policy_allows_own_scripts_only() {
    let (server, client) = console(Issuer::Typed).await;
    let page = client.get(format!("{}/", server.url())).send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(
        policy.contains("default-src 'none'; script-src 'self';") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert!(page.text().await.unwrap().contains("<title>Aptix</title>"));
    let module = client.get(format!("{}/javascript/src/index.js", server.url())).send().await.unwrap();
    assert_eq!(module.headers()["content-type"], "text/javascript; charset=utf-8");
    assert_eq!(module.headers()["x-content-type-options"], "nosniff");
}

#[tokio::test]
async fn own_page_gets_token_and_other_origins_do_not() {
    let tokens = Tokens::ephemeral();
    let (server, client) = console(Issuer::Local(tokens.clone())).await;
    let ada = r#"{"Org":"acme","User":"ada","Operator":true}"#;
    let answered = request_token(&server, &client, server.url(), ada).await;
    assert!(!answered.headers().contains_key("access-control-allow-origin"));
    let claims = tokens.verify(Some(&token_of(answered).await)).unwrap();
    assert_eq!((&claims["sub"], &claims["custom:org"]), (&"ada".into(), &"acme".into()));

    for origin in ["http://127.0.0.1:3000", "https://evil.example", "null"] {
        assert_eq!(request_token(&server, &client, origin, ada).await.status(), 403, "{origin}");
    }
    let url = format!("{}/console/api/token", server.url());
    let rebound = client.post(&url).header("host", "evil.example").header("origin", "http://evil.example");
    assert_eq!(rebound.header(CONSOLE_HEADER, KEY).body(ada).send().await.unwrap().status(), 403);
    let form = client.post(&url).header("origin", server.url()).body(ada);
    assert_eq!(form.send().await.unwrap().status(), 403, "a form can't set the header");
    for key in ["1", ""] {
        let stranger = client.post(&url).header("origin", server.url()).header(CONSOLE_HEADER, key);
        assert_eq!(stranger.body(ada).send().await.unwrap().status(), 403, "another user has no key");
    }
    let no_page = client.post(&url).header(CONSOLE_HEADER, KEY).body(ada);
    assert_eq!(no_page.send().await.unwrap().status(), 403, "a browser names the origin");
    let preflight = client.request(reqwest::Method::OPTIONS, &url).header("origin", "https://evil.example");
    let preflight = preflight.header("access-control-request-method", "POST").send().await.unwrap();
    assert!(!preflight.headers().contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn context_schema_needs_the_key() {
    let (server, client) = console(Issuer::Typed).await;
    let url = format!("{}/console/api/context-schema", server.url());
    assert_eq!(client.get(&url).send().await.unwrap().status(), 403);
    let schema = client.get(&url).header(CONSOLE_HEADER, KEY).send().await.unwrap().text().await.unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["Result"], agent::context::schema());
}

#[tokio::test]
async fn token_request_identity_is_validated() {
    let (server, client) = console(Issuer::Local(Tokens::ephemeral())).await;
    for body in ["", "{}", r#"{"Org":"","User":"ada"}"#, r#"{"Org":"acme","User":".."}"#] {
        assert_eq!(request_token(&server, &client, server.url(), body).await.status(), 400, "{body}");
    }
}

#[tokio::test]
async fn provided_token_goes_to_own_page_only_and_typed_one_is_unknown() {
    let source: TokenSource = Arc::new(|| Box::pin(async { Ok("secret".to_owned()) }));
    let (server, client) = console(Issuer::Provided(source)).await;
    assert_eq!(token_of(request_token(&server, &client, server.url(), "{}").await).await, "secret");
    assert_eq!(request_token(&server, &client, "https://evil.example", "{}").await.status(), 403);
    let expired: TokenSource = Arc::new(|| Box::pin(async { Err("Sign in again.".to_owned()) }));
    let (server, client) = console(Issuer::Provided(expired)).await;
    let refused = request_token(&server, &client, server.url(), "{}").await;
    assert_eq!(refused.status(), 401);
    assert!(refused.text().await.unwrap().contains("Sign in again."));
    let (server, client) = console(Issuer::Typed).await;
    assert_eq!(request_token(&server, &client, server.url(), "{}").await.status(), 403);
}

#[tokio::test]
async fn deployment_console_talks_to_its_api_and_has_no_machine() {
    let server = serve("https://api.example/prod", None, None, 0).await.unwrap();
    let client = Client::new();
    let page = client.get(format!("{}/", server.url())).send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("connect-src 'self' https://api.example https://*.amazonaws.com"), "{policy}");
    for path in ["machine", "logs/execute", "queues", "dead-letters"] {
        let url = format!("{}/console/api/{path}", server.url());
        assert_eq!(client.get(url).header(CONSOLE_HEADER, &server.key).send().await.unwrap().status(), 404);
    }
    let url = format!("{}/console/api/config", server.url());
    let response =
        client.get(url).header(CONSOLE_HEADER, &server.key).send().await.unwrap().text().await.unwrap();
    assert!(
        response.contains(r#""Api":"https://api.example/prod","Tokens":"typed","IsLocal":false"#),
        "{response}"
    );
    assert!(matches!(serve("ftp://x", None, None, 0).await, Err(Error::Url(_))));
}
