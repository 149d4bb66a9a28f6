//! Providers whose requests are signed with AWS credentials, as those to Amazon Bedrock are
//! (docs/guides/providers.md). A mock model verifies the signatures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};
use local::{Function, Options};
use mock_wires::SignatureCheck;
use reqwest::Method;
use serde_json::{Value, json};

use crate::client_tools::{results, submit};
use crate::provider_start::{aptix, curl_line, stderr_of};
use crate::support::{
    NamedProvider, PATIENCE, System, declaring, final_text_and_result, is_chained, session_path, turn,
    turn_in, workspace_turn,
};

const SECRET: &str = "wJalrXUtnFEMI/marker-secret";
const SESSION_TOKEN: &str = "marker-session-token";

/// Credentials of the developer, without an end.
fn credentials(secret: &str, session_token: &str) -> Credentials {
    Credentials::new("AKIDEXAMPLE", secret, Some(session_token.to_owned()), None, "test")
}

/// Credentials that the mock model accepts.
pub fn valid_credentials() -> Credentials {
    credentials(SECRET, SESSION_TOKEN)
}

/// The signatures for a service that the mock model accepts.
pub fn check(service: &str) -> SignatureCheck {
    SignatureCheck {
        access_key: "AKIDEXAMPLE".to_owned(),
        secret: SECRET.to_owned(),
        session_token: Some(SESSION_TOKEN.to_owned()),
        region: "eu-central-1".to_owned(),
        service: service.to_owned(),
    }
}

/// The declaration of a provider whose requests are signed for a service.
pub fn declaration(wire: &str, provider: &NamedProvider, service: &str) -> Value {
    json!({
        "Name": "bedrock", "Wire": wire, "BaseUrl": provider.base, "Auth": "aws-sigv4", "AwsService": service,
        "AwsRegion": "eu-central-1",
    })
}

/// A cloud whose default provider is this one, with requests signed by these credentials. It has no key of any provider.
fn signing(provider: &NamedProvider, credentials: SharedCredentialsProvider) -> Options {
    signing_on("responses", provider, credentials)
}

/// The same with a provider of this wire.
fn signing_on(wire: &str, provider: &NamedProvider, credentials: SharedCredentialsProvider) -> Options {
    let mut options = declaring(&json!([declaration(wire, provider, "bedrock")]));
    options.environment.insert("MODEL_PROVIDER".to_owned(), "bedrock".to_owned());
    options.environment.insert("OPENAI_API_KEY".to_owned(), String::new());
    options.aws_credentials = Some(credentials);
    options
}

#[tokio::test]
async fn signed_requests_verify_in_every_kind_of_turn() {
    let bedrock = NamedProvider::signed(check("bedrock")).await;
    let credentials = SharedCredentialsProvider::new(valid_credentials());
    let system = System::with(signing(&bedrock, credentials)).await;
    let ada = system.client("acme", "ada");

    let buffered = ada.execute(&turn_in("s", "First [[script: say \"One.\"]]")).await.result();
    assert_eq!(buffered["PrimaryOutputText"], "One.");
    let streamed = turn_in("s", "Second [[script: words 40]]");
    let events =
        ada.execute_streaming(&streamed, None).await.unwrap_or_else(|_| panic!("a stream")).rest().await;
    assert!(final_text_and_result(&events).0.contains("40"));
    let rounds = turn_in("s", "Third [[script: call agent_list_modes {}; then; say \"Three.\"]]");
    assert_eq!(ada.execute(&rounds).await.result()["PrimaryOutputText"], "Three.");
    let calls = bedrock.calls();
    assert_eq!(calls.iter().map(is_chained).collect::<Vec<_>>(), [false, true, true, true]);
    assert!(bedrock.requests().iter().all(|request| request["query"].is_null()));
    assert!(system.model_calls().is_empty());

    // The other function that calls models.
    let asks = "[[script: call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]";
    let suspended = ada.execute(&workspace_turn(asks)).await.result();
    let answer = submit(&ada, &results(&suspended, "contents")).await.result();
    assert_eq!(answer["PrimaryOutputText"], "Read.");
}

#[tokio::test]
async fn signed_requests_verify_on_every_wire() {
    for (wire, conversation) in [
        ("responses", "input"),
        ("chat-completions", "messages"),
        ("anthropic-messages", "messages"),
        ("bedrock-converse", "messages"),
    ] {
        let bedrock = NamedProvider::signed(check("bedrock")).await;
        let credentials = SharedCredentialsProvider::new(valid_credentials());
        let mut options = signing_on(wire, &bedrock, credentials);
        // The signature covers its colon in the path of the Converse API.
        options.environment.insert("OPENAI_MODEL".to_owned(), "amazon.nova-mock-v1:0".to_owned());
        let system = System::with(options).await;
        let request = turn("Go [[script: call agent_list_modes {}; then; say \"Signed.\"]]");
        let answer = system.client("acme", "ada").execute(&request).await.result();
        assert_eq!(answer["PrimaryOutputText"], "Signed.", "{wire}");
        let requests = bedrock.requests();
        assert_eq!(requests.len(), 2, "{wire}");
        for request in &requests {
            assert!(request["body"][conversation].is_array(), "{wire}");
            assert!(request["headers"].get("x-api-key").is_none(), "{wire}");
            let is_versioned = request["headers"].get("anthropic-version").is_some();
            assert_eq!(is_versioned, wire == "anthropic-messages");
        }
        assert_eq!(bedrock.invalid_requests(), [] as [&str; 0], "{wire}");
    }
}

#[tokio::test]
async fn wrong_key_is_named_without_any_secret() {
    let bedrock = NamedProvider::signed(check("bedrock")).await;
    let wrong = SharedCredentialsProvider::new(credentials("marker-secret-of-another", SESSION_TOKEN));
    let mut options = signing(&bedrock, wrong);
    options.provider_messages = true;
    let system = System::with(options).await;
    let answer = system.client("acme", "ada").execute(&turn("Hello")).await;
    assert_eq!((answer.status, answer.error().as_str()), (502, "ModelMisconfigured"));
    let lines = system.logged(Function::Execute, "model call failed", |_| true).await;
    assert!(lines.iter().any(|line| line["code"] == "InvalidSignatureException"), "{lines:?}");
    assert!(answer.text.contains("The request signature we calculated does not match"), "{}", answer.text);
    let log = std::fs::read_to_string(system.cloud.log_file(Function::Execute)).unwrap();
    for text in [&log, &answer.text] {
        assert!(!text.contains("marker-"), "a secret is shown: {text}");
    }
    assert!(bedrock.calls().is_empty());
}

/// Credentials of which the first are expired.
#[derive(Debug)]
struct Renewed(Arc<AtomicUsize>);

impl ProvideCredentials for Renewed {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        let is_first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
        let token = if is_first { "an-expired-token" } else { SESSION_TOKEN };
        future::ProvideCredentials::ready(Ok(credentials(SECRET, token)))
    }
}

#[tokio::test]
async fn expired_credentials_are_fetched_again_within_the_turn() {
    let bedrock = NamedProvider::signed(check("bedrock")).await;
    let fetched = Arc::new(AtomicUsize::new(0));
    let credentials = SharedCredentialsProvider::new(Renewed(Arc::clone(&fetched)));
    let mut options = signing(&bedrock, credentials);
    options.concurrency = 1;
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    for _ in 0..2 {
        let answer = ada.execute(&turn("Hello [[script: say \"Yes.\"]]")).await.result();
        assert_eq!(answer["PrimaryOutputText"], "Yes.");
    }
    assert_eq!(fetched.load(Ordering::SeqCst), 2, "the second are used until they are refused");
}

#[tokio::test]
async fn purge_deletes_stored_responses_with_a_signature() {
    let bedrock = NamedProvider::signed(check("bedrock")).await;
    let credentials = SharedCredentialsProvider::new(valid_credentials());
    let mut options = signing(&bedrock, credentials);
    options.environment.insert("PURGE_RECHECK_SECONDS".to_owned(), "1".to_owned());
    options.sweep = Some(Duration::from_secs(1));
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    let request = turn("Hello [[script: say \"Yes.\"]]");
    let answered = ada.execute(&request).await.result();
    assert_eq!(answered["PrimaryOutputText"], "Yes.");
    ada.send(Method::DELETE, &format!("{}?purge=true", session_path(&request)), None).await.result();
    let path = format!("{}/purge", session_path(&request));
    let report = ada.until(&path, PATIENCE, |answer| answer.text.contains("\"State\":\"done\"")).await;
    let removed = json!({"Removed": 1, "Pending": 0, "NotRemoved": 0});
    assert_eq!((&report.result()["UpstreamResponses"], bedrock.removals().len()), (&removed, 1));
}

#[tokio::test]
async fn wrong_signing_settings_stop_the_start_and_are_all_named() {
    let mut options = declaring(&json!([
        {"Name": "one", "BaseUrl": "http://localhost/v1", "Auth": "aws-sigv4", "KeySetting": "OPENAI_API_KEY"},
        {"Name": "two", "BaseUrl": "https://bedrock-mantle.us-east-1.api.aws/v1", "Auth": "aws-sigv4",
         "AwsService": "bedrock"},
        {"Name": "three", "BaseUrl": "http://localhost/v1", "AwsRegion": "us-east-1"},
        {"Name": "four", "BaseUrl": "http://localhost/v1", "Auth": "basic"},
    ]));
    options.aws_credentials = Some(SharedCredentialsProvider::new(valid_credentials()));
    let system = System::with(options).await;
    let answer = system.client("acme", "ada").execute(&turn("Hello")).await;
    assert!(answer.status >= 500, "{answer:?}");
    let expected = [
        "MODEL_PROVIDERS[0].KeySetting must be left out where Auth is aws-sigv4",
        "MODEL_PROVIDERS[0].Auth aws-sigv4 needs AwsService, such as bedrock, and AwsRegion for this host",
        "MODEL_PROVIDERS[1].AwsService must be bedrock-mantle for this host",
        "MODEL_PROVIDERS[2].AwsRegion needs Auth aws-sigv4",
        "MODEL_PROVIDERS[3]: unknown variant `basic`, expected `bearer` or `aws-sigv4`",
    ];
    system.until_logs(|logs| expected.iter().all(|fault| logs.contains(fault))).await;
}

#[tokio::test]
async fn bedrock_preset_signs_with_the_developers_credentials() {
    let bedrock = NamedProvider::signed(check("bedrock")).await;
    let start = ["--ephemeral", "--port", "0", "--provider", "bedrock"];
    let at = ["--model-name", "us.openai.gpt-5.6", "--model-base-url", bedrock.base.as_str()];
    let home = tempfile::tempdir().unwrap();
    let home = home.path().to_str().unwrap();
    let nothing = [("HOME", home), ("AWS_EC2_METADATA_DISABLED", "true")];
    let region = [&nothing[..], &[("AWS_REGION", "eu-central-1")]].concat();
    let keys = |secret: &'static str| {
        let keys = [
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
            ("AWS_SECRET_ACCESS_KEY", secret),
            ("AWS_SESSION_TOKEN", SESSION_TOKEN),
        ];
        [&region[..], &keys].concat()
    };
    for (options, environment, why) in [
        (&at[..], nothing.to_vec(), "Set AWS_REGION"),
        (&at[2..], region.clone(), "--model-name"),
        (&at[..], region.clone(), "There are no AWS credentials"),
        (&at[..], keys("another"), "rejected the AWS credentials (403 InvalidSignatureException)"),
    ] {
        let all = [&start[..], options].concat();
        let told = stderr_of(&all, &environment).await;
        assert!(told.contains(why) && told.lines().count() == 1, "{options:?}: {told}");
        assert!(!told.contains("marker-"), "{told}");
    }
    let wires = [
        ("responses", "input", "model"),
        ("anthropic-messages", "messages", "model"),
        ("bedrock-converse", "messages", "modelId"),
    ];
    for (wire, conversation, model) in wires {
        let arguments = [&start[..], &at[..], &["--model-wire", wire]].concat();
        let mut running = aptix(&arguments, &keys(SECRET)).spawn().unwrap();
        let line = curl_line(&mut running).await;
        let line = line.replace("Hello! What are you?", "Hello [[script: words 3]]");
        let asked = tokio::process::Command::new("sh").args(["-c", &line]).output().await.unwrap();
        assert!(String::from_utf8_lossy(&asked.stdout).contains("word1 word2 word3"), "{asked:?}");
        let call = bedrock.calls().pop().unwrap();
        assert_eq!(call[model], "us.openai.gpt-5.6");
        assert!(call[conversation].is_array(), "{wire}");
        running.kill().await.unwrap();
    }
    assert_eq!(bedrock.calls().len(), wires.len(), "no probe is recorded");
}
