//! Customer managed keys.

use serde_json::{Value, json};

use crate::stack::{Stack, stack};

const KEY: &str = "arn:aws:kms:us-east-1:123456789012:key/k1";
const SECRETS: &str = "arn:aws:kms:us-east-1:123456789012:key/k2,arn:aws:kms:us-east-1:123456789012:key/k3";
const OIDC: [&str; 3] = ["AuthMode=oidc", "OidcIssuer=https://id.example.org", "TokenAudiences=api"];

/// The types that take a key, with the pointer to it.
const ENCRYPTED: [(&str, &str); 7] = [
    ("AWS::DynamoDB::Table", "/SSESpecification/KMSMasterKeyId"),
    (
        "AWS::S3::Bucket",
        "/BucketEncryption/ServerSideEncryptionConfiguration/0/ServerSideEncryptionByDefault/KMSMasterKeyID",
    ),
    ("AWS::SQS::Queue", "/KmsMasterKeyId"),
    ("AWS::SNS::Topic", "/KmsMasterKeyId"),
    ("AWS::Logs::LogGroup", "/KmsKeyId"),
    ("AWS::Lambda::Function", "/KmsKeyArn"),
    ("AWS::SecretsManager::Secret", "/KmsKeyId"),
];

fn policy<'a>(stack: &'a Stack, role: &str, name: &str) -> Option<&'a Value> {
    let mut policies = stack.properties(role)["Policies"].as_array()?.iter();
    Some(&policies.find(|policy| policy["PolicyName"] == name)?["PolicyDocument"]["Statement"][0])
}

#[test]
fn customer_key_encrypts_everything_that_holds_data() {
    let key = format!("KmsKeyArn={KEY}");
    let Some(with) = stack(&[&OIDC[..], &[key.as_str()]].concat()) else { return };
    let without = stack(&OIDC).unwrap();
    for (kind, pointer) in ENCRYPTED {
        assert!(!with.of_type(kind).is_empty(), "{kind}");
        for (name, resource) in with.of_type(kind) {
            assert_eq!(resource.pointer(pointer), Some(&json!(KEY)), "{name}");
        }
        for (name, resource) in without.of_type(kind) {
            assert_eq!(resource.pointer(pointer), None, "{name}");
        }
    }
    for (name, queue) in without.of_type("AWS::SQS::Queue") {
        assert_eq!(queue["SqsManagedSseEnabled"], true, "{name}");
    }
}

#[test]
fn every_role_that_meets_the_key_may_use_it() {
    let key = format!("KmsKeyArn={KEY}");
    let Some(with) = stack(&[&OIDC[..], &[key.as_str()]].concat()) else { return };
    let functions = with.of_type("AWS::Lambda::Function");
    let roles = functions.keys().map(|name| name.replace("Function", "Role"));
    // The schedule sends to an encrypted queue.
    for role in roles.chain(["SweepScheduleRole".to_owned()]) {
        let statement = policy(&with, &role, "UseKey").unwrap_or_else(|| panic!("{role}"));
        assert_eq!(statement["Resource"], KEY, "{role}");
        assert_eq!(statement["Action"], json!(["kms:Decrypt", "kms:GenerateDataKey"]), "{role}");
    }
}

#[test]
fn keys_of_secrets_are_used_through_secrets_manager_alone() {
    let keys = format!("SecretKeyArns={SECRETS}");
    let Some(with) = stack(&[&OIDC[..], &[keys.as_str()]].concat()) else { return };
    for role in ["ExecuteRole", "ToolContinuationRole", "SessionReadRole", "TurnFinalizerRole"] {
        let statement = policy(&with, role, "UseSecretKeys").unwrap_or_else(|| panic!("{role}"));
        assert_eq!(statement["Resource"], SECRETS.split(',').collect::<Value>(), "{role}");
        assert_eq!(statement["Action"], "kms:Decrypt", "{role}");
        let service = &statement["Condition"]["StringEquals"]["kms:ViaService"];
        assert_eq!(service, "secretsmanager.${AWS::Region}.${AWS::URLSuffix}", "{role}");
    }
    // The authorizer reads no secret.
    assert_eq!(policy(&with, "AuthorizerRole", "UseSecretKeys"), None);
    assert_eq!(policy(&stack(&[]).unwrap(), "ExecuteRole", "UseSecretKeys"), None);
}
