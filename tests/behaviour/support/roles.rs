//! Enforces the roles of `template.yaml` on the functions' AWS calls: refuses a call that the role does not allow, as IAM
//! does, and records the used permissions.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{LazyLock, Mutex},
};

use axum::http::{Method, StatusCode, request::Parts};
use local::call_proxy::{CallRequest, Policy, Service};
use serde_json::Value;
use yaml_serde::Value as Yaml;

const TABLE: &str = "Table";
const BUCKET: &str = "PayloadBucket";
const QUEUE: &str = "FinalizeQueue";
const KNOWLEDGE_QUEUE: &str = "KnowledgeQueue";
const TURN_QUEUE: &str = "TurnQueue";
const WEBHOOK_QUEUE: &str = "WebhookQueue";

/// A statement of a role, for one function.
#[derive(Debug, Clone)]
pub struct Statement {
    pub function: String,
    pub sid: String,
    pub actions: Vec<String>,
    /// Logical names in place of ARNs, such as `Table`, `Table/index/GSI1` or `PayloadBucket/*`.
    pub resources: Vec<String>,
    /// The partitions that its condition allows; none without a condition.
    pub partitions: Option<Vec<String>>,
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
}

impl Roles {
    /// Returns the roles of the template.
    pub fn of_template() -> Self {
        static STATEMENTS: LazyLock<Vec<Statement>> = LazyLock::new(statements);
        Self { statements: STATEMENTS.clone(), ..Self::default() }
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
    fn allows(&self, function: &str, action: &str, resource: &str, partition: Option<&str>) -> bool {
        let of_function = self.statements.iter().filter(|statement| statement.function == function);
        let found = of_function.filter(|statement| statement.actions.iter().any(|allowed| allowed == action));
        let found = found.filter(|statement| match &statement.partitions {
            Some(partitions) => partition.is_some_and(|key| partitions.iter().any(|allowed| allowed == key)),
            None => true,
        });
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
                    partitions: statement
                        .get("Condition")
                        .and_then(|condition| condition.get("ForAllValues:StringEquals"))
                        .map(|condition| all(&condition["dynamodb:LeadingKeys"])),
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

/// Returns a text, or the target of a `!GetAtt`, `!Sub` or `!Ref`, with logical names in place of ARNs. Of an `!If`, the
/// resource of the stack itself, which precedes an existing one.
fn said(value: &Yaml) -> String {
    let text = match value {
        Yaml::Tagged(tagged) if tagged.tag == "If" => return said(&tagged.value[1]),
        Yaml::Tagged(tagged) if tagged.tag == "GetAtt" => {
            return tagged.value.as_str().unwrap().replace(".Arn", "");
        }
        Yaml::Tagged(tagged) => tagged.value.as_str().unwrap(),
        other => other.as_str().unwrap(),
    };
    text.replace("${", "").replace(".Arn}", "")
}

impl Policy for Roles {
    fn check_request(&self, request: &CallRequest<'_>) -> Result<(), String> {
        let partition = partition(request);
        for (action, resource) in needed(request) {
            if !self.allows(request.function, &action, &resource, partition.as_deref()) {
                return Err(denied(format!("{} is not allowed {action} on {resource}", request.function)));
            }
        }
        Ok(())
    }

    /// Denies a missing object, as S3 does for callers that may not list.
    fn check_response(&self, request: &CallRequest<'_>, status: StatusCode) -> Result<(), String> {
        let is_object =
            request.service == Service::Bucket && matches!(request.parts.method, Method::GET | Method::HEAD);
        if is_object
            && status == StatusCode::NOT_FOUND
            && !self.allows(request.function, "s3:ListBucket", BUCKET, None)
        {
            return Err(denied("missing, and not for this function to know".to_owned()));
        }
        Ok(())
    }
}

fn denied(reason: String) -> String {
    println!("denied: {reason}");
    reason
}

/// Returns the partition of the item that a call of the table names.
fn partition(request: &CallRequest<'_>) -> Option<String> {
    let body: Value =
        (request.service == Service::Table).then(|| serde_json::from_slice(request.body).unwrap())?;
    body["Key"]["PK"]["S"].as_str().map(str::to_owned)
}

/// Returns the actions and resources that a call needs.
fn needed(request: &CallRequest<'_>) -> Vec<(String, String)> {
    match request.service {
        Service::Table => of_table(request.operation, &serde_json::from_slice(request.body).unwrap()),
        Service::Queue => {
            let body: Value = serde_json::from_slice(request.body).unwrap();
            let queue = match body["QueueUrl"].as_str().unwrap().rsplit('/').next() {
                Some("knowledge") => KNOWLEDGE_QUEUE,
                Some("turns") => TURN_QUEUE,
                Some("webhooks") => WEBHOOK_QUEUE,
                _ => QUEUE,
            };
            vec![(format!("sqs:{}", request.operation), queue.to_owned())]
        }
        Service::Bucket => of_bucket(request.parts, request.body),
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
    let tags = request.headers.contains_key("x-amz-tagging").then_some("s3:PutObjectTagging");
    let actions = std::iter::once(action).chain(tags);
    // The folder of uploads has the only character of a pattern that is encoded in a path.
    let key = key.replace("%21", "!");
    actions.map(|action| (action.to_owned(), format!("{BUCKET}/{key}"))).collect()
}
