//! `AuthMode: oidc`: the `authorizer` function says who calls, from the tokens of a provider that is none of ours.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};

use aws_sdk_dynamodb::types::AttributeValue;
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
    trusting_with(provider, &[], None).await
}

/// A system that trusts this provider, with these settings, whose events go into this folder.
async fn trusting_with(provider: &Provider, other: &[(&str, &str)], event_folder: Option<&Path>) -> System {
    let oidc = Oidc { issuer: provider.issuer.clone(), audiences: "aptix-api,aptix-ci".to_owned() };
    let set = [
        ("ORG_CLAIM", "groups"),
        ("ORG_GROUP_PREFIX", "org:"),
        ("OPERATOR_CLAIM", "/realm/roles"),
        ("OPERATOR_GROUP", "operators"),
    ];
    let set = set.iter().chain(other).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let event_folder = event_folder.map(Path::to_owned);
    System::with(Options { oidc: Some(oidc), environment: set.collect(), event_folder, ..options() }).await
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

/// Runs a command with these arguments on the data folder of a system.
async fn run(system: &System, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = system.cloud.data_folder().to_str().unwrap();
    let output = aptix(&[arguments, &["--data", folder]].concat(), &[]).output().await.unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

async fn clients(system: &System, arguments: &[&str]) -> (Option<i32>, String) {
    run(system, &[&["clients"], arguments].concat()).await
}

async fn usage_keys(system: &System, arguments: &[&str]) -> (Option<i32>, String) {
    run(system, &[&["admin", "usage-keys"], arguments].concat()).await
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

const SHARED: &str = "shared-0123456789-0123456789";
const OF_SETTING: &str = "setting-0123456789-0123456789";

/// Returns the API key in the newest event of a read.
fn key_of_last_event(folder: &Path) -> Value {
    let mut events: Vec<_> = std::fs::read_dir(folder).unwrap().map(|event| event.unwrap().path()).collect();
    events.retain(|path| path.to_string_lossy().ends_with("-session-read.json"));
    let newest = events.into_iter().max_by_key(|path| path.metadata().unwrap().modified().unwrap()).unwrap();
    let event: Value = serde_json::from_slice(&std::fs::read(newest).unwrap()).unwrap();
    event["requestContext"]["identity"]["apiKey"].clone()
}

#[tokio::test]
async fn requests_count_against_the_usage_key_that_the_table_names() {
    let (provider, folder) = (Provider::start().await, tempfile::tempdir().unwrap());
    let setting = format!("acme={OF_SETTING},rival={OF_SETTING}");
    let set = [("SHARED_USAGE_KEY", SHARED), ("USAGE_KEYS", setting.as_str())];
    let system = trusting_with(&provider, &set, Some(folder.path())).await;
    let key = async |user: &str, org: &str| {
        // Keys are cached for a minute; another process has not read them.
        system.cloud.crash(Function::Authorizer);
        let token = provider.token(&json!({"sub": user, "groups": [format!("org:{org}")]}));
        let client = with(&system, token);
        client.until("/api/ai/agent/sessions", PATIENCE, |answer| answer.status == 200).await;
        key_of_last_event(folder.path())
    };
    assert_eq!((key("ada", "acme").await, key("ada", "other").await), (json!(OF_SETTING), json!(SHARED)));
    let [org, user] = ["of-acme-0123456789-0123", "of-ada-0123456789-01234"];
    let file = folder.path().join("keys.txt");
    std::fs::write(&file, json!({"acme": org, "acme/ada": user}).to_string()).unwrap();
    let saved = usage_keys(&system, &["put", "--file", file.to_str().unwrap()]).await;
    assert_eq!(saved, (Some(0), "Saved 2 usage keys. They apply within two minutes.\n".to_owned()));
    assert_eq!(key("ada", "acme").await, user);
    assert_eq!(key("bob", "acme").await, org, "the table precedes the setting");
    assert_eq!(key("ada", "rival").await, OF_SETTING);
    assert_eq!(key("ada", "other").await, SHARED);

    let other = ["put", "other", "--user", "ada", "--key", user];
    assert_eq!(usage_keys(&system, &other).await.0, Some(0));
    assert_eq!(key("ada", "other").await, user);
    assert_eq!(usage_keys(&system, &["remove", "acme", "--user", "ada"]).await.0, Some(0));
    assert_eq!(key("ada", "acme").await, org);
    let listed = usage_keys(&system, &["list"]).await.1;
    assert_eq!(listed.split_whitespace().collect::<Vec<_>>(), ["acme", org, "other/ada", user]);
}

/// A map with a fault is refused when it is written. Nothing of it is stored.
#[tokio::test]
async fn invalid_usage_keys_are_refused_and_leave_no_trace() {
    let provider = Provider::start().await;
    let system = trusting(&provider).await;
    let (folder, key) = (tempfile::tempdir().unwrap(), "of-acme-0123456789-0123");
    let file = folder.path().join("keys.json");
    let path = file.to_str().unwrap();
    for (keys, named) in [
        (json!({"acme": key, "other": "short"}), "\"other\" must have 20 to 128"),
        (json!({"acme": key, "other/": key}), "\"other/\" must not be empty"),
        (json!({"acme": 5}), "Invalid JSON"),
        (json!([key]), "Invalid JSON"),
    ] {
        std::fs::write(&file, keys.to_string()).unwrap();
        let (code, output) = usage_keys(&system, &["put", "--file", path]).await;
        assert!(code == Some(1) && output.contains(named), "{output}");
    }
    for arguments in
        [&["put", "acme"][..], &["put"], &["put", "acme", "--key", "short"], &["put", "..", "--key", key]]
    {
        assert_eq!(usage_keys(&system, arguments).await.0, Some(2), "{arguments:?}");
    }
    assert_eq!(usage_keys(&system, &["list"]).await, (Some(0), String::new()));
}

/// A caller whose key can't be read must not get the limit of another.
#[tokio::test]
async fn unreadable_usage_key_refuses_its_callers_and_no_others() {
    let provider = Provider::start().await;
    // A faulty map in the setting stops nothing.
    let set = [("SHARED_USAGE_KEY", SHARED), ("USAGE_KEYS", "{")];
    let system = trusting_with(&provider, &set, None).await;
    let item = [("PK", "USAGE_KEYS"), ("SK", "acme"), ("Org", "acme"), ("UsageKey", "short")]
        .map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned())));
    let put = system.cloud.dynamodb().put_item().table_name(system.cloud.table());
    put.set_item(Some(item.into())).send().await.unwrap();
    let request = turn("hello");
    let answer = with(&system, provider.token(&json!({}))).execute(&request).await;
    assert_eq!((answer.status, answer.error().as_str()), (500, "Internal"));
    let other = with(&system, provider.token(&json!({"groups": ["org:other"]})));
    other.execute(&turn("hello")).await.result();
    assert_eq!(usage_keys(&system, &["list"]).await.0, Some(1));
    assert_eq!(usage_keys(&system, &["remove", "acme"]).await.0, Some(0));
    with(&system, provider.token(&json!({}))).execute(&request).await.result();
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
