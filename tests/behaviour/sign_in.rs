//! `aptix sign-in`: against a user pool and an OpenID Connect provider that verify the protocols, and a running system that
//! verifies the tokens.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use aws_lc_rs::digest;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Redirect;
use axum::{Json, Router, routing};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use local::token::Identity;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::provider_start::aptix;
use crate::support::{APP_CODE, APP_KEY, CLIENT, PATIENCE, POOL, STACK, System, USER, UserPool, serve};

const PASSWORD: &str = "Correct-Horse-7";

/// A user of the command: a configuration folder, and AWS credentials for the pool's server.
struct Shell {
    home: TempDir,
    endpoint: String,
}

impl Shell {
    fn new(pool: &UserPool) -> Self {
        Self { home: tempfile::tempdir().unwrap(), endpoint: pool.url.clone() }
    }

    fn command(&self, arguments: &[&str]) -> tokio::process::Command {
        let home = self.home.path().to_str().unwrap();
        let mut command = aptix(
            arguments,
            &[
                ("HOME", home),
                ("XDG_CONFIG_HOME", home),
                ("AWS_ENDPOINT_URL", &self.endpoint),
                ("AWS_REGION", "us-east-1"),
                ("AWS_ACCESS_KEY_ID", "key"),
                ("AWS_SECRET_ACCESS_KEY", "secret"),
            ],
        );
        command.env_remove("APTIX_URL").env_remove("APTIX_TOKEN").env_remove("AWS_PROFILE");
        command
    }

    /// Runs a command with this input. Returns its exit status, its output and its errors.
    async fn run(&self, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
        let mut running = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = running.stdin.take().unwrap();
        // A command that reads no input may have ended.
        _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let done = tokio::time::timeout(PATIENCE, running.wait_with_output()).await.expect("an end").unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    }

    async fn sign_in(&self, api_url: &str, input: &str) -> (Option<i32>, String, String) {
        let arguments =
            ["sign-in", "--api-url", api_url, "--user-pool", POOL, "--client-id", CLIENT, "--user", USER];
        self.run(&arguments, input).await
    }

    /// The stored sign-ins, with the modes of their files.
    fn stored(&self) -> Vec<(Value, u32)> {
        let mut found = Vec::new();
        collect(self.home.path(), &mut found);
        found
    }
}

/// Collects the JSON files below a folder.
fn collect(folder: &Path, found: &mut Vec<(Value, u32)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            #[cfg(unix)]
            let mode =
                std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777;
            #[cfg(not(unix))]
            let mode = 0o600;
            found.push((serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap(), mode));
        }
    }
}

/// A token that expired long ago, and that no API accepts.
fn expired_token() -> String {
    format!("e30.{}.x", URL_SAFE_NO_PAD.encode(r#"{"exp":1600000000}"#))
}

fn token(system: &System) -> String {
    system.cloud.token(&Identity::user("acme", "ada")).unwrap()
}

#[tokio::test]
async fn password_sign_in_is_stored_privately_and_used_by_commands() {
    let system = System::start().await;
    let pool = UserPool::start(PASSWORD, &[&token(&system)]).await;
    let shell = Shell::new(&pool);
    let url = system.cloud.url();
    let chat = ["chat", "--api-url", url, "[[script: say \"Fine.\"]]"];
    let (status, _, errors) = shell.run(&chat, "").await;
    assert_eq!(status, Some(2), "{errors}");
    assert!(errors.contains(&format!("Run `aptix sign-in --api-url {url} --client-id ID`")), "{errors}");

    let (status, output, errors) = shell.sign_in(url, &format!("{PASSWORD}\n")).await;
    assert_eq!((status, output), (Some(0), format!("You are signed in to {url} as {USER}.\n")), "{errors}");
    let sent: String = pool.requests().into_iter().map(|(_, body)| body).collect();
    assert!(!sent.contains(PASSWORD), "the password is proven, and never sent");
    let stored = shell.stored();
    assert_eq!((stored.len(), stored[0].1), (1, 0o600), "{stored:?}");
    assert!(!stored[0].0.to_string().contains(PASSWORD));

    let (status, output, errors) = shell.run(&chat, "").await;
    assert_eq!((status, output.as_str()), (Some(0), "Fine.\n"), "{errors}");
    let (status, output, errors) = shell.run(&["token", "--api-url", url], "").await;
    assert_eq!((status, output.trim()), (Some(0), stored[0].0["Token"].as_str().unwrap()), "{errors}");
}

#[tokio::test]
async fn wrong_password_is_refused_and_nothing_is_stored() {
    let pool = UserPool::start(PASSWORD, &["token"]).await;
    let shell = Shell::new(&pool);
    let (status, output, errors) = shell.sign_in("http://127.0.0.1:9", "correct-horse-7\n").await;
    assert_eq!((status, output.as_str()), (Some(1), ""), "{errors}");
    assert_eq!(errors, "error: Cognito refused the sign-in: Incorrect username or password\n");
    assert!(shell.stored().is_empty());
    let (status, _, errors) = shell.sign_in("http://127.0.0.1:9", "").await;
    assert_eq!(status, Some(1));
    assert!(errors.contains("standard input has ended"), "{errors}");
}

#[tokio::test]
async fn temporary_password_is_replaced_at_sign_in() {
    let pool = UserPool::start("Temporary-1", &["token"]).await;
    pool.require_new_password();
    let shell = Shell::new(&pool);
    let url = "http://127.0.0.1:9";
    let (status, _, errors) = shell.sign_in(url, &format!("Temporary-1\n{PASSWORD}\n")).await;
    assert_eq!(status, Some(0), "{errors}");
    let (status, ..) = shell.sign_in(url, &format!("{PASSWORD}\n")).await;
    assert_eq!(status, Some(0), "the new password is valid");
    let (status, ..) = shell.sign_in(url, "Temporary-1\n").await;
    assert_eq!(status, Some(1), "the temporary one is not");
}

#[tokio::test]
async fn required_second_factor_is_set_up_at_sign_in() {
    let pool = UserPool::start(PASSWORD, &["token"]).await;
    pool.require_second_factor();
    let shell = Shell::new(&pool);
    let url = "http://127.0.0.1:9";
    let (status, _, errors) = shell.sign_in(url, &format!("{PASSWORD}\n000000\n")).await;
    assert!(status == Some(1) && errors.contains("Code mismatch"), "{errors}");
    let (status, _, errors) = shell.sign_in(url, &format!("{PASSWORD}\n{APP_CODE}\n")).await;
    assert_eq!(status, Some(0), "{errors}");
    let link = format!("otpauth://totp/Aptix:{USER}?secret={APP_KEY}&issuer=Aptix");
    assert!(errors.contains(APP_KEY) && errors.contains(&link), "{errors}");
    assert_eq!(shell.stored().len(), 1);
}

#[tokio::test]
async fn expired_token_is_refreshed_until_sign_out() {
    let system = System::start().await;
    let good = token(&system);
    let pool = UserPool::start(PASSWORD, &[&expired_token(), &good]).await;
    let (shell, url) = (Shell::new(&pool), system.cloud.url());
    let (status, _, errors) = shell.sign_in(url, &format!("{PASSWORD}\n")).await;
    assert_eq!(status, Some(0), "{errors}");
    let chat = ["chat", "--api-url", url, "[[script: say \"Fine.\"]]"];
    for _ in 0..2 {
        let (status, output, errors) = shell.run(&chat, "").await;
        assert_eq!((status, output.as_str()), (Some(0), "Fine.\n"), "{errors}");
    }
    let refreshes = pool.requests().iter().filter(|(_, body)| body.contains("REFRESH_TOKEN_AUTH")).count();
    assert_eq!(refreshes, 1, "the new token is stored");
    assert_eq!(shell.stored()[0].0["Token"], good);

    let (status, output, errors) = shell.run(&["sign-out", "--api-url", url], "").await;
    assert_eq!((status, output), (Some(0), format!("You are signed out of {url}.\n")), "{errors}");
    assert!(errors.is_empty() && shell.stored().is_empty(), "{errors}");
    assert_eq!(pool.requests().last().unwrap().0, "RevokeToken");
    assert_eq!(shell.run(&chat, "").await.0, Some(2));
}

#[tokio::test]
async fn revoked_sign_in_asks_for_another_one() {
    let pool = UserPool::start(PASSWORD, &[&expired_token()]).await;
    let (shell, url) = (Shell::new(&pool), "http://127.0.0.1:9");
    shell.sign_in(url, &format!("{PASSWORD}\n")).await;
    let stored = shell.stored();
    let refresh_token = stored[0].0["Refresh"]["RefreshToken"].as_str().unwrap();
    let revoke = json!({"Token": refresh_token, "ClientId": CLIENT}).to_string();
    let request = reqwest::Client::new().post(&pool.url).body(revoke);
    let request = request.header("x-amz-target", "AWSCognitoIdentityProviderService.RevokeToken");
    assert!(request.send().await.unwrap().status().is_success());
    let (status, output, errors) = shell.run(&["token", "--api-url", url], "").await;
    assert_eq!((status, output.as_str()), (Some(1), ""), "{errors}");
    assert!(errors.contains(&format!("Your sign-in to {url} has expired. Sign in again")), "{errors}");
}

#[tokio::test]
async fn stack_names_its_api_and_its_user_pool() {
    let system = System::start().await;
    let pool = UserPool::start(PASSWORD, &[&token(&system)]).await;
    let (shell, url) = (Shell::new(&pool), system.cloud.url());
    let sign_in = ["sign-in", "--stack", STACK, "--user", USER];
    let (status, _, errors) = shell.run(&sign_in, "").await;
    assert_eq!(status, Some(1));
    assert!(errors.contains("No stack \"agent-dev\" in us-east-1."), "{errors}");
    pool.deploy(&[("ApiUrl", url), ("UserPoolId", POOL), ("UserPoolClientId", CLIENT)]);
    let (status, output, errors) = shell.run(&sign_in, &format!("{PASSWORD}\n")).await;
    let expected = format!("You are signed in to {STACK} as {USER}.\n");
    assert_eq!((status, output), (Some(0), expected), "{errors}");
    let (status, output, errors) =
        shell.run(&["chat", "--stack", STACK, "[[script: say \"Fine.\"]]"], "").await;
    assert_eq!((status, output.as_str()), (Some(0), "Fine.\n"), "{errors}");
    let (status, output, errors) = shell.run(&["smoke", "--stack", STACK], "").await;
    assert_eq!(status, Some(0), "{output}{errors}");
    let described = pool.requests().iter().filter(|(action, _)| action == "cloudformation").count();
    assert_eq!(described, 2, "commands find a stack without AWS credentials");
    let (status, _, errors) = shell.run(&["chat", "--stack", "other", "hi"], "").await;
    assert_eq!(status, Some(2));
    assert!(errors.contains("Run `aptix sign-in --stack other`"), "{errors}");
}

#[tokio::test]
async fn created_user_has_an_org_and_signs_in() {
    let pool = UserPool::start("unknown", &["token"]).await;
    let shell = Shell::new(&pool);
    pool.deploy(&[("ApiUrl", "http://127.0.0.1:9"), ("UserPoolId", POOL), ("UserPoolClientId", CLIENT)]);
    let create = ["create-user", USER, "--stack", STACK, "--org", "acme", "--name", "Ada"];
    let with_password = [&create[..], &["--password"]].concat();
    let (status, output, errors) = shell.run(&with_password, &format!("{PASSWORD}\n")).await;
    let expected = format!("{USER} can sign in to {STACK}.\n");
    assert_eq!((status, output), (Some(0), expected), "{errors}");
    let (_, created) = pool.requests().into_iter().find(|(action, _)| action == "AdminCreateUser").unwrap();
    let created: Value = serde_json::from_str(&created).unwrap();
    let attributes: BTreeMap<_, _> = created["UserAttributes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|attribute| (attribute["Name"].as_str().unwrap(), attribute["Value"].as_str().unwrap()))
        .collect();
    let expected = [("custom:org", "acme"), ("email", USER), ("email_verified", "true"), ("name", "Ada")];
    assert_eq!(attributes, BTreeMap::from(expected));
    assert_eq!(created["MessageAction"], "SUPPRESS");
    let (status, _, errors) =
        shell.run(&["sign-in", "--stack", STACK, "--user", USER], &format!("{PASSWORD}\n")).await;
    assert_eq!(status, Some(0), "{errors}");

    let (status, output, errors) = shell.run(&create, "").await;
    assert_eq!(
        (status, output),
        (Some(0), format!("{USER} gets a temporary password by email.\n")),
        "{errors}"
    );
    let (_, last) = pool.requests().pop().unwrap();
    assert!(!last.contains("SUPPRESS") && !last.contains("Password"), "{last}");
}

#[tokio::test]
async fn console_gives_its_page_the_tokens_of_the_sign_in() {
    let system = System::start().await;
    let good = token(&system);
    let pool = UserPool::start(PASSWORD, &[&expired_token(), &good]).await;
    let (shell, url) = (Shell::new(&pool), system.cloud.url());
    shell.sign_in(url, &format!("{PASSWORD}\n")).await;
    let mut console = shell.command(&["console", "--api-url", url, "--port", "0"]).spawn().unwrap();
    let mut lines = BufReader::new(console.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().unwrap();
    let page =
        line.split_whitespace().find(|word| word.starts_with("http://127.0.0.1") && word.contains("#key="));
    let (origin, key) = page.unwrap().trim_end_matches('.').split_once("/#key=").unwrap();
    let request = reqwest::Client::new().post(format!("{origin}/console/api/token")).body("{}");
    let answer = request.header("x-aptix-console", key).header("origin", origin).send().await.unwrap();
    let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    assert_eq!(answer["Result"]["Token"], good, "{answer}");
    _ = console.kill().await;
}

/// An OpenID Connect provider with the authorization code flow, which requires PKCE.
#[derive(Default)]
struct Provider {
    issuer: Mutex<String>,
    /// The query of the authorization in progress.
    authorization: Mutex<BTreeMap<String, String>>,
    /// The claims of ID tokens.
    claims: Mutex<Value>,
}

type Parameters = BTreeMap<String, String>;

impl Provider {
    async fn start(claims: Value) -> Arc<Self> {
        let provider = Arc::new(Self { claims: Mutex::new(claims), ..Self::default() });
        let router = Router::new()
            .route("/.well-known/openid-configuration", routing::get(discovery))
            .route("/authorize", routing::get(authorize))
            .route("/token", routing::post(exchange))
            .with_state(Arc::clone(&provider));
        let issuer = serve(router).await;
        *provider.issuer.lock().unwrap() = issuer;
        provider
    }

    fn issuer(&self) -> String {
        self.issuer.lock().unwrap().clone()
    }
}

async fn discovery(State(provider): State<Arc<Provider>>) -> Json<Value> {
    let issuer = provider.issuer();
    Json(json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
    }))
}

async fn authorize(State(provider): State<Arc<Provider>>, Query(query): Query<Parameters>) -> Redirect {
    assert_eq!((query["response_type"].as_str(), query["code_challenge_method"].as_str()), ("code", "S256"));
    assert_eq!(query["client_id"], "cli");
    let back = format!("{}?code=code-1&state={}", query["redirect_uri"], query["state"]);
    *provider.authorization.lock().unwrap() = query;
    Redirect::to(&back)
}

async fn exchange(State(provider): State<Arc<Provider>>, form: String) -> Result<Json<Value>, StatusCode> {
    // A form has the syntax of a query.
    let Query(form) = Query::<Parameters>::try_from_uri(&format!("/?{form}").parse().unwrap()).unwrap();
    let asked = provider.authorization.lock().unwrap().clone();
    assert_eq!((form["grant_type"].as_str(), form["code"].as_str()), ("authorization_code", "code-1"));
    assert_eq!(form["redirect_uri"], asked["redirect_uri"]);
    let hash = digest::digest(&digest::SHA256, form["code_verifier"].as_bytes());
    if URL_SAFE_NO_PAD.encode(hash) != asked["code_challenge"] {
        return Err(StatusCode::BAD_REQUEST);
    }
    let mut claims = provider.claims.lock().unwrap().clone();
    claims.as_object_mut().unwrap().entry("nonce").or_insert(json!(asked["nonce"]));
    let id_token = format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims.to_string()));
    Ok(Json(json!({"access_token": "opaque", "id_token": id_token, "refresh_token": "refresh-1"})))
}

/// Signs in in the browser. Calls `browse` with the URL that the command shows.
async fn in_browser<F: Future<Output = ()>>(
    shell: &Shell,
    provider: &Provider,
    browse: impl FnOnce(String) -> F,
) -> (Option<i32>, String, String) {
    let issuer = provider.issuer();
    // A port that was free a moment ago.
    let port =
        tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port().to_string();
    let arguments = [
        "sign-in",
        "--api-url",
        "http://127.0.0.1:9",
        "--issuer",
        &issuer,
        "--client-id",
        "cli",
        "--port",
        &port,
    ];
    let mut running = shell.command(&arguments).spawn().unwrap();
    let mut errors = BufReader::new(running.stderr.take().unwrap()).lines();
    let page = async {
        loop {
            let line = errors.next_line().await.unwrap().expect("a page to open");
            if line.starts_with(&issuer) {
                return line;
            }
        }
    };
    let page = tokio::time::timeout(PATIENCE, page).await.expect("a page to open");
    tokio::time::timeout(PATIENCE, browse(page)).await.expect("a redirect");
    let done = tokio::time::timeout(PATIENCE, running.wait_with_output()).await.expect("an end").unwrap();
    let mut rest = String::new();
    while let Some(line) = errors.next_line().await.unwrap() {
        rest.push_str(&line);
    }
    (done.status.code(), String::from_utf8(done.stdout).unwrap(), rest)
}

#[tokio::test]
async fn browser_sign_in_ignores_foreign_redirects_and_proves_its_code() {
    let pool = UserPool::start(PASSWORD, &["token"]).await;
    let shell = Shell::new(&pool);
    let provider = Provider::start(json!({"sub": "ada", "aud": "cli", "exp": 4_000_000_000_u64})).await;
    let browse = |page: String| async move {
        let redirect = page.split("redirect_uri=").nth(1).unwrap().split('&').next().unwrap();
        let redirect = redirect.replace("%3A", ":").replace("%2F", "/");
        let foreign = reqwest::get(format!("{redirect}?code=stolen&state=guess")).await.unwrap();
        assert_eq!(foreign.status().as_u16(), 400, "a redirect without the state is not ours");
        let signed_in = reqwest::get(page).await.unwrap();
        assert!(signed_in.text().await.unwrap().starts_with("You are signed in."));
    };
    let (status, output, errors) = in_browser(&shell, &provider, browse).await;
    let expected = "You are signed in to http://127.0.0.1:9 as ada.\n";
    assert_eq!((status, output.as_str()), (Some(0), expected), "{errors}");
    let (stored, mode) = &shell.stored()[0];
    assert_eq!((*mode, &stored["Refresh"]["RefreshToken"]), (0o600, &json!("refresh-1")));
    assert_eq!(stored["ExpiresAt"], 4_000_000_000_u64);
}

#[tokio::test]
async fn id_token_of_another_sign_in_is_refused() {
    let pool = UserPool::start(PASSWORD, &["token"]).await;
    let shell = Shell::new(&pool);
    let provider = Provider::start(json!({"sub": "ada", "aud": "cli", "nonce": "another"})).await;
    let browse = |page: String| async move { _ = reqwest::get(page).await.unwrap() };
    let (status, output, errors) = in_browser(&shell, &provider, browse).await;
    assert_eq!((status, output.as_str()), (Some(1), ""), "{errors}");
    assert!(errors.contains("belongs to another sign-in") && shell.stored().is_empty(), "{errors}");
}
