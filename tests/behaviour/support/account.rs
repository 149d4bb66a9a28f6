//! An account of AWS over its wire protocols, with one stack, whose provider and vector database are those of a system.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::sources::serve;
use super::{PATIENCE, System};
use crate::provider_start::aptix;

/// Name of the stack.
pub const ACCOUNT_STACK: &str = "agent-dev";
const TOPIC: &str = "arn:aws:sns:us-east-1:123456789012:alarms";
const SECRET: &str = "arn:aws:secretsmanager:us-east-1:123456789012:secret:key-a1b2c3";

const PAGE_TOKEN_KEY: &str = "arn:aws:secretsmanager:us-east-1:123456789012:secret:PageTokenKey-a1b2c3";
const FUNCTION: &str = "agent-dev-session-read";

/// An account with one stack.
pub struct Account {
    url: String,
    /// Configuration folder of the user.
    pub home: TempDir,
    facts: Arc<Mutex<Facts>>,
}

/// The account's state.
#[derive(Clone)]
pub struct Facts {
    pub status: &'static str,
    pub parameters: BTreeMap<&'static str, String>,
    /// Outputs beside those of every stack.
    pub outputs: BTreeMap<&'static str, String>,
    /// None if the credentials may not read it.
    pub secret: Option<String>,
    pub quota: u64,
    pub flows: Value,
    pub alarm_actions: Vec<&'static str>,
    pub subscription: &'static str,
    /// The secret with the keys of page tokens.
    pub page_token_keys: String,
    /// The keys in the environment of the deployed function.
    pub deployed_keys: String,
}

impl Account {
    /// Starts an account in which everything is right. The provider is that of the system.
    pub async fn start(system: &System) -> Self {
        let endpoints = system.cloud.endpoints();
        let facts = Facts {
            status: "UPDATE_COMPLETE",
            parameters: BTreeMap::from([
                ("AuthMode", "cognito".to_owned()),
                ("OpenAiApiKeySecretArn", SECRET.to_owned()),
                ("OpenAiBaseUrl", endpoints.model.clone()),
                ("ModelName", "scripted".to_owned()),
                ("QdrantUrl", String::new()),
            ]),
            outputs: BTreeMap::new(),
            secret: Some("sk-1".to_owned()),
            quota: 1_000,
            flows: json!(["ALLOW_USER_SRP_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"]),
            alarm_actions: vec![TOPIC],
            subscription: "arn:aws:sns:us-east-1:123456789012:alarms:1",
            page_token_keys: "key-1".to_owned(),
            deployed_keys: "key-1".to_owned(),
        };
        let facts = Arc::new(Mutex::new(facts));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&facts));
        Self { url: serve(router).await, home: tempfile::tempdir().unwrap(), facts }
    }

    /// Changes the account.
    pub fn change(&self, change: impl FnOnce(&mut Facts)) {
        change(&mut self.facts.lock().unwrap());
    }

    /// The stored keys of page tokens.
    pub fn page_token_keys(&self) -> String {
        self.facts.lock().unwrap().page_token_keys.clone()
    }

    /// Runs a command with credentials of the account. Returns its exit status, its output and its errors.
    pub async fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        self.run_with(arguments, &[]).await
    }

    /// Runs a command with credentials of the account and further variables.
    pub async fn run_with(&self, arguments: &[&str], more: &[(&str, &str)]) -> (Option<i32>, String, String) {
        let home = self.home.path().to_str().unwrap();
        let environment = [
            ("HOME", home),
            ("XDG_CONFIG_HOME", home),
            ("AWS_ENDPOINT_URL", self.url.as_str()),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ];
        let mut command = aptix(arguments, &[&environment[..], more].concat());
        for variable in ["AWS_PROFILE", "QDRANT_URL", "EMBEDDING_BASE_URL", "EMBEDDING_MODEL"] {
            command.env_remove(variable);
        }
        let done = tokio::time::timeout(PATIENCE, command.output()).await.expect("an end").unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    }

    /// Runs `aptix doctor`. Returns its exit status and its lines.
    pub async fn doctor(&self) -> (Option<i32>, Vec<String>) {
        let (status, output, errors) = self.run(&["doctor", "--stack", ACCOUNT_STACK]).await;
        assert_eq!(errors, "");
        (status, output.lines().map(str::to_owned).collect())
    }

    /// Makes this change alone, and returns the exit status and the line about the subject.
    pub async fn line_after(&self, subject: &str, change: impl FnOnce(&mut Facts)) -> (Option<i32>, String) {
        let before = self.facts.lock().unwrap().clone();
        self.change(change);
        let (status, lines) = self.doctor().await;
        *self.facts.lock().unwrap() = before;
        let about = format!(" {subject}: ");
        (
            status,
            lines.iter().find(|line| line.contains(&about)).unwrap_or_else(|| panic!("{lines:?}")).clone(),
        )
    }
}

type Answer = (StatusCode, String);

async fn answer(State(state): State<Arc<Mutex<Facts>>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Answer {
    let facts = state.lock().unwrap().clone();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    assert!(header("authorization").starts_with("AWS4-HMAC-SHA256 Credential="), "{uri} is not signed");
    let body = String::from_utf8_lossy(&body).into_owned();
    let action = body.split('&').find_map(|pair| pair.strip_prefix("Action=")).unwrap_or_default().to_owned();
    let target = header("x-amz-target").rsplit('.').next().unwrap_or_default().to_owned();
    let json = |value: Value| (StatusCode::OK, value.to_string());
    match (uri.path(), action.as_str(), target.as_str()) {
        ("/2016-08-19/account-settings", ..) => json(json!({
            "AccountLimit": {"ConcurrentExecutions": facts.quota, "UnreservedConcurrentExecutions": facts.quota},
        })),
        (_, "DescribeStacks", _) => (StatusCode::OK, describe_stacks(&facts)),
        (.., "DescribeAlarms") => {
            assert!(body.contains(r#""AlarmNamePrefix":"agent-dev-""#), "{body}");
            json(json!({"MetricAlarms": [{
                "AlarmName": "agent-dev-A", "ActionsEnabled": true, "AlarmActions": facts.alarm_actions,
                "StateValue": "OK",
            }]}))
        }
        (_, "ListSubscriptionsByTopic", _) => {
            let subscription =
                format!("<member><SubscriptionArn>{}</SubscriptionArn></member>", facts.subscription);
            let list = format!("<Subscriptions>{subscription}</Subscriptions>");
            let result = format!("<ListSubscriptionsByTopicResult>{list}</ListSubscriptionsByTopicResult>");
            (
                StatusCode::OK,
                format!("<ListSubscriptionsByTopicResponse>{result}</ListSubscriptionsByTopicResponse>"),
            )
        }
        (_, "DescribeStackResource", _) => {
            let id = if body.contains("LogicalResourceId=PageTokenKey") { PAGE_TOKEN_KEY } else { FUNCTION };
            let detail = format!(
                "<StackResourceDetail><PhysicalResourceId>{id}</PhysicalResourceId></StackResourceDetail>"
            );
            let result = format!("<DescribeStackResourceResult>{detail}</DescribeStackResourceResult>");
            (
                StatusCode::OK,
                format!("<DescribeStackResourceResponse>{result}</DescribeStackResourceResponse>"),
            )
        }
        (path, ..) if path == format!("/2015-03-31/functions/{FUNCTION}/configuration") => {
            assert_eq!(uri.query(), Some("Qualifier=current"));
            json(json!({"Environment": {"Variables": {"PAGE_TOKEN_KEY": facts.deployed_keys}}}))
        }
        (.., "GetSecretValue") if body.contains(PAGE_TOKEN_KEY) => {
            json(json!({"ARN": PAGE_TOKEN_KEY, "SecretString": facts.page_token_keys}))
        }
        (.., "PutSecretValue") => {
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["SecretId"], PAGE_TOKEN_KEY);
            state.lock().unwrap().page_token_keys = body["SecretString"].as_str().unwrap().to_owned();
            json(json!({"ARN": PAGE_TOKEN_KEY}))
        }
        (.., "GetSecretValue") => match facts.secret {
            Some(secret) => json(json!({"ARN": SECRET, "SecretString": secret})),
            None => {
                let denied = json!({"__type": "AccessDeniedException", "Message": "not authorized"});
                (StatusCode::BAD_REQUEST, denied.to_string())
            }
        },
        (.., "DescribeUserPoolClient") => json(json!({"UserPoolClient": {"ExplicitAuthFlows": facts.flows}})),
        (path, action, target) => panic!("{path} {action} {target}"),
    }
}

fn describe_stacks(facts: &Facts) -> String {
    let fixed = [
        ("ApiUrl", "http://127.0.0.1:9"),
        ("UserPoolId", "us-east-1_TestPool1"),
        ("UserPoolClientId", "client-1"),
        ("AlarmTopicArn", TOPIC),
    ];
    let added = facts.outputs.iter().map(|(name, value)| (*name, value.as_str()));
    let outputs: String = fixed
        .into_iter()
        .chain(added)
        .map(|(name, value)| {
            format!("<member><OutputKey>{name}</OutputKey><OutputValue>{value}</OutputValue></member>")
        })
        .collect();
    let parameters: String = facts
        .parameters
        .iter()
        .map(|(name, value)| {
            format!(
                "<member><ParameterKey>{name}</ParameterKey><ParameterValue>{value}</ParameterValue></member>"
            )
        })
        .collect();
    format!(
        "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackStatus>{}</StackStatus>\
         <Outputs>{outputs}</Outputs><Parameters>{parameters}</Parameters></member></Stacks></DescribeStacksResult>\
         </DescribeStacksResponse>",
        facts.status
    )
}
