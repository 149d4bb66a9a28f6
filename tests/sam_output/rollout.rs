//! Versions of the functions, and the alias that requests reach.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    TRANSFORMED,
    stack::{Stack, stack},
};

/// Returns the version and the alias of a function, as resources.
fn published<'a>(stack: &'a Stack, function: &str) -> (&'a Value, &'a Value) {
    let start = format!("{function}Version");
    let version = stack.resources.iter().find(|(name, _)| name.starts_with(&start)).unwrap().1;
    (version, &stack.resources[&format!("{function}Aliascurrent")])
}

/// The logical name of a resource, which has a hash of its function's code.
fn logical_name<'a>(stack: &'a Stack, resource: &Value) -> &'a str {
    stack.resources.iter().find(|(_, one)| *one == resource).unwrap().0
}

/// The parameters that a value depends on, conditions included.
fn parameters(template: &Value, value: &Value, found: &mut BTreeSet<String>) {
    let is_parameter = |name: &str| template["Parameters"].get(name).is_some();
    match value {
        Value::Array(all) => all.iter().for_each(|one| parameters(template, one, found)),
        Value::Object(members) => {
            for (name, value) in members {
                let text = value.as_str().or_else(|| value[0].as_str()).unwrap_or_default();
                match name.as_str() {
                    "Ref" if is_parameter(text) => _ = found.insert(text.to_owned()),
                    "Fn::If" | "Condition" => parameters(template, &template["Conditions"][text], found),
                    "Fn::Sub" => {
                        let names = text.split("${").skip(1).filter_map(|part| part.split('}').next());
                        found.extend(names.filter(|name| is_parameter(name)).map(str::to_owned));
                    }
                    _ => {}
                }
                parameters(template, value, found);
            }
        }
        _ => {}
    }
}

#[test]
fn every_parameter_of_a_function_publishes_a_version() {
    let Some(template) = &*TRANSFORMED else { return };
    let mut recorded = BTreeSet::new();
    parameters(template, &template["Resources"]["SettingsVersion"], &mut recorded);
    for (name, function) in crate::functions(template) {
        let mut needed = BTreeSet::new();
        parameters(template, function, &mut needed);
        let missing: Vec<_> = needed.difference(&recorded).collect();
        assert!(missing.is_empty(), "{name} depends on them, and SettingsVersion does not: {missing:?}");
    }
}

#[test]
fn changed_parameter_replaces_the_version_and_keeps_the_old() {
    let Some(one) = stack(&["ModelName=one"]) else { return };
    let other = stack(&["ModelName=other"]).unwrap();
    let content = |stack: &Stack| stack.properties("SettingsVersion")["Content"].clone();
    assert_ne!(content(&one), content(&other));
    for name in one.functions().keys() {
        let (version, alias) = published(&one, name);
        // CloudFormation replaces a version whose description changes, and fails if its function didn't change.
        let description = one.properties(name)["Description"].as_str().unwrap();
        assert!(description.ends_with(" Settings ${SettingsVersion}."), "{name}: {description}");
        assert_eq!(version["Properties"]["Description"], "settings ${SettingsVersion}", "{name}");
        for policy in ["DeletionPolicy", "UpdateReplacePolicy"] {
            assert_eq!(version[policy], "Retain", "{name}: requests return to it in a rollback");
        }
        let logical = alias["Properties"]["FunctionVersion"]["Fn::GetAtt"][0].as_str().unwrap();
        assert!(one.has(logical), "{name}");
    }
}

#[test]
fn revision_changes_the_settings_and_earlier_ones_stay() {
    let Some(one) = stack(&["Revision=1"]) else { return };
    let other = stack(&["Revision=2"]).unwrap();
    let content = |stack: &Stack| stack.properties("SettingsVersion")["Content"].clone();
    assert_ne!(content(&one), content(&other), "the descriptions of all versions name them");
    // AppConfig deletes no profile that has versions, so profile and application stay with them.
    for name in ["Settings", "SettingsProfile", "SettingsVersion"] {
        assert_eq!(one.resources[name]["DeletionPolicy"], "RetainExceptOnCreate", "{name}");
        assert_eq!(one.resources[name]["UpdateReplacePolicy"], "Retain", "{name}");
    }
}

/// The logical names of the functions' versions in the template after a change of its text.
fn versions_after(from: &str, to: &str) -> Option<BTreeSet<String>> {
    let text = include_str!("../../template.yaml");
    assert!(text.contains(from), "{from}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
    let template = crate::transformed_file(file.path(), &[])?;
    let versions = crate::of_type(&template, "AWS::Lambda::Version").into_keys();
    Some(versions.map(str::to_owned).collect())
}

/// Lambda refuses to publish a version that equals the last, so a change that isn't part of a version must not ask for one.
#[test]
fn only_changes_of_a_version_publish_one() {
    let runtime = "    Runtime: provided.al2023\n";
    let Some(before) = versions_after(runtime, runtime) else { return };
    let tagged = versions_after(runtime, &format!("{runtime}    Tags: {{Team: agents}}\n")).unwrap();
    assert_eq!(tagged, before, "a tag");
    let titles = versions_after("TITLE_MODEL: !Ref TitleModel", "TITLE_MODEL: small").unwrap();
    assert_eq!(before.difference(&titles).count(), 1, "a variable of one function");
}

#[test]
fn requests_and_messages_reach_the_alias_alone() {
    let Some(stack) = stack(&["AuthMode=oidc", "OidcIssuer=https://id.example.org", "TokenAudiences=api"])
    else {
        return;
    };
    let targets = stack.of_type("AWS::Lambda::Permission").into_iter();
    let targets = targets.chain(stack.of_type("AWS::Lambda::EventSourceMapping"));
    for (name, properties) in targets.filter(|(name, _)| *name != "AuditPermission") {
        let target = properties["FunctionName"]["Ref"].as_str().unwrap_or_else(|| panic!("{name}"));
        assert!(target.ends_with("FunctionAliascurrent"), "{name}: {target}");
    }
    let schemes = &stack.properties("Api")["Body"]["components"]["securitySchemes"];
    let authorizer = schemes["oidc"]["x-amazon-apigateway-authorizer"]["authorizerUri"].to_string();
    assert!(authorizer.contains("AuthorizerFunctionAliascurrent"), "{authorizer}");
}

#[test]
fn canary_shifts_the_alias_and_watches_the_new_version() {
    let qdrant = "QdrantUrl=https://qdrant.example.org";
    let Some(without) = stack(&[qdrant]) else { return };
    let with = stack(&["CanaryDeployments=true", qdrant]).unwrap();
    assert_eq!(with.functions().len(), settings::FUNCTIONS.len() - 1, "all but the authorizer");
    assert!(!without.has("RolloutRole") && without.of_type("AWS::CodeDeploy::DeploymentGroup").is_empty());
    let groups = with.of_type("AWS::CodeDeploy::DeploymentGroup");
    assert_eq!(groups.len(), with.functions().len());
    for name in with.functions().keys() {
        assert_eq!(published(&without, name).1.get("UpdatePolicy"), None, "{name}");
        let update = &published(&with, name).1["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"];
        let group = groups[update["DeploymentGroupName"]["Ref"].as_str().unwrap()];
        let (version, _) = published(&with, name);
        let number = json!({"Fn::GetAtt": [logical_name(&with, version), "Version"]});
        let own = name.replace("Function", "CanaryAlarm");
        assert_eq!(group["AlarmConfiguration"]["Alarms"], json!([{"Name": {"Ref": own}}]), "{name}");
        for metric in with.properties(&own)["Metrics"].as_array().unwrap().iter().skip(1) {
            let dimensions = metric["MetricStat"]["Metric"]["Dimensions"].as_array().unwrap();
            assert_eq!(dimensions.last().unwrap()["Value"], number, "{own} counts other versions too");
        }
        assert!(!without.has(&own), "{own}");
        assert_eq!(group["ServiceRoleArn"]["Fn::GetAtt"][0], "RolloutRole", "{name}");
        let config = &group["DeploymentConfigName"];
        assert!(config.to_string().contains("Canary10Percent5Minutes"), "{name}: {config}");
    }
}

#[test]
fn functions_require_the_signatures_of_a_profile() {
    let profile = "arn:aws:signer:us-east-1:123456789012:/signing-profiles/aptix/a1b2c3d4e5";
    let Some(with) = stack(&[&format!("SigningProfileVersionArns={profile}")]) else { return };
    let signing = with.properties("CodeSigning");
    assert_eq!(signing["AllowedPublishers"]["SigningProfileVersionArns"], json!([profile]));
    assert_eq!(signing["CodeSigningPolicies"]["UntrustedArtifactOnDeployment"], "Enforce");
    for (name, function) in with.functions() {
        assert_eq!(function["CodeSigningConfigArn"], json!({"Ref": "CodeSigning"}), "{name}");
    }
    let without = stack(&[]).unwrap();
    assert!(!without.has("CodeSigning"));
    for (name, function) in without.functions() {
        assert_eq!(function.get("CodeSigningConfigArn"), None, "{name}");
    }
}
