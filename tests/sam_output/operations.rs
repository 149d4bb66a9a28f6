//! Logs, traces and alarms of a stack.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::stack::stack;

const OIDC: [&str; 3] = ["AuthMode=oidc", "OidcIssuer=https://id.example.org", "TokenAudiences=api"];

/// Returns the expression and the metrics of an alarm: namespace, name, and dimensions.
fn metrics(alarm: &Value) -> (&str, Vec<(&str, &str, &Value)>) {
    let all = alarm["Metrics"].as_array().unwrap();
    let expression = all.iter().find_map(|one| one["Expression"].as_str()).unwrap();
    let metrics = all.iter().filter_map(|one| {
        let metric = one.get("MetricStat")?.get("Metric")?;
        let namespace = metric["Namespace"].as_str().unwrap_or("stack");
        Some((namespace, metric["MetricName"].as_str()?, &metric["Dimensions"]))
    });
    (expression, metrics.collect())
}

#[test]
fn access_log_has_a_json_line_per_request() {
    let Some(with) = stack(&[]) else { return };
    let setting = &with.properties("ApiliveStage")["AccessLogSetting"];
    assert_eq!(setting["DestinationArn"], json!({"Fn::GetAtt": ["ApiLogs", "Arn"]}));
    let format: Value = serde_json::from_str(setting["Format"].as_str().unwrap()).unwrap();
    for (name, variable) in [
        ("requestId", "$context.requestId"),
        ("authorizerError", "$context.authorizer.error"),
        ("timeToFirstByte", "$context.integration.timeToFirstContent"),
        ("status", "$context.status"),
    ] {
        assert_eq!(format[name], variable, "{name}");
    }
    assert!(!format.to_string().contains("$context.path"), "a path names sessions");
    // The stage needs the account's role, and both outlive the stack.
    let tags = with.properties("ApiliveStage")["Tags"].as_array().unwrap();
    assert!(tags.contains(&json!({"Key": "ApiLogRole", "Value": {"Ref": "ApiAccount"}})), "{tags:?}");
    for name in ["ApiAccount", "ApiGatewayRole"] {
        assert_eq!(with.resources[name]["DeletionPolicy"], "Retain", "{name}");
    }
    let existing = stack(&["ApiLogRole=existing"]).unwrap();
    assert!(existing.has("ApiLogs") && !existing.has("ApiAccount") && !existing.has("ApiGatewayRole"));
    let none = stack(&["ApiLogRole=none"]).unwrap();
    assert_eq!(none.properties("ApiliveStage").get("AccessLogSetting"), None);
    assert!(!none.has("ApiLogs") && !none.outputs.contains_key("AccessLogGroup"));
}

#[test]
fn one_parameter_turns_on_xray_everywhere() {
    let Some(without) = stack(&[]) else { return };
    let with = stack(&[&["XRayTracing=enabled"][..], &OIDC].concat()).unwrap();
    let writes = |role: &Value| role.to_string().contains("xray:PutTraceSegments");
    for (stack, mode, on) in [(&without, "PassThrough", false), (&with, "Active", true)] {
        assert_eq!(stack.properties("ApiliveStage")["TracingEnabled"], on);
        for (name, function) in stack.functions() {
            assert_eq!(function["TracingConfig"]["Mode"], mode, "{name}");
            let role = stack.properties(&name.replace("Function", "Role"));
            assert_eq!(writes(role), on, "{name}");
        }
    }
}

#[test]
fn functions_have_the_layer_of_a_collector() {
    let layer = "arn:aws:lambda:us-east-1:123456789012:layer:collector:7";
    let Some(with) = stack(&[&format!("ExtensionLayerArn={layer}")]) else { return };
    for (name, function) in with.functions() {
        assert_eq!(function["Layers"], json!([layer]), "{name}");
    }
    for (name, function) in stack(&[]).unwrap().functions() {
        assert_eq!(function["Layers"], json!([]), "{name}");
    }
}

#[test]
fn audit_lines_have_a_log_group_with_its_own_retention() {
    let Some(with) =
        stack(&["AuditRetentionDays=731", "LogRetentionDays=7", "QdrantUrl=https://qdrant.example.org"])
    else {
        return;
    };
    assert_eq!(with.properties("AuditLogs")["RetentionInDays"], "731");
    assert_eq!(with.properties("ExecuteLogs")["RetentionInDays"], "7");
    assert_eq!(with.resources["AuditLogs"]["DeletionPolicy"], "RetainExceptOnCreate");
    let filters = with.of_type("AWS::Logs::SubscriptionFilter");
    let sources = filters.values().map(|filter| filter["LogGroupName"]["Ref"].as_str().unwrap().to_owned());
    // Every function but the authorizer writes audit lines.
    let logs = with.functions().into_keys().map(|name| name.replace("Function", "Logs"));
    assert_eq!(sources.collect::<BTreeSet<_>>(), logs.collect());
    for (name, filter) in filters {
        assert_eq!(filter["FilterPattern"], r#"{ $.message = "audit" }"#, "{name}");
        assert_eq!(filter["DestinationArn"], json!({"Fn::GetAtt": ["AuditFunction", "Arn"]}), "{name}");
    }
    let without = stack(&["AuditRetentionDays=0"]).unwrap();
    assert!(without.resources.keys().all(|name| !name.contains("Audit")), "nothing of it is left");
}

#[test]
fn audit_lines_can_be_locked_for_their_retention() {
    let Some(with) = stack(&["AuditLock=COMPLIANCE", "AuditRetentionDays=731"]) else { return };
    let bucket = with.properties("AuditBucket");
    let retention = json!({"Mode": "COMPLIANCE", "Days": "731"});
    assert_eq!(
        (&bucket["ObjectLockEnabled"], &bucket["ObjectLockConfiguration"]["Rule"]["DefaultRetention"]),
        (&json!(true), &retention)
    );
    let variables = &with.properties("AuditFunction")["Environment"]["Variables"];
    assert_eq!(variables["AUDIT_BUCKET"], json!({"Ref": "AuditBucket"}));
    assert!(with.properties("AuditRole").to_string().contains("${AuditBucket.Arn}/*"));
    let without = stack(&[]).unwrap();
    assert_eq!(without.properties("AuditFunction")["Environment"]["Variables"]["AUDIT_BUCKET"], "");
    assert!(!without.has("AuditBucket") && !without.properties("AuditRole").to_string().contains("s3:"));
}

#[test]
fn alarm_on_sweeps_waits_for_the_first_data() {
    let Some(stack) = stack(&[]) else { return };
    let alarm = stack.properties("NoSweepAlarm");
    assert_eq!(alarm["TreatMissingData"], "notBreaching", "a new stack has no data");
    let (expression, metrics) = metrics(alarm);
    assert_eq!(expression, "IF(queue >= 0 AND FILL(sweeps, 0) < 1, 1, 0)");
    let names: Vec<_> = metrics.iter().map(|(namespace, name, _)| (*namespace, *name)).collect();
    assert_eq!(names, [("stack", "sweeps"), ("AWS/SQS", "ApproximateNumberOfMessagesVisible")]);
    assert_eq!(
        (&alarm["EvaluationPeriods"], &alarm["Metrics"][1]["MetricStat"]["Period"]),
        (&json!(5), &json!(60))
    );
}

#[test]
fn concurrency_alarm_fits_the_quota_of_the_account() {
    let Some(without) = stack(&[]) else { return };
    assert!(!without.has("ConcurrencyAlarm"), "a guessed quota would page for nothing, or never");
    let with = stack(&["AccountConcurrency=10"]).unwrap();
    let alarm = with.properties("ConcurrencyAlarm");
    assert_eq!((metrics(alarm).0, &alarm["Threshold"]), ("100 * claimed / 10", &json!(80)));
}

#[test]
fn table_alarm_watches_the_index_too() {
    let Some(stack) = stack(&[]) else { return };
    let (_, metrics) = metrics(stack.properties("TableThrottlesAlarm"));
    let of_index = metrics.iter().filter(|(.., dimensions)| dimensions.to_string().contains("GSI1"));
    let names: Vec<_> = of_index.map(|(_, name, _)| *name).collect();
    assert_eq!(names, ["ReadThrottleEvents", "WriteThrottleEvents"]);
    let insights = json!({"Enabled": true, "Mode": "THROTTLED_KEYS"});
    let table = stack.properties("Table");
    assert_eq!(table["ContributorInsightsSpecification"], insights);
    assert_eq!(table["GlobalSecondaryIndexes"][0]["ContributorInsightsSpecification"], insights);
}

#[test]
fn documented_costs_count_the_alarm_metrics() {
    let Some(stack) = stack(&[]) else { return };
    let alarms = stack.of_type("AWS::CloudWatch::Alarm").into_values();
    let counts = alarms.map(|alarm| match alarm["Metrics"].as_array() {
        Some(all) => all.iter().filter(|one| one.get("MetricStat").is_some()).count(),
        None => 1,
    });
    let row = format!("| Alarms | {} metrics | $0.10 each |", counts.sum::<usize>());
    assert!(include_str!("../../docs/guides/deploying.md").contains(&row), "{row}");
    // Tags of the stack reach every resource.
    assert!(include_str!("../../samconfig.toml").contains("\ntags = \"Application=aptix\"\n"));
}

#[test]
fn every_function_has_an_alarm_on_its_errors_and_duration() {
    let Some(stack) = stack(&OIDC) else { return };
    let watched = |alarm: &str| -> BTreeSet<String> {
        let (_, metrics) = metrics(stack.properties(alarm));
        let functions = metrics.iter().filter_map(|(.., dimensions)| dimensions[0]["Value"]["Ref"].as_str());
        functions.map(str::to_owned).collect()
    };
    let names = |names: &[&str]| names.iter().map(|name| format!("{name}Function")).collect::<BTreeSet<_>>();
    let ours = ["Execute", "ToolContinuation", "SessionRead", "TurnFinalizer"];
    assert_eq!(watched("FunctionErrorsAlarm"), names(&[&ours[..], &["Audit"]].concat()));
    assert_eq!(watched("FunctionDurationAlarm"), names(&ours));
    // Refused tokens are errors of the authorizer, so only its failures are counted.
    assert_eq!(watched("AuthorizerAlarm"), names(&["Authorizer"]));
    let (_, metrics) = metrics(stack.properties("AuthorizerAlarm"));
    let names: Vec<_> = metrics.iter().map(|(_, name, _)| *name).collect();
    assert_eq!(names, ["jwks_fetches_failed", "Throttles", "Duration"]);
}

#[test]
fn authorizer_reads_only_orgs_of_clients_and_usage_keys() {
    let Some(with) = stack(&OIDC) else { return };
    let policies = with.properties("AuthorizerRole")["Policies"].as_array().unwrap().iter();
    let statements = policies.flat_map(|policy| policy["PolicyDocument"]["Statement"].as_array().unwrap());
    let on_table: Vec<_> =
        statements.filter(|statement| statement["Action"].to_string().contains("dynamodb:")).collect();
    assert_eq!(on_table.len(), 1, "{on_table:?}");
    assert_eq!(on_table[0]["Action"], "dynamodb:GetItem");
    let keys = &on_table[0]["Condition"]["ForAllValues:StringEquals"]["dynamodb:LeadingKeys"];
    assert_eq!(*keys, json!(["CLIENTS", "USAGE_KEYS"]));
    let variables = &with.properties("AuthorizerFunction")["Environment"]["Variables"];
    assert!(variables.get("TABLE_NAME").is_some() && variables.get("CLIENT_ORG_MAP").is_none());
}
