//! `template.yaml` after SAM's transform: what CloudFormation gets. `scripts/sam-transform` makes it; where its library is not
//! installed these tests say so and pass.
//!
//! Together with `tests/template.rs`, `tests/openapi.rs`, `infra/local/src/gateway/routes.rs` and
//! `tests/behaviour/roles.rs`, which hold what is written to the contract, to the local gateway and to what the functions
//! do, this says that what is deployed is that. `stack` evaluates the template with given parameters.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]

mod keys;
mod limits;
mod managed_instances;
mod network;
mod operations;
mod recovery;
mod rollout;
mod stack;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use serde_json::Value;
use settings::SetBy;

/// As it is deployed where nothing else is said.
static TRANSFORMED: LazyLock<Option<Value>> = LazyLock::new(|| transformed(&[]));

/// With these values of parameters.
fn transformed(parameters: &[&str]) -> Option<Value> {
    transformed_file(&root().join("template.yaml"), parameters)
}

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Another template, with these values of parameters.
fn transformed_file(template: &Path, parameters: &[&str]) -> Option<Value> {
    let mut transform = Command::new("python3");
    transform.arg(root().join("scripts/sam-transform")).args(parameters).env("SAM_TEMPLATE", template);
    let Ok(ran) = transform.output() else {
        eprintln!("skipped: python3 is not installed");
        return None;
    };
    let told = String::from_utf8_lossy(&ran.stderr);
    match ran.status.code() {
        Some(0) => Some(serde_json::from_slice(&ran.stdout).expect("JSON")),
        Some(3) => {
            eprintln!("{told}");
            None
        }
        _ => panic!("scripts/sam-transform failed: {told}"),
    }
}

fn written() -> yaml_serde::Value {
    let mut written: yaml_serde::Value = yaml_serde::from_str(include_str!("../../template.yaml")).unwrap();
    written.apply_merge().unwrap();
    written
}

/// The properties of the resources of a type, by name.
fn of_type<'a>(template: &'a Value, kind: &str) -> BTreeMap<&'a str, &'a Value> {
    let resources = template["Resources"].as_object().unwrap().iter();
    let wanted = resources.filter(|(_, resource)| resource["Type"] == kind);
    wanted.map(|(name, resource)| (name.as_str(), &resource["Properties"])).collect()
}

/// The functions that are built from this repository, with their properties.
fn functions(template: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let functions = of_type(template, "AWS::Lambda::Function").into_iter();
    functions.filter(move |(name, _)| template["Resources"][*name]["Metadata"]["BuildProperties"].is_object())
}

/// Every text in a value that has a wildcard.
fn wildcards(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.contains('*') => {
            found.insert(text.clone());
        }
        Value::Array(all) => all.iter().for_each(|one| wildcards(one, found)),
        Value::Object(members) => members.values().for_each(|one| wildcards(one, found)),
        _ => {}
    }
}

#[test]
fn every_route_streams_and_has_an_authorizer() {
    let Some(template) = &*TRANSFORMED else { return };
    let functions = of_type(template, "AWS::Lambda::Function");
    let api = of_type(template, "AWS::ApiGateway::RestApi")["Api"];
    let mut deployed = BTreeSet::new();
    for (path, methods) in api["Body"]["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let integration = &operation["x-amazon-apigateway-integration"];
            if method == "options" {
                // A browser sends no token with it.
                assert_eq!(
                    (&integration["type"], operation.get("security")),
                    (&"mock".into(), None),
                    "{path}"
                );
                continue;
            }
            let uri = integration["uri"]["Fn::Sub"].as_str().unwrap();
            let rest =
                uri.strip_prefix("arn:aws:apigateway:${AWS::Region}:lambda:path/2021-11-15/functions/${");
            let function =
                rest.and_then(|rest| rest.strip_suffix("Aliascurrent}/response-streaming-invocations"));
            let function = function.unwrap_or_else(|| panic!("{method} {path}: {uri}"));
            assert_eq!(integration["responseTransferMode"], "STREAM", "{method} {path}");
            let own = functions[function]["Timeout"].as_u64().unwrap() * 1_000;
            assert!(integration["timeoutInMillis"].as_u64().unwrap() > own, "{method} {path}");
            assert_eq!(operation["security"], serde_json::json!([{"cognito": []}]), "{method} {path}");
            deployed.insert((path.clone(), method.to_uppercase(), function.to_owned()));
        }
        assert!(methods.get("options").is_some(), "{path}");
    }
    let mut routes = BTreeSet::new();
    for (name, resource) in written()["Resources"].as_mapping().unwrap() {
        let Some(events) = resource["Properties"]["Events"].as_mapping() else { continue };
        for event in events.values().filter(|event| event["Type"] == "Api") {
            let text = |name: &str| event["Properties"][name].as_str().unwrap().to_owned();
            routes.insert((text("Path"), text("Method"), name.as_str().unwrap().to_owned()));
        }
    }
    assert_eq!(deployed, routes);
}

/// Libraries and extensions of browsers add headers of their own. The wildcard doesn't include `Authorization`.
#[test]
fn preflight_of_every_route_allows_all_headers() {
    let Some(template) = &*TRANSFORMED else { return };
    let api = of_type(template, "AWS::ApiGateway::RestApi")["Api"];
    for (path, methods) in api["Body"]["paths"].as_object().unwrap() {
        let answer = &methods["options"]["x-amazon-apigateway-integration"]["responses"]["default"];
        let headers = &answer["responseParameters"]["method.response.header.Access-Control-Allow-Headers"];
        assert_eq!(headers, "'*,Authorization'", "{path}");
    }
}

#[test]
fn one_parameter_selects_the_authorizer_of_every_route() {
    let oidc = ["AuthMode=oidc", "OidcIssuer=https://id.example.org", "TokenAudiences=api"];
    let Some(template) = transformed(&oidc) else { return };
    let body = &of_type(&template, "AWS::ApiGateway::RestApi")["Api"]["Body"];
    for (path, methods) in body["paths"].as_object().unwrap() {
        for (method, operation) in
            methods.as_object().unwrap().iter().filter(|(method, _)| *method != "options")
        {
            assert_eq!(operation["security"], serde_json::json!([{"oidc": []}]), "{method} {path}");
        }
    }
    let authorizer = &body["components"]["securitySchemes"]["oidc"]["x-amazon-apigateway-authorizer"];
    assert_eq!(
        (&authorizer["type"], &authorizer["authorizerResultTtlInSeconds"]),
        (&"token".into(), &60.into())
    );
    for (name, resource) in template["Resources"].as_object().unwrap() {
        if name.starts_with("Authorizer") {
            assert_eq!(resource["Condition"], "UsesAuthorizer", "{name} is there where it is asked");
        }
    }
}

#[test]
fn every_function_has_the_variables_of_its_settings() {
    let Some(template) = &*TRANSFORMED else { return };
    for (resource, function) in functions(template) {
        let binary =
            template["Resources"][resource]["Metadata"]["BuildProperties"]["Binary"].as_str().unwrap();
        let variables = function["Environment"]["Variables"].as_object().unwrap();
        let given: BTreeSet<_> = variables.keys().map(String::as_str).collect();
        let all = settings::ALL.iter().flat_map(|(_, settings)| *settings);
        let mine = all.filter(|setting| setting.readers().contains(&binary));
        let asked = mine.filter(|setting| setting.set_by() == SetBy::Template);
        assert_eq!(given, asked.map(|setting| setting.name()).collect(), "{resource}");
    }
}

#[test]
fn roles_have_exactly_the_declared_permissions() {
    let Some(template) = &*TRANSFORMED else { return };
    let roles = of_type(template, "AWS::IAM::Role");
    let written = written();
    let resources = written["Resources"].as_mapping().unwrap().iter();
    let ours = resources.filter(|(_, resource)| resource["Type"] == "AWS::IAM::Role");
    let ours: BTreeSet<_> = ours.map(|(name, _)| name.as_str().unwrap()).collect();
    assert_eq!(roles.keys().copied().collect::<BTreeSet<_>>(), ours, "SAM makes no role of its own");
    for (resource, function) in of_type(template, "AWS::Lambda::Function") {
        let own = format!("{}Role", resource.strip_suffix("Function").unwrap());
        assert_eq!(function["Role"]["Fn::GetAtt"], serde_json::json!([own, "Arn"]), "{resource}");
    }
    let mut wild = BTreeSet::new();
    for (name, role) in roles {
        let managed = [("ApiGatewayRole", 1), ("BackupRole", 2), ("ReplicationRole", 0), ("RolloutRole", 1)];
        if let Some((_, count)) = managed.into_iter().find(|(managed, _)| *managed == name) {
            // These services accept only roles with their own managed policies. That of replication is a resource of its own.
            let arns = role["ManagedPolicyArns"].as_array().map_or(0, Vec::len);
            assert_eq!((role.get("Policies"), arns), (None, count), "{name}");
            continue;
        }
        assert_eq!(role.get("ManagedPolicyArns"), None, "{name}");
        // Policies under a condition have tests of their own.
        let policies = role["Policies"].as_array().unwrap().iter();
        policies.filter(|policy| policy.get("Fn::If").is_none()).for_each(|one| wildcards(one, &mut wild));
    }
    let buckets = ["${PayloadBucket.Arn}", "arn:${AWS::Partition}:s3:::${ExistingBucketName}"];
    let names = ["", "/!knowledge/*", "/!uploads/*", "/answer.md", "/history.json", "/instruction.json"];
    let stated = buckets.iter().flat_map(|bucket| names.map(|name| format!("{bucket}/*{name}")));
    let connections = "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${AWS::StackName}/connections/*";
    let webhooks = format!("{connections}/webhooks/*");
    let others = ["${AuditBucket.Arn}/*".to_owned(), connections.to_owned(), webhooks];
    assert_eq!(wild, stated.chain(others).collect());
}

#[test]
fn function_can_be_invoked_only_by_its_routes() {
    let Some(template) = &*TRANSFORMED else { return };
    let permissions = of_type(template, "AWS::Lambda::Permission");
    assert!(permissions.len() >= 12, "{}", permissions.len());
    for (name, permission) in permissions {
        assert_eq!(permission["Action"], "lambda:InvokeFunction", "{name}");
        if name == "AuditPermission" {
            assert_eq!(permission["Principal"], "logs.amazonaws.com");
            let source = permission["SourceArn"]["Fn::Sub"].as_str().unwrap();
            assert!(source.ends_with(":log-group:/aws/lambda/${AWS::StackName}/*"), "{source}");
            continue;
        }
        assert_eq!(permission["Principal"], "apigateway.amazonaws.com", "{name}");
        if name == "AuthorizerPermission" {
            let source = permission["SourceArn"]["Fn::Sub"].as_str().unwrap();
            assert!(source.ends_with(":${Api}/authorizers/*"), "{source}");
            continue;
        }
        let source = permission["SourceArn"]["Fn::Sub"][0].as_str().unwrap();
        let path = source.split_once("/${__Stage__}/").unwrap().1;
        let (method, path) = path.split_once('/').unwrap();
        assert!(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].contains(&method), "{name}: {source}");
        assert!(
            path.starts_with("api/ai/agent/") || path.starts_with("v1/") || path == "v1",
            "{name}: {source}"
        );
    }
}

#[test]
fn every_alarm_has_an_action() {
    let Some(template) = &*TRANSFORMED else { return };
    let alarms = of_type(template, "AWS::CloudWatch::Alarm");
    assert!(alarms.len() >= 12, "{}", alarms.len());
    for (name, alarm) in alarms {
        for actions in ["AlarmActions", "OKActions"] {
            assert_eq!(alarm[actions][0]["Fn::If"][0], "MakesAlarmTopic", "{name}");
        }
    }
}
