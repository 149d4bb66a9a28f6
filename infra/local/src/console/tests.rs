use reqwest::{Client, Response};

use super::*;

const OWN: &str = "x-aptix-console";

async fn console(issuer: Issuer) -> (Served, Client) {
    let console = Console { api: None, issuer, payloads: "http://127.0.0.1:1".to_owned(), machine: None };
    let (listener, url) = listen(here(0)).await.unwrap();
    let mut task = tokio::task::JoinSet::new();
    task.spawn(http_server::serve(listener, router(console)));
    (Served { url, _task: task }, Client::new())
}

/// A page that posts for a token.
async fn asks(served: &Served, client: &Client, origin: &str, body: &'static str) -> Response {
    let request = client.post(format!("{}/console/api/token", served.url()));
    request.header("origin", origin).header(OWN, "1").body(body).send().await.unwrap()
}

async fn token_of(response: Response) -> String {
    let told: serde_json::Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    told["Result"]["Token"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_page_comes_with_a_policy_that_allows_no_script_but_its_own_files() {
    let (served, client) = console(Issuer::Typed).await;
    let page = client.get(format!("{}/", served.url())).send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(
        policy.contains("default-src 'none'; script-src 'self';") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert!(page.text().await.unwrap().contains("<title>Aptix</title>"));
    let module = client.get(format!("{}/javascript/src/index.js", served.url())).send().await.unwrap();
    assert_eq!(module.headers()["content-type"], "text/javascript; charset=utf-8");
    assert_eq!(module.headers()["x-content-type-options"], "nosniff");
}

#[tokio::test]
async fn its_own_page_gets_a_token_and_no_other_origin_does() {
    let tokens = Tokens::ephemeral();
    let (served, client) = console(Issuer::Local(tokens.clone())).await;
    let ada = r#"{"Org":"acme","User":"ada","Operator":true}"#;
    let answered = asks(&served, &client, served.url(), ada).await;
    assert!(!answered.headers().contains_key("access-control-allow-origin"));
    let claims = tokens.verify(Some(&token_of(answered).await)).unwrap();
    assert_eq!((&claims["sub"], &claims["custom:org"]), (&"ada".into(), &"acme".into()));

    for origin in ["http://127.0.0.1:3000", "https://evil.example", "null"] {
        assert_eq!(asks(&served, &client, origin, ada).await.status(), 403, "{origin}");
    }
    let url = format!("{}/console/api/token", served.url());
    let rebound = client.post(&url).header("host", "evil.example").header("origin", "http://evil.example");
    assert_eq!(rebound.header(OWN, "1").body(ada).send().await.unwrap().status(), 403);
    let form = client.post(&url).header("origin", served.url()).body(ada);
    assert_eq!(form.send().await.unwrap().status(), 403, "a form can't set the header");
    let no_page = client.post(&url).header(OWN, "1").body(ada);
    assert_eq!(no_page.send().await.unwrap().status(), 403, "a browser names the origin");
    let preflight = client.request(reqwest::Method::OPTIONS, &url).header("origin", "https://evil.example");
    let preflight = preflight.header("access-control-request-method", "POST").send().await.unwrap();
    assert!(!preflight.headers().contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn whom_a_token_is_for_is_checked() {
    let (served, client) = console(Issuer::Local(Tokens::ephemeral())).await;
    for body in ["", "{}", r#"{"Org":"","User":"ada"}"#, r#"{"Org":"acme","User":".."}"#] {
        assert_eq!(asks(&served, &client, served.url(), body).await.status(), 400, "{body}");
    }
}

#[tokio::test]
async fn a_given_token_is_handed_to_the_page_alone_and_a_typed_one_is_not_known() {
    let (served, client) = console(Issuer::Given("secret".to_owned())).await;
    assert_eq!(token_of(asks(&served, &client, served.url(), "{}").await).await, "secret");
    assert_eq!(asks(&served, &client, "https://evil.example", "{}").await.status(), 403);
    let (served, client) = console(Issuer::Typed).await;
    assert_eq!(asks(&served, &client, served.url(), "{}").await.status(), 403);
}

#[tokio::test]
async fn a_deployments_console_talks_to_its_api_and_has_no_machine() {
    let served = serve("https://api.example/prod", None, 0).await.unwrap();
    let client = Client::new();
    let page = client.get(format!("{}/", served.url())).send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("connect-src 'self' https://api.example https://*.amazonaws.com"), "{policy}");
    for path in ["machine", "logs/execute"] {
        let url = format!("{}/console/api/{path}", served.url());
        assert_eq!(client.get(url).header(OWN, "1").send().await.unwrap().status(), 404);
    }
    let url = format!("{}/console/api/config", served.url());
    let told = client.get(url).header(OWN, "1").send().await.unwrap().text().await.unwrap();
    assert!(told.contains(r#""Api":"https://api.example/prod","Tokens":"typed","IsLocal":false"#), "{told}");
    assert!(matches!(serve("ftp://x", None, 0).await, Err(Error::Url(_))));
}
