//! Stacks over a restored table or bucket, and what outlives a stack.

use serde_json::{Value, json};

use crate::stack::stack;

const RESTORED: [&str; 2] = ["ExistingTableName=restored", "ExistingBucketName=payloads-of-before"];

#[test]
fn existing_table_and_bucket_replace_those_of_the_stack() {
    // A reference to a resource that the stack leaves out fails in `stack`.
    let Some(with) = stack(&RESTORED) else { return };
    for name in ["Table", "PayloadBucket", "PayloadBucketPolicy"] {
        assert!(!with.has(name), "{name}");
    }
    let names = [("TABLE_NAME", "restored"), ("PAYLOAD_BUCKET", "payloads-of-before")];
    for (function, properties) in with.functions() {
        for (variable, name) in names {
            assert_eq!(properties["Environment"]["Variables"][variable], name, "{function}");
        }
    }
    assert_eq!(with.outputs["TableName"], "restored");
    assert_eq!(with.outputs["PayloadBucketName"], "payloads-of-before");
    assert!(with.properties("TableThrottlesAlarm")["Metrics"].to_string().contains("\"restored\""));
    assert!(with.properties("Dashboard").to_string().contains("restored"));
}

#[test]
fn roles_reach_the_existing_table_and_bucket_as_before() {
    let Some(with) = stack(&RESTORED) else { return };
    let without = stack(&[]).unwrap();
    for name in ["ExecuteRole", "ToolContinuationRole", "SessionReadRole", "TurnFinalizerRole"] {
        let policies = |role: &Value| role["Policies"].as_array().unwrap().last().unwrap().to_string();
        let expected = policies(without.properties(name))
            .replace(r#"{"Fn::GetAtt":["Table","Arn"]}"#, r#""${Table.Arn}""#)
            .replace(r#"{"Fn::GetAtt":["PayloadBucket","Arn"]}"#, r#""${PayloadBucket.Arn}""#)
            .replace(
                "${Table.Arn}",
                "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/restored",
            )
            .replace("${PayloadBucket.Arn}", "arn:${AWS::Partition}:s3:::payloads-of-before");
        assert_eq!(policies(with.properties(name)), expected, "{name}");
        assert!(!expected.contains("PayloadBucket"), "{name}");
    }
}

#[test]
fn data_outlives_the_stack_but_not_a_failed_creation() {
    let Some(with) = stack(&[]) else { return };
    for name in ["Table", "PayloadBucket", "UserPool"] {
        assert_eq!(with.resources[name]["DeletionPolicy"], "RetainExceptOnCreate", "{name}");
        assert_eq!(with.resources[name]["UpdateReplacePolicy"], "Retain", "{name}");
    }
    for (parameter, table, pool) in [("true", true, "ACTIVE"), ("false", false, "INACTIVE")] {
        let stack = stack(&[&format!("DeletionProtection={parameter}")]).unwrap();
        assert_eq!(stack.properties("Table")["DeletionProtectionEnabled"], json!(table));
        assert_eq!(stack.properties("UserPool")["DeletionProtection"], pool);
    }
}

#[test]
fn backups_hold_table_and_bucket_in_a_vault_that_stays() {
    let copy = "arn:aws:backup:eu-west-1:123456789012:backup-vault:copies";
    let Some(with) = stack(&["BackupDays=35", &format!("BackupCopyVaultArn={copy}")]) else { return };
    assert_eq!(with.resources["BackupVault"]["DeletionPolicy"], "RetainExceptOnCreate");
    let rule = &with.properties("BackupPlan")["BackupPlan"]["BackupPlanRule"][0];
    assert_eq!(
        (&rule["Lifecycle"]["DeleteAfterDays"], &rule["CopyActions"][0]["DestinationBackupVaultArn"]),
        (&json!("35"), &json!(copy))
    );
    let arns = json!([{"Fn::GetAtt": ["Table", "Arn"]}, {"Fn::GetAtt": ["PayloadBucket", "Arn"]}]);
    assert_eq!(with.properties("BackupSelection")["BackupSelection"]["Resources"], arns);
    let without = stack(&[]).unwrap();
    assert!(without.resources.keys().all(|name| !name.starts_with("Backup")));
}

#[test]
fn payloads_are_replicated_with_the_key_of_the_replicas() {
    let key = |region: &str| format!("arn:aws:kms:{region}:123456789012:key/a1");
    let (own, other) = (key("us-east-1"), key("eu-west-1"));
    let given = [
        "ReplicationBucketArn=arn:aws:s3:::replicas",
        &format!("ReplicationKeyArn={other}"),
        &format!("KmsKeyArn={own}"),
    ];
    let Some(with) = stack(&given) else { return };
    let configuration = &with.properties("PayloadBucket")["ReplicationConfiguration"];
    let destination = &configuration["Rules"][0]["Destination"];
    assert_eq!(
        (&destination["Bucket"], &destination["EncryptionConfiguration"]["ReplicaKmsKeyID"]),
        (&json!("arn:aws:s3:::replicas"), &json!(other))
    );
    assert_eq!(configuration["Role"], json!({"Fn::GetAtt": ["ReplicationRole", "Arn"]}));
    let policy = with.properties("ReplicationPolicy")["PolicyDocument"].to_string();
    assert!(
        policy.contains(&own) && policy.contains(&other) && policy.contains("arn:aws:s3:::replicas/*"),
        "{policy}"
    );
    let existing = stack(&[&given[..], &["ExistingBucketName=payloads-of-before"]].concat()).unwrap();
    assert!(!existing.has("ReplicationRole") && !existing.has("ReplicationPolicy"));
}
