//! `AuthMode: oidc`: the `authorizer` function says who calls, from the tokens of a provider that is none of ours.

use std::{
    sync::{Arc, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{Json, Router, extract::State, http::StatusCode, routing};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, jwk::Jwk};
use local::{Function, Oidc, Options};
use rcgen::KeyPair;
use serde_json::{Value, json};

use crate::provider_start::aptix;
use crate::support::{Client, PATIENCE, System, options, serve, session_path, turn, turn_path};

/// A provider: what it publishes, and the key that it signs with.
struct Provider {
    issuer: String,
    key: EncodingKey,
    published: Arc<Published>,
}

#[derive(Default)]
struct Published {
    issuer: Mutex<String>,
    keys: Mutex<Vec<Value>>,
    is_away: Mutex<bool>,
}

impl Provider {
    async fn start() -> Self {
        let published = Arc::new(Published::default());
        let router = Router::new()
            .route("/.well-known/openid-configuration", routing::get(discovery))
            .route("/keys", routing::get(keys))
            .with_state(Arc::clone(&published));
        let issuer = serve(router).await;
        published.issuer.lock().unwrap().clone_from(&issuer);
        let (key, public) = new_key("first");
        published.keys.lock().unwrap().push(public);
        Self { issuer, key, published }
    }

    /// Claims of Ada's, an hour of them, with these in their place.
    fn claims(&self, other: &Value) -> Value {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut claims = json!({
            "iss": self.issuer, "aud": ["account", "aptix-api"], "sub": "ada", "name": "Ada", "iat": now,
            "exp": now + 3_600, "groups": ["staff", "org:acme"],
        });
        claims.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
        claims
    }

    fn token(&self, other: &Value) -> String {
        self.signed(&header("first"), other)
    }

    fn signed(&self, header: &Header, other: &Value) -> String {
        encode(header, &self.claims(other), &self.key).unwrap()
    }
}

async fn discovery(State(published): State<Arc<Published>>) -> Result<Json<Value>, StatusCode> {
    let issuer = published.issuer.lock().unwrap().clone();
    let found = json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")});
    if *published.is_away.lock().unwrap() { Err(StatusCode::SERVICE_UNAVAILABLE) } else { Ok(Json(found)) }
}

async fn keys(State(published): State<Arc<Published>>) -> Json<Value> {
    Json(json!({"keys": *published.keys.lock().unwrap()}))
}

/// A key, and what is published of it.
fn new_key(id: &str) -> (EncodingKey, Value) {
    let key = EncodingKey::from_ec_der(&KeyPair::generate().unwrap().serialize_der());
    let mut public = Jwk::from_encoding_key(&key, Algorithm::ES256).unwrap();
    public.common.key_id = Some(id.to_owned());
    (key, serde_json::to_value(public).unwrap())
}

fn header(key: &str) -> Header {
    Header { kid: Some(key.to_owned()), ..Header::new(Algorithm::ES256) }
}

/// A system that trusts this provider.
async fn trusting(provider: &Provider) -> System {
    let oidc = Oidc { issuer: provider.issuer.clone(), audiences: "aptix-api,aptix-ci".to_owned() };
    let set = [
        ("ORG_CLAIM", "groups"),
        ("ORG_GROUP_PREFIX", "org:"),
        ("OPERATOR_CLAIM", "/realm/roles"),
        ("OPERATOR_GROUP", "operators"),
    ];
    let environment = set.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    System::with(Options { oidc: Some(oidc), environment, ..options() }).await
}

fn with(system: &System, token: String) -> Client {
    Client::new(system.cloud.url(), Some(token))
}

#[tokio::test]
async fn oidc_token_identifies_the_user_and_the_org() {
    let provider = Provider::start().await;
    let system = trusting(&provider).await;
    let ada = with(&system, provider.token(&json!({})));
    let request = turn("hello");
    ada.execute(&request).await.result();
    let read = ada.get(&session_path(&request)).await.result();
    assert_eq!(read["OwnerOrganization"]["Id"], "acme");
    assert_eq!(read["OwnerUser"], json!({"Id": "ada", "Text": "Ada"}));

    let eve = with(&system, provider.token(&json!({"sub": "eve", "groups": ["org:rival"]})));
    assert_eq!(eve.get(&session_path(&request)).await.status, 404);

    // What the model's provider calls a turn is for operators.
    let operator = with(&system, provider.token(&json!({"realm": {"roles": ["operators"]}})));
    for (client, is_told) in [(&ada, false), (&operator, true)] {
        let read = client.get(&turn_path(&request)).await.result();
        assert_eq!(read.get("OpenAIResponseId").is_some(), is_told);
    }
}

/// Returns a client of a program that has a token for itself (client credentials), which names no org.
fn program(system: &System, provider: &Provider) -> Client {
    let claims = json!({"sub": "ci", "aud": "aptix-ci", "client_id": "ci", "groups": [], "typ": "Bearer"});
    let typ = Some("at+jwt".to_owned());
    with(system, provider.signed(&Header { typ, ..header("first") }, &claims))
}

/// Runs `aptix clients` with these arguments on the data folder of a system.
async fn clients(system: &System, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = system.cloud.data_folder().to_str().unwrap();
    let output = aptix(&[&["clients"], arguments, &["--data", folder]].concat(), &[]).output().await.unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

/// A system in which a program has read its org.
pub async fn with_program() -> System {
    let provider = Provider::start().await;
    let system = trusting(&provider).await;
    let put = clients(&system, &["put", "ci", "--org", "acme"]).await;
    assert_eq!(
        put,
        (Some(0), "Tokens of ci that name no org belong to acme within two minutes.\n".to_owned())
    );
    program(&system, &provider).execute(&turn("hello")).await.result();
    system
}

#[tokio::test]
async fn program_has_the_org_that_the_table_names() {
    let provider = Provider::start().await;
    let system = trusting(&provider).await;
    let ada = with(&system, provider.token(&json!({})));
    let request = turn("hello");
    ada.execute(&request).await.result();
    let ci = program(&system, &provider);
    let unknown = ci.get(&session_path(&request)).await;
    assert_eq!((unknown.status, unknown.error().as_str()), (401, "Unauthenticated"));
    clients(&system, &["put", "ci", "--org", "acme"]).await;
    // Absence is cached for a minute; another process has not read it.
    system.cloud.crash(Function::Authorizer);
    let found = ci.until(&session_path(&request), PATIENCE, |answer| answer.status == 200).await;
    assert_eq!(found.result()["OwnerOrganization"]["Id"], "acme");
    let listed = clients(&system, &["list"]).await.1;
    assert_eq!(listed.split_whitespace().collect::<Vec<_>>(), ["ci", "acme"]);
    let removed = clients(&system, &["remove", "ci"]).await;
    assert_eq!(removed.0, Some(0), "{}", removed.1);
    assert_eq!(clients(&system, &["list"]).await, (Some(0), String::new()));
    assert_eq!(clients(&system, &["put", "", "--org", "acme"]).await.0, Some(2));
    assert_eq!(clients(&system, &["put", "ci", "--org", ".."]).await.0, Some(2));
}

#[tokio::test]
async fn token_that_names_an_org_costs_the_authorizer_no_read() {
    let provider = Provider::start().await;
    let system = trusting(&provider).await;
    let ada = with(&system, provider.token(&json!({})));
    ada.execute(&turn("hello")).await.result();
    let reads =
        || system.roles.used().into_iter().filter(|(function, _, _)| function == "authorizer").count();
    assert_eq!(reads(), 0);
    program(&system, &provider).get("/api/ai/agent/sessions").await;
    assert_eq!(reads(), 2, "one statement: its action and its resource");
}

/// Access logs and mapping templates of API Gateway can name these keys alone.
#[tokio::test]
async fn authorizer_context_has_plain_keys() {
    let provider = Provider::start().await;
    let folder = tempfile::tempdir().unwrap();
    let oidc = Oidc { issuer: provider.issuer.clone(), audiences: "aptix-api".to_owned() };
    let names =
        [("ORG_CLAIM", "custom:org"), ("OPERATOR_CLAIM", "/realm/roles"), ("OPERATOR_GROUP", "operators")];
    let environment = names.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let event_folder = Some(folder.path().to_owned());
    let system = System::with(Options { oidc: Some(oidc), environment, event_folder, ..options() }).await;
    let token = provider.token(&json!({"custom:org": "acme", "realm": {"roles": ["operators"]}}));
    with(&system, token).execute(&turn("hello")).await.result();
    let mut events = std::fs::read_dir(folder.path()).unwrap().map(|event| event.unwrap().path());
    let event = events.find(|path| path.to_string_lossy().ends_with("-execute.json")).unwrap();
    let event: Value = serde_json::from_slice(&std::fs::read(event).unwrap()).unwrap();
    let context = event["requestContext"]["authorizer"].as_object().unwrap();
    assert_eq!(
        (&context["org"], &context["user"], &context["operator"]),
        (&json!("acme"), &json!("ada"), &json!("true"))
    );
    let plain = |key: &String| key.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
    assert!(context.keys().all(plain), "{context:?}");
}

#[tokio::test]
async fn invalid_oidc_token_is_401_and_leaves_no_trace() {
    let provider = Provider::start().await;
    let system = trusting(&provider).await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let (other_key, _) = new_key("first");
    let by_another = encode(&header("first"), &provider.claims(&json!({})), &other_key).unwrap();
    let public = provider.published.keys.lock().unwrap()[0]["x"].as_str().unwrap().to_owned();
    let shared = EncodingKey::from_secret(public.as_bytes());
    let by_secret = Header { kid: Some("first".to_owned()), ..Header::new(Algorithm::HS256) };
    let by_secret = encode(&by_secret, &provider.claims(&json!({})), &shared).unwrap();
    let unsigned = format!("eyJhbGciOiJub25lIn0.{}.", provider.token(&json!({})).split('.').nth(1).unwrap());
    let typed = |typ: &str| Header { typ: Some(typ.to_owned()), ..header("first") };
    let critical = Header { crit: Some(vec!["b64".to_owned()]), ..header("first") };
    let refused = [
        ("over", provider.token(&json!({"exp": now - 120}))),
        ("not yet", provider.token(&json!({"nbf": now + 120}))),
        ("not at a time", provider.token(&json!({"nbf": "later"}))),
        ("issued later", provider.token(&json!({"iat": now + 120}))),
        ("issued at no time", provider.token(&json!({"iat": "later"}))),
        ("without an end", provider.token(&json!({"exp": null}))),
        ("another issuer", provider.token(&json!({"iss": format!("{}/", provider.issuer)}))),
        ("another audience", provider.token(&json!({"aud": ["account"]}))),
        ("no audience", provider.token(&json!({"aud": null}))),
        ("nobody", provider.token(&json!({"sub": null}))),
        ("a refresh token", provider.token(&json!({"typ": "Refresh"}))),
        ("a logout token", provider.signed(&typed("logout+jwt"), &json!({}))),
        ("a critical parameter", provider.signed(&critical, &json!({}))),
        ("an unknown key", provider.signed(&header("second"), &json!({}))),
        ("another key", by_another),
        ("a public key as a secret", by_secret),
        ("no signature", unsigned),
        ("no token", "ada".to_owned()),
        ("a token of this cloud", system.cloud.token(&local::token::Identity::user("acme", "ada")).unwrap()),
    ];
    for (what, token) in refused {
        let request = turn("hello");
        let answer = with(&system, token).execute(&request).await;
        assert_eq!((answer.status, answer.error().as_str()), (401, "Unauthenticated"), "{what}");
        let ada = with(&system, provider.token(&json!({})));
        assert_eq!(ada.get(&session_path(&request)).await.status, 404, "{what}");
    }
    assert_eq!(system.anonymous().execute(&turn("hello")).await.status, 401);
    assert!(system.model_calls().is_empty());

    // Clocks differ: a minute is allowed for.
    let late = provider.token(&json!({"exp": now - 5, "nbf": now + 10, "iat": now + 10}));
    with(&system, late).execute(&turn("hello")).await.result();
}

#[tokio::test]
async fn token_with_no_org_or_two_names_the_missing_claim() {
    let provider = Provider::start().await;
    let system = trusting(&provider).await;
    for groups in [json!(["staff"]), json!(["org:acme", "org:rival"]), json!([])] {
        let answer = with(&system, provider.token(&json!({"groups": groups}))).execute(&turn("hello")).await;
        assert_eq!(answer.status, 401, "{groups}");
        assert!(answer.text.contains("The token holds no claim groups"), "{}", answer.text);
    }
}

#[tokio::test]
async fn token_with_too_many_groups_is_refused_and_not_taken_for_none() {
    let provider = Provider::start().await;
    let system = trusting(&provider).await;
    for marker in [json!({"_claim_names": {"groups": "src1"}}), json!({"hasgroups": true})] {
        // Its client has an org, which is not the user's.
        let mut claims = json!({"azp": "ci"});
        claims.as_object_mut().unwrap().extend(marker.as_object().unwrap().clone());
        let token = encode(&header("first"), &without_groups(&provider, &claims), &provider.key).unwrap();
        let answer = with(&system, token).execute(&turn("hello")).await;
        assert_eq!((answer.status, answer.error().as_str()), (401, "Unauthenticated"), "{marker}");
        assert!(answer.text.contains("leaves out the claim groups"), "{}", answer.text);
    }
    assert!(system.model_calls().is_empty());
}

fn without_groups(provider: &Provider, other: &Value) -> Value {
    let mut claims = provider.claims(other);
    claims.as_object_mut().unwrap().remove("groups");
    claims
}

#[tokio::test]
async fn malformed_key_of_the_provider_does_not_lock_users_out() {
    let provider = Provider::start().await;
    let malformed = json!({"kty": "RSA", "kid": "second", "n": 5});
    provider.published.keys.lock().unwrap().insert(0, malformed);
    let system = trusting(&provider).await;
    with(&system, provider.token(&json!({}))).execute(&turn("hello")).await.result();
}

#[tokio::test]
async fn provider_outage_is_temporary_and_cached_keys_still_verify() {
    let provider = Provider::start().await;
    *provider.published.is_away.lock().unwrap() = true;
    let system = trusting(&provider).await;
    let ada = with(&system, provider.token(&json!({})));
    let request = turn("hello");
    let answer = ada.execute(&request).await;
    assert_eq!((answer.status, answer.error().as_str()), (500, "Internal"));
    *provider.published.is_away.lock().unwrap() = false;
    ada.execute(&request).await.result();
    *provider.published.is_away.lock().unwrap() = true;
    ada.execute(&turn("hello")).await.result();
}
