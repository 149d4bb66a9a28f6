//! `template.yaml` as a whole: what CloudFormation would take without a word, and a company would not.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that can't go on has failed")]

use std::collections::BTreeSet;

use yaml_serde::Value;

fn template() -> Value {
    let mut template: Value = yaml_serde::from_str(include_str!("../template.yaml")).unwrap();
    template.apply_merge().unwrap();
    template
}

/// The resources of a type, with their names.
fn of_type(template: &Value, kind: &str) -> Vec<(String, Value)> {
    let resources = template["Resources"].as_mapping().unwrap().iter();
    let wanted = resources.filter(|(_, resource)| resource["Type"] == kind);
    wanted
        .map(|(name, resource)| (name.as_str().unwrap().to_owned(), resource["Properties"].clone()))
        .collect()
}

/// Every text in a value, with what a tag is on.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Sequence(all) => all.iter().for_each(|one| texts(one, found)),
        Value::Mapping(members) => members.values().for_each(|one| texts(one, found)),
        Value::Tagged(tagged) => texts(&tagged.value, found),
        _ => {}
    }
}

fn all_texts(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    texts(value, &mut found);
    found
}

#[test]
fn every_alarm_notifies_and_has_a_runbook_entry() {
    let template = template();
    let alarms = of_type(&template, "AWS::CloudWatch::Alarm");
    assert!(alarms.len() >= 12, "{}", alarms.len());
    let guide = include_str!("../docs/guides/operating.md");
    for (name, alarm) in &alarms {
        for actions in ["AlarmActions", "OKActions"] {
            assert_eq!(
                all_texts(&alarm[actions]),
                ["MakesAlarmTopic", "AlarmTopic", "AlarmTopicArn"],
                "{name}"
            );
        }
        assert!(alarm["AlarmDescription"].as_str().is_some_and(|text| text.ends_with('.')), "{name}");
        assert!(
            guide.contains(&format!("| `{name}` |")),
            "docs/guides/operating.md does not say what {name} means"
        );
    }
}

/// The secrets of connections, which operators create with names under the stack's.
const CONNECTION_SECRETS: &str = "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${AWS::StackName}/connections/*";
/// The secrets of webhooks, which are below those of connections.
const WEBHOOK_SECRETS: &str = "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${AWS::StackName}/connections/*/webhooks/*";

#[test]
fn no_permission_has_a_wildcard_resource() {
    let template = template();
    // What the functions make up names for, and what nobody may without TLS.
    let stated = BTreeSet::from([
        "${AuditBucket.Arn}/*".to_owned(),
        "${PayloadBucket.Arn}/*".to_owned(),
        "${PayloadBucket.Arn}/*/!knowledge/*".to_owned(),
        "${PayloadBucket.Arn}/*/!uploads/*".to_owned(),
        "${PayloadBucket.Arn}/*/answer.md".to_owned(),
        "${PayloadBucket.Arn}/*/history.json".to_owned(),
        "${PayloadBucket.Arn}/*/instruction.json".to_owned(),
        "arn:${AWS::Partition}:s3:::${ExistingBucketName}/*".to_owned(),
        "arn:${AWS::Partition}:s3:::${ExistingBucketName}/*/!knowledge/*".to_owned(),
        "arn:${AWS::Partition}:s3:::${ExistingBucketName}/*/!uploads/*".to_owned(),
        "arn:${AWS::Partition}:s3:::${ExistingBucketName}/*/answer.md".to_owned(),
        "arn:${AWS::Partition}:s3:::${ExistingBucketName}/*/history.json".to_owned(),
        "arn:${AWS::Partition}:s3:::${ExistingBucketName}/*/instruction.json".to_owned(),
        CONNECTION_SECRETS.to_owned(),
        WEBHOOK_SECRETS.to_owned(),
    ]);
    let mut wild = BTreeSet::new();
    for (name, role) in of_type(&template, "AWS::IAM::Role") {
        assert!(!role["PermissionsBoundary"].is_null(), "{name} takes a boundary");
        // API Gateway, CodeDeploy and AWS Backup accept only roles with their own managed policies. That of replication is a
        // resource of its own.
        if ["ApiGatewayRole", "BackupRole", "ReplicationRole", "RolloutRole"].contains(&name.as_str()) {
            continue;
        }
        assert_eq!(role.get("ManagedPolicyArns"), None, "{name}");
        for policy in role["Policies"].as_sequence().unwrap() {
            let texts = all_texts(policy);
            // Lambda's network interfaces and X-Ray have no narrower resource.
            if !["UseNetwork", "WriteTraces"].iter().any(|name| texts.contains(&(*name).to_owned())) {
                wild.extend(texts.into_iter().filter(|text| text.contains('*')));
            }
        }
    }
    assert_eq!(wild, stated);
    for kind in ["AWS::S3::BucketPolicy", "AWS::SQS::QueuePolicy"] {
        for (name, policy) in of_type(&template, kind) {
            for statement in policy["PolicyDocument"]["Statement"].as_sequence().unwrap() {
                // CloudFront reads the files of the hosted console, which has a test of its own.
                let is_console = name == "ConsoleBucketPolicy" && statement["Sid"] == "AllowDistribution";
                assert!(is_console || statement["Effect"] == "Deny", "{name}");
            }
        }
    }
}

/// A stack whose provider is signed for by the roles needs no secret, and others grant nothing in Bedrock.
#[test]
fn keys_bedrock_and_functions_are_optional_permissions_by_parameter() {
    let template = template();
    assert_eq!(template["Parameters"]["OpenAiApiKeySecretArn"]["Default"], "");
    let mut found = BTreeSet::new();
    for (name, role) in of_type(&template, "AWS::IAM::Role") {
        let policies = role["Policies"].as_sequence().into_iter().flatten();
        let policies = policies.filter_map(|policy| policy["PolicyDocument"]["Statement"].as_sequence());
        for statement in policies.flatten() {
            let is_ours = |text: &String| {
                ["bedrock", "secretsmanager:", "lambda:InvokeFunction"]
                    .iter()
                    .any(|ours| text.starts_with(ours))
            };
            let texts = all_texts(statement);
            let is_of_connections =
                texts.iter().any(|text| [CONNECTION_SECRETS, WEBHOOK_SECRETS].contains(&text.as_str()));
            if is_of_connections || !texts.iter().any(is_ours) {
                continue;
            }
            let Value::Tagged(optional) = statement else { panic!("{name}: {statement:?}") };
            let parts = optional.value.as_sequence().unwrap();
            assert_eq!((optional.tag.to_string().as_str(), parts.len()), ("!If", 3), "{name}");
            let Value::Tagged(resource) = &parts[1]["Resource"] else { panic!("{name}: {statement:?}") };
            assert_eq!(resource.tag.to_string(), "!Ref", "{name}");
            found.insert(format!(
                "{} {}: {}",
                parts[0].as_str().unwrap(),
                parts[1]["Sid"].as_str().unwrap(),
                resource.value.as_str().unwrap()
            ));
        }
    }
    let expected = [
        "HasBedrockGuardrails ApplyBedrockGuardrails: BedrockGuardrailArns",
        "HasBedrockModels CallBedrockModels: BedrockModelArns",
        "HasBedrockProjects CreateBedrockResponses: BedrockProjectArns",
        "HasBedrockProjects DeleteBedrockResponses: BedrockProjectArns",
        "HasConnectionFunctions InvokeConnectionFunctions: ConnectionFunctionArns",
        "HasProviderKey ReadProviderKey: OpenAiApiKeySecretArn",
        "HasProviderKeys ReadNamedProvidersKeys: ProviderKeySecretArns",
        "HasQdrantKey ReadQdrantKey: QdrantApiKeySecretArn",
    ];
    assert_eq!(found, expected.map(str::to_owned).into());
}

#[test]
fn gateway_names_the_limits_of_a_body() {
    let template = template();
    let responses = &template["Resources"]["Api"]["Properties"]["GatewayResponses"];
    let text = responses["REQUEST_TOO_LARGE"]["ResponseTemplates"]["application/json"].as_str().unwrap();
    let answer: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(answer["Errors"][0]["Message"], contracts::request::limits::TOO_LARGE_FOR_GATEWAY);
}

/// One text answers all paths, so clients of every API find their error in it.
#[test]
fn gateway_errors_have_every_shape() {
    let template = template();
    let responses = &template["Resources"]["Api"]["Properties"]["GatewayResponses"];
    for (name, response) in responses.as_mapping().unwrap() {
        let text = response["ResponseTemplates"]["application/json"].as_str().unwrap();
        let body: serde_json::Value = serde_json::from_str(text).unwrap();
        let error: contracts::Error = serde_json::from_value(body["Errors"][0].clone()).unwrap();
        let status = response["StatusCode"].as_u64().unwrap_or(error.error_code.http_status().into());
        let openai = openai_api::error::ApiError::from(error.clone());
        assert_eq!(body["error"]["message"], error.message, "{name:?}");
        assert_eq!(body["error"]["code"].as_str(), openai.code.as_deref(), "{name:?}");
        assert_eq!(body["type"], "error", "{name:?}");
        let anthropic = runtime::dialect::anthropic_error(u16::try_from(status).unwrap(), "", None);
        assert_eq!(body["error"]["type"], anthropic["error"]["type"], "{name:?}");
    }
}

#[test]
fn every_route_streams_within_the_function_timeout() {
    let template = template();
    for (name, function) in of_type(&template, "AWS::Serverless::Function") {
        let own = function["Timeout"].as_u64().unwrap() * 1000;
        // The authorizer has none: the gateway asks it.
        let Some(events) = function["Events"].as_mapping() else { continue };
        for event in events.values().filter(|event| event["Type"] == "Api") {
            let event = &event["Properties"];
            assert_eq!(event["ResponseTransferMode"], "RESPONSE_STREAM", "{name}");
            assert!(event["TimeoutInMillis"].as_u64().unwrap() > own, "{name}");
        }
    }
}

#[test]
fn users_cannot_write_privileged_claims() {
    let template = template();
    let (_, client) = of_type(&template, "AWS::Cognito::UserPoolClient").remove(0);
    assert_eq!(all_texts(&client["WriteAttributes"]), ["name"]);
    let scopes = all_texts(&client["AllowedOAuthScopes"]);
    assert_eq!(scopes, ["HasSignInPage", "openid", "AWS::NoValue"], "none lets users write attributes");
    let (_, pool) = of_type(&template, "AWS::Cognito::UserPool").remove(0);
    assert_eq!(pool["AdminCreateUserConfig"]["AllowAdminCreateUserOnly"], true);
    for name in ["ExecuteFunction", "ToolContinuationFunction", "SessionReadFunction"] {
        let function = &template["Resources"][name]["Properties"];
        let audiences = &function["Environment"]["Variables"]["TOKEN_AUDIENCES"];
        assert_eq!(all_texts(audiences), ["MakesUserPool", "UserPoolClient", "TokenAudiences"], "{name}");
    }
}

/// `aptix sign-in` needs SRP, refresh tokens, and the page that comes back to its listener.
#[test]
fn user_pool_client_allows_every_way_to_sign_in() {
    let template = template();
    let (_, client) = of_type(&template, "AWS::Cognito::UserPoolClient").remove(0);
    let flows = all_texts(&client["ExplicitAuthFlows"]);
    assert_eq!(flows, ["ALLOW_USER_SRP_AUTH", "ALLOW_REFRESH_TOKEN_AUTH"]);
    let redirect = deployment::browser::redirect_url(deployment::browser::REDIRECT_PORT);
    let console = ["HasConsole", "https://${ConsoleDistribution.DomainName}/", "AWS::NoValue"];
    let expected = [&["HasSignInPage", redirect.as_str()][..], &console, &["AWS::NoValue"]].concat();
    assert_eq!(all_texts(&client["CallbackURLs"]), expected);
    assert_eq!(all_texts(&client["LogoutURLs"]), console);
    assert_eq!(all_texts(&client["AllowedOAuthFlows"]), ["HasSignInPage", "code", "AWS::NoValue"]);
}

/// The API refers to the pool's client, which refers to the distribution. A reference back would be a circle.
#[test]
fn hosted_console_refers_to_nothing_of_the_api() {
    let template = template();
    for (name, resource) in template["Resources"].as_mapping().unwrap() {
        let name = name.as_str().unwrap();
        if !name.starts_with("Console") {
            continue;
        }
        assert_eq!(resource["Condition"], "HasConsole", "{name}");
        for text in all_texts(resource) {
            let refers = ["Api", "Function", "UserPool"].iter().any(|other| text.contains(other));
            assert!(!refers, "{name} refers to {text}");
        }
    }
}

/// Only the distribution reads the bucket. The frame has the policy of the local console's.
#[test]
fn hosted_console_is_private_and_has_the_policies_of_its_pages() {
    let template = template();
    let resource = |name: &str| template["Resources"][name]["Properties"].clone();
    let bucket = resource("ConsoleBucket");
    assert_eq!(bucket["PublicAccessBlockConfiguration"]["RestrictPublicBuckets"], true);
    let policy = resource("ConsoleBucketPolicy");
    let allowed = &policy["PolicyDocument"]["Statement"][1];
    assert_eq!((&allowed["Effect"], &allowed["Action"]), (&"Allow".into(), &"s3:GetObject".into()));
    assert_eq!(allowed["Principal"]["Service"], "cloudfront.amazonaws.com");
    let source = all_texts(&allowed["Condition"]);
    assert!(source.iter().any(|text| text.ends_with(":distribution/${ConsoleDistribution}")), "{source:?}");
    let headers = |name: &str| {
        let config = &resource(name)["ResponseHeadersPolicyConfig"]["SecurityHeadersConfig"];
        config["ContentSecurityPolicy"]["ContentSecurityPolicy"].as_str().unwrap().to_owned()
    };
    assert_eq!(headers("ConsoleHeaders"), "frame-ancestors 'none'");
    assert_eq!(headers("ConsoleFrameHeaders"), local::console::FRAME_POLICY);
    let distribution = &resource("ConsoleDistribution")["DistributionConfig"];
    let frame = &distribution["CacheBehaviors"][0];
    assert_eq!(frame["PathPattern"], "/console/diagram-frame.html");
    for behavior in [frame, &distribution["DefaultCacheBehavior"]] {
        assert_eq!(behavior["ViewerProtocolPolicy"], "redirect-to-https");
    }
}

/// A deployment asks at most five questions: the parameters that `samconfig.toml` lists for its environment.
#[test]
fn environments_leave_at_most_five_parameters_to_choose() {
    let template = template();
    let config = include_str!("../samconfig.toml");
    for environment in ["dev", "staging", "prod"] {
        let section = config.split(&format!("[{environment}.deploy.parameters]\n")).nth(1).unwrap();
        let section = section.split("\n[").next().unwrap();
        assert!(section.contains(&format!("stack_name = \"agent-{environment}\"")), "{environment}");
        let choices: Vec<&str> = section
            .lines()
            .filter_map(|line| line.trim_start_matches(['#', ' ']).strip_prefix('"')?.split_once('='))
            .map(|(name, _)| name)
            .collect();
        assert!((1..=5).contains(&choices.len()), "{environment}: {choices:?}");
        for name in choices {
            assert!(!template["Parameters"][name].is_null(), "{environment}: {name} is no parameter");
        }
    }
}

/// Data, and the settings that descriptions of versions name.
fn kept_names() -> BTreeSet<&'static str> {
    BTreeSet::from([
        "AuditBucket",
        "AuditLogs",
        "BackupVault",
        "ConsoleBucket",
        "PayloadBucket",
        "Settings",
        "SettingsProfile",
        "SettingsVersion",
        "Table",
        "UserPool",
    ])
}

#[test]
fn data_resources_are_retained_and_encrypted() {
    let template = template();
    let kept: BTreeSet<_> = template["Resources"]
        .as_mapping()
        .unwrap()
        .iter()
        .filter(|(_, resource)| resource["DeletionPolicy"] == "RetainExceptOnCreate")
        .map(|(name, _)| name.as_str().unwrap())
        .collect();
    assert_eq!(kept, kept_names());
    for (name, queue) in of_type(&template, "AWS::SQS::Queue") {
        // By SQS, or by the customer's key.
        for encryption in ["SqsManagedSseEnabled", "KmsMasterKeyId"] {
            assert!(all_texts(&queue[encryption]).contains(&"HasKmsKey".to_owned()), "{name}");
        }
    }
}

#[test]
fn every_parameter_is_used_and_described() {
    let template = template();
    let mut without_parameters = template.clone();
    without_parameters.as_mapping_mut().unwrap().remove("Parameters");
    let used = all_texts(&without_parameters);
    for (name, parameter) in template["Parameters"].as_mapping().unwrap() {
        let name = name.as_str().unwrap();
        let in_sub = format!("${{{name}}}");
        assert!(used.iter().any(|text| text == name || text.contains(&in_sub)), "{name} is not used");
        assert!(parameter["Description"].as_str().is_some_and(|text| text.len() > 10), "{name}");
    }
}

#[test]
fn each_function_gets_the_settings_it_reads() {
    let template = template();
    let variables = |function: &Value| -> BTreeSet<String> {
        let Some(variables) = function["Environment"]["Variables"].as_mapping() else {
            return BTreeSet::new();
        };
        variables.keys().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let shared = variables(&template["Globals"]["Function"]);
    let functions = of_type(&template, "AWS::Serverless::Function");
    assert_eq!(functions.len(), settings::FUNCTIONS.len());
    for (name, function) in functions {
        let code = function["CodeUri"].as_str().unwrap().trim_start_matches("functions/").to_owned();
        let all = settings::ALL.iter().flat_map(|(_, settings)| *settings);
        let reads: BTreeSet<String> = all
            .filter(|setting| setting.set_by() == settings::SetBy::Template)
            .filter(|setting| setting.readers().contains(&code.as_str()))
            .map(|setting| setting.name().to_owned())
            .collect();
        let given: BTreeSet<String> = shared.union(&variables(&function)).cloned().collect();
        assert_eq!(given, reads, "{name}");
    }
}
