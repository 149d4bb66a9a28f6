//! Enforces the roles of `template.yaml` on the functions' AWS calls: refuses a call that the role does not allow, as IAM
//! does, and records the used permissions.
//!
//! A proxy between the functions and the table, the bucket and the queue identifies the caller by its access key.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock, Mutex},
};

use axum::http::{Method, StatusCode, header, request::Parts};
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use local::{Cloud, Options};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use yaml_serde::Value as Yaml;

const TABLE: &str = "Table";
const BUCKET: &str = "PayloadBucket";
const QUEUE: &str = "FinalizeQueue";

/// The runtime of the proxies, separate from the tests' single-threaded runtimes.
static BESIDE: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap());

/// A statement of a role, for one function.
#[derive(Debug, Clone)]
pub struct Statement {
    pub function: String,
    pub sid: String,
    pub actions: Vec<String>,
    /// Logical names in place of ARNs, such as `Table`, `Table/index/GSI1` or `PayloadBucket/*`.
    pub resources: Vec<String>,
}

/// A used action or resource of a statement.
pub type Used = (String, String, String);

/// The permissions of the roles, and their use.
#[derive(Debug, Default)]
pub struct Roles {
    statements: Vec<Statement>,
    used: Mutex<BTreeSet<Used>>,
    /// The number of calls of each action.
    counts: Mutex<BTreeMap<String, u32>>,
    targets: Mutex<BTreeMap<&'static str, String>>,
}

impl Roles {
    /// Routes the functions of a cloud through the proxy, before the cloud starts.
    pub async fn before(options: &mut Options) -> Arc<Self> {
        let roles = Arc::new(Self { statements: statements(), ..Self::default() });
        for (variable, service) in [
            ("AWS_ENDPOINT_URL_DYNAMODB", TABLE),
            ("AWS_ENDPOINT_URL_S3", BUCKET),
            ("AWS_ENDPOINT_URL_SQS", QUEUE),
        ] {
            if options.environment.contains_key(variable) {
                continue;
            }
            let bound = BESIDE.spawn(tokio::net::TcpListener::bind("127.0.0.1:0"));
            let listener = bound.await.unwrap().unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            options.environment.insert(variable.to_owned(), url);
            let state = (Arc::clone(&roles), service, reqwest::Client::new());
            let router = Router::new().fallback(pass).with_state(state);
            BESIDE.spawn(async move { axum::serve(listener, router).await });
        }
        roles
    }

    /// Sets the addresses of the services once the cloud has started.
    pub fn set_addresses(&self, cloud: &Cloud) {
        let at = cloud.endpoints();
        let targets = [(TABLE, at.dynamodb.clone()), (BUCKET, at.s3.clone()), (QUEUE, at.sqs.clone())];
        self.targets.lock().unwrap().extend(targets);
    }

    /// Returns the permissions used so far.
    pub fn used(&self) -> BTreeSet<Used> {
        self.used.lock().unwrap().clone()
    }

    /// Returns the actions since the last call, with their number.
    pub fn take_counts(&self) -> BTreeMap<String, u32> {
        std::mem::take(&mut *self.counts.lock().unwrap())
    }

    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// True if the function is allowed the call; records the statement that allows it.
    fn allows(&self, function: &str, action: &str, resource: &str) -> bool {
        let of_function = self.statements.iter().filter(|statement| statement.function == function);
        let found = of_function.filter(|statement| statement.actions.iter().any(|allowed| allowed == action));
        let found =
            found.flat_map(|statement| statement.resources.iter().map(move |pattern| (statement, pattern)));
        let Some((statement, pattern)) = found.into_iter().find(|(_, pattern)| matches(pattern, resource))
        else {
            return false;
        };
        let used =
            [action, pattern].map(|used| (function.to_owned(), statement.sid.clone(), used.to_owned()));
        self.used.lock().unwrap().extend(used);
        *self.counts.lock().unwrap().entry(action.to_owned()).or_default() += 1;
        true
    }
}

/// Returns whether a text matches a pattern, in which `*` is any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            (0..=text.len()).any(|cut| text.get(cut..).is_some_and(|text| matches(rest, text)))
        }),
    }
}

/// Returns all statements of the functions' roles.
fn statements() -> Vec<Statement> {
    let template: Yaml = yaml_serde::from_str(include_str!("../../../template.yaml")).unwrap();
    let resources = template["Resources"].as_mapping().unwrap();
    let functions = resources.iter().filter(|(_, resource)| resource["Type"] == "AWS::Serverless::Function");
    let mut statements = Vec::new();
    for (_, function) in functions {
        let name = function["Metadata"]["BuildProperties"]["Binary"].as_str().unwrap();
        let role = said(&function["Properties"]["Role"]);
        let role = &template["Resources"][role.as_str()];
        let policies = role["Properties"]["Policies"].as_sequence().unwrap().iter();
        // Optional resources are under an `!If`: no local cloud has them.
        for policy in policies.filter(|policy| !matches!(policy, Yaml::Tagged(_))) {
            let statements_of = policy["PolicyDocument"]["Statement"].as_sequence().unwrap().iter();
            for statement in statements_of.filter(|statement| !matches!(statement, Yaml::Tagged(_))) {
                statements.push(Statement {
                    function: name.to_owned(),
                    sid: statement["Sid"].as_str().expect("every statement has a Sid").to_owned(),
                    actions: all(&statement["Action"]),
                    resources: all(&statement["Resource"]),
                });
            }
        }
    }
    statements
}

fn all(one_or_more: &Yaml) -> Vec<String> {
    match one_or_more {
        Yaml::Sequence(several) => several.iter().map(said).collect(),
        one => vec![said(one)],
    }
}

/// Returns a text, or the target of a `!GetAtt`, `!Sub` or `!Ref`, with logical names in place of ARNs.
fn said(value: &Yaml) -> String {
    let text = match value {
        Yaml::Tagged(tagged) if tagged.tag == "GetAtt" => {
            return tagged.value.as_str().unwrap().replace(".Arn", "");
        }
        Yaml::Tagged(tagged) => tagged.value.as_str().unwrap(),
        other => other.as_str().unwrap(),
    };
    text.replace("${", "").replace(".Arn}", "")
}

/// Returns the actions and resources that a call needs.
fn needed(service: &str, request: &Parts, body: &[u8]) -> Vec<(String, String)> {
    let target = request.headers.get("x-amz-target").map_or("", |target| target.to_str().unwrap());
    let operation = target.rsplit('.').next().unwrap();
    match service {
        TABLE => of_table(operation, &serde_json::from_slice(body).unwrap()),
        QUEUE => vec![(format!("sqs:{operation}"), QUEUE.to_owned())],
        _ => of_bucket(request, body),
    }
}

fn of_table(operation: &str, body: &Value) -> Vec<(String, String)> {
    let on = |action: &str| (format!("dynamodb:{action}"), TABLE.to_owned());
    match (operation, body["IndexName"].as_str()) {
        ("TransactWriteItems", _) => {
            let items = body["TransactItems"].as_array().unwrap().iter();
            let parts = items.flat_map(|item| item.as_object().unwrap().keys());
            parts
                .map(|part| {
                    if part == "ConditionCheck" {
                        on("ConditionCheckItem")
                    } else {
                        on(&format!("{part}Item"))
                    }
                })
                .collect()
        }
        (_, Some(index)) => vec![(format!("dynamodb:{operation}"), format!("{TABLE}/index/{index}"))],
        _ => vec![on(operation)],
    }
}

fn of_bucket(request: &Parts, body: &[u8]) -> Vec<(String, String)> {
    let query = request.uri.query().unwrap_or_default();
    let path = request.uri.path().trim_start_matches('/');
    let Some((_, key)) = path.split_once('/').filter(|(_, key)| !key.is_empty()) else {
        let asks = |name: &str| query.split('&').any(|part| part.split('=').next() == Some(name));
        return match (asks("versions"), asks("delete")) {
            (_, true) => {
                let body = String::from_utf8_lossy(body).into_owned();
                let keys = body.split("<Key>").skip(1).filter_map(|rest| rest.split_once("</Key>"));
                keys.map(|(key, _)| ("s3:DeleteObjectVersion".to_owned(), format!("{BUCKET}/{key}")))
                    .collect()
            }
            (true, _) => vec![("s3:ListBucketVersions".to_owned(), BUCKET.to_owned())],
            _ => vec![("s3:ListBucket".to_owned(), BUCKET.to_owned())],
        };
    };
    let action = match request.method {
        Method::PUT => "s3:PutObject",
        Method::DELETE => "s3:DeleteObject",
        _ => "s3:GetObject",
    };
    vec![(action.to_owned(), format!("{BUCKET}/{key}"))]
}

/// Returns the function whose access key signed the call.
fn caller(request: &Parts) -> String {
    let authorization =
        request.headers.get(header::AUTHORIZATION).map_or("", |header| header.to_str().unwrap());
    let signed = format!("{authorization}&{}", request.uri.query().unwrap_or_default().replace("%2F", "/"));
    let key = signed.split("Credential=").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    key.strip_prefix("local-cloud-").unwrap_or_default().to_owned()
}

type ProxyState = (Arc<Roles>, &'static str, reqwest::Client);

async fn pass(State((roles, service, http)): State<ProxyState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Bytes = to_bytes(body, usize::MAX).await.unwrap();
    let function = caller(&parts);
    for (action, resource) in needed(service, &parts, &body) {
        if !roles.allows(&function, &action, &resource) {
            return denied(service, &format!("{function} is not allowed {action} on {resource}"));
        }
    }
    let target = roles.targets.lock().unwrap().get(service).cloned().unwrap();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let is_object = service == BUCKET && matches!(parts.method, Method::GET | Method::HEAD);
    let sent = http.request(parts.method, format!("{target}{path}")).headers(parts.headers).body(body);
    let Ok(answer) = sent.send().await else { return StatusCode::BAD_GATEWAY.into_response() };
    // S3 answers 404 only to callers that may list.
    if is_object
        && answer.status() == StatusCode::NOT_FOUND
        && !roles.allows(&function, "s3:ListBucket", BUCKET)
    {
        return denied(service, "missing, and not for this function to know");
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answer.status();
    *response.headers_mut() = answer.headers().clone();
    *response.body_mut() = Body::from_stream(answer.bytes_stream());
    response
}

fn denied(service: &str, why: &str) -> Response {
    println!("denied: {why}");
    let body = match service {
        BUCKET => format!("<Error><Code>AccessDenied</Code><Message>{why}</Message></Error>"),
        _ => serde_json::json!({"__type": "AccessDeniedException", "message": why}).to_string(),
    };
    let status = if service == BUCKET { StatusCode::FORBIDDEN } else { StatusCode::BAD_REQUEST };
    (status, body).into_response()
}
