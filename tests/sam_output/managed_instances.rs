//! The template of `scripts/managed-instances`, after SAM's transform.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::{functions, root, transformed_file};

/// The functions that serve several requests at a time.
const SHARED: [&str; 3] = ["ExecuteFunction", "ToolContinuationFunction", "SessionReadFunction"];

/// Returns what the script writes, transformed. `None` without SAM's library.
fn changed() -> Option<Value> {
    let ran = Command::new("python3").arg(root().join("scripts/managed-instances")).output().ok()?;
    if ran.status.code() == Some(3) {
        return None;
    }
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), ran.stdout).unwrap();
    transformed_file(file.path(), &[])
}

#[test]
fn script_puts_three_functions_on_managed_instances() {
    let Some(transformed) = changed() else { return };
    let expected = json!({
        "LambdaManagedInstancesCapacityProviderConfig": {
            "CapacityProviderArn": {"Fn::GetAtt": ["TurnCapacity", "Arn"]},
            "ExecutionEnvironmentMemoryGiBPerVCpu": 2,
            "PerExecutionEnvironmentMaxConcurrency": 128,
        },
    });
    for (name, function) in functions(&transformed) {
        let is_shared = SHARED.contains(&name);
        assert_eq!(function.get("CapacityProviderConfig"), is_shared.then_some(&expected), "{name}");
        assert_eq!(function.get("VpcConfig").is_none(), is_shared, "{name}");
    }
    let resources = &transformed["Resources"];
    assert_eq!(resources["SessionReadFunction"]["Properties"]["MemorySize"], 2048);
    assert_eq!(resources["TurnCapacity"]["Type"], "AWS::Lambda::CapacityProvider");
    assert_eq!(transformed["Parameters"]["ExecuteMemory"]["MinValue"], 2048);
}
