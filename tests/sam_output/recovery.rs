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
