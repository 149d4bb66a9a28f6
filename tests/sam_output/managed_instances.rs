//! The changes of `docs/guides/managed-instances.md` to the template, after SAM's transform.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::functions;

/// The functions that serve several requests at a time.
const SHARED: [&str; 3] = ["ExecuteFunction", "ToolContinuationFunction", "SessionReadFunction"];
/// The functions with a process per invocation.
const OTHERS: [&str; 2] = ["TurnFinalizerFunction", "AuthorizerFunction"];

/// Returns the YAML blocks of the guide, without the indentation of their list.
fn blocks() -> Vec<String> {
    let guide = include_str!("../../docs/guides/managed-instances.md");
    let blocks = guide.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks
        .map(|block| {
            block.lines().map(|line| line.strip_prefix("   ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
        })
        .collect()
}

fn indented(block: &str, by: usize) -> String {
    block.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("{:by$}{line}\n", "")).collect()
}

/// Inserts properties at the top of a function's.
fn insert(template: &str, function: &str, properties: &str) -> String {
    let (before, after) = template.split_once(&format!("\n  {function}:\n")).unwrap();
    let (head, rest) = after.split_once("    Properties:\n").unwrap();
    format!("{before}\n  {function}:\n{head}    Properties:\n{properties}{rest}")
}

/// Returns the template with the changes of the guide.
fn changed() -> String {
    let [provider, properties] = &blocks()[..] else { panic!("two blocks") };
    let template = include_str!("../../template.yaml");
    let (before, after) = template.split_once("    VpcConfig: !If\n").unwrap();
    let end = after.find("    LoggingConfig:").unwrap();
    let vpc = indented(&format!("    VpcConfig: !If\n{}", &after[..end]), 2);
    let mut template = format!("{before}{}", &after[end..]);
    template = template.replacen("\nResources:\n", &format!("\nResources:\n{}", indented(provider, 2)), 1);
    for function in SHARED {
        template = insert(&template, function, &indented(properties, 6));
    }
    for function in OTHERS {
        template = insert(&template, function, &vpc);
    }
    template.replacen("MemorySize: 256\n", "MemorySize: 2048\n", 1)
}

fn transform(template: &Path) -> Option<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new("python3");
    command.arg(root.join("scripts/sam-transform")).arg("ExecuteMemory=2048").env("SAM_TEMPLATE", template);
    let ran = command.output().ok()?;
    match ran.status.code() {
        Some(0) => Some(serde_json::from_slice(&ran.stdout).unwrap()),
        Some(3) => None,
        _ => panic!("{}", String::from_utf8_lossy(&ran.stderr)),
    }
}

#[test]
fn changes_of_the_guide_put_three_functions_on_managed_instances() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("template.yaml");
    fs::write(&file, changed()).unwrap();
    let Some(transformed) = transform(&file) else { return };
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
    let memory = &transformed["Resources"]["SessionReadFunction"]["Properties"]["MemorySize"];
    assert_eq!(memory, 2048);
    assert_eq!(transformed["Resources"]["TurnCapacity"]["Type"], "AWS::Lambda::CapacityProvider");
}
