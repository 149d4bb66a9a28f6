//! `aptix console upload` to the bucket of a stack. Browser tests of the hosted page are in `clients/console/test`.

use std::sync::Arc;

use axum::{Json, Router, routing};
use serde_json::{Value, json};

use crate::support::{ACCOUNT_STACK, Account, System, serve};

/// Serves the discovery document of an OpenID Connect provider.
async fn provider() -> String {
    let issuer = Arc::new(std::sync::Mutex::new(String::new()));
    let stored = Arc::clone(&issuer);
    let discovery = move || {
        let issuer = stored.lock().unwrap().clone();
        std::future::ready(Json(json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
        })))
    };
    let router = Router::new().route("/.well-known/openid-configuration", routing::get(discovery));
    let url = serve(router).await;
    issuer.lock().unwrap().clone_from(&url);
    url
}

#[tokio::test]
async fn uploaded_files_have_their_types_and_a_configuration() {
    let system = System::start().await;
    let account = Account::start(&system).await;
    let upload = ["console", "upload", "--stack", ACCOUNT_STACK, "--client-id", "web"];
    let (status, _, errors) = account.run(&upload).await;
    assert_eq!(status, Some(2));
    assert!(errors.contains("hosts no console. Deploy it with HostedConsole=true."), "{errors}");

    let issuer = provider().await;
    account.change(|facts| {
        facts.parameters.insert("AuthMode", "oidc".to_owned());
        facts.parameters.insert("OidcIssuer", issuer.clone());
        facts.parameters.insert("TokenAudiences", "web".to_owned());
        facts.outputs.insert("ConsoleBucketName", system.cloud.bucket().to_owned());
        facts.outputs.insert("ConsoleUrl", "https://d1.cloudfront.net/".to_owned());
    });
    let secret = std::fs::read_to_string(system.cloud.data_folder().join("aws-secret")).unwrap();
    let s3 = system.cloud.endpoints().s3.clone();
    let keys = [
        ("AWS_ENDPOINT_URL_S3", s3.as_str()),
        ("AWS_ACCESS_KEY_ID", "local-cloud"),
        ("AWS_SECRET_ACCESS_KEY", secret.trim()),
    ];
    let (status, output, errors) = account.run_with(&upload, &keys).await;
    assert_eq!(status, Some(0), "{errors}");
    assert!(output.contains("The console is at https://d1.cloudfront.net/"), "{output}");
    let get = |key: &'static str| {
        let request = system.cloud.s3().get_object().bucket(system.cloud.bucket()).key(key);
        async move {
            let object = request.send().await.unwrap();
            (object.content_type.clone().unwrap(), object.body.collect().await.unwrap().to_vec())
        }
    };
    let (kind, page) = get("index.html").await;
    assert_eq!(kind, "text/html; charset=utf-8");
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains(&format!("connect-src 'self' http://127.0.0.1:* {issuer}")), "{page}");
    let (kind, config) = get("console/api/config").await;
    assert_eq!(kind, "application/json");
    let config: Value = serde_json::from_slice(&config).unwrap();
    let sign_in = &config["Result"]["SignIn"];
    assert_eq!((&sign_in["ClientId"], &sign_in["Audiences"]), (&json!("web"), &json!(["web"])));
    assert_eq!(sign_in["Provider"]["token_endpoint"], format!("{issuer}/token"));
}
