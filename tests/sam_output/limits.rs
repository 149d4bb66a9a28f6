//! Rate limits per caller, and the alarm on cost.

use serde_json::json;

use crate::stack::{Stack, stack};

const OIDC: [&str; 3] = ["AuthMode=oidc", "OidcIssuer=https://id.example.org", "TokenAudiences=api"];

#[test]
fn usage_keys_limit_every_method_through_the_authorizer() {
    let keys = [r#"UsageKeys={"acme":"key-of-acme-0123456789"}"#, "UsageRate=5", "UsageBurst=9"];
    let Some(with) = stack(&[&OIDC[..], &keys].concat()) else { return };
    let api = with.properties("Api");
    assert_eq!(api["ApiKeySourceType"], "AUTHORIZER", "clients don't send keys");
    for (path, methods) in api["Body"]["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let expected = (method != "options").then(|| json!([{"oidc": []}, {"api_key": []}]));
            assert_eq!(operation.get("security"), expected.as_ref(), "{method} {path}");
        }
    }
    let plan = with.properties("UsagePlan");
    assert_eq!(plan["Throttle"], json!({"RateLimit": "5", "BurstLimit": "9"}));
    assert_eq!(plan["ApiStages"], json!([{"ApiId": {"Ref": "Api"}, "Stage": {"Ref": "ApiliveStage"}}]));
    // Callers without a key count against the stack's.
    let variables = &with.properties("AuthorizerFunction")["Environment"]["Variables"];
    assert_eq!(variables["SHARED_USAGE_KEY"], with.properties("SharedUsageKey")["Value"]);
    assert!(variables["SHARED_USAGE_KEY"]["Fn::Select"].is_array());
    let linked = with.properties("SharedUsagePlanKey");
    assert_eq!(linked["UsagePlanId"], json!({"Ref": "UsagePlan"}));
}

/// API Gateway's own authorizer can't name a key, so the function verifies the pool's tokens.
#[test]
fn callers_of_a_user_pool_have_limits_by_the_authorizer_function() {
    let pool = ["AuthMode=cognito-authorizer", "UsageKeys={}"];
    let Some(made) = stack(&pool) else { return };
    for (path, methods) in made.properties("Api")["Body"]["paths"].as_object().unwrap() {
        for (method, operation) in
            methods.as_object().unwrap().iter().filter(|(method, _)| *method != "options")
        {
            let expected = json!([{"cognito-authorizer": []}, {"api_key": []}]);
            assert_eq!(operation["security"], expected, "{method} {path}");
        }
    }
    let schemes = &made.properties("Api")["Body"]["components"]["securitySchemes"];
    let by = |name: &str| &schemes[name]["x-amazon-apigateway-authorizer"]["authorizerUri"];
    assert_eq!(by("cognito-authorizer"), by("oidc"));
    assert!(by("oidc").to_string().contains("AuthorizerFunctionAliascurrent"), "{}", by("oidc"));
    let variables =
        |stack: &Stack| stack.properties("AuthorizerFunction")["Environment"]["Variables"].clone();
    assert!(made.has("UserPool") && made.has("UsagePlan"));
    let of_made = variables(&made);
    assert_eq!(of_made["OIDC_ISSUER"], json!({"Fn::GetAtt": ["UserPool", "ProviderURL"]}));
    assert_eq!(of_made["TOKEN_AUDIENCES"], json!({"Ref": "UserPoolClient"}));
    assert!(of_made["SHARED_USAGE_KEY"]["Fn::Select"].is_array());

    let arn = "UserPoolArn=arn:aws:cognito-idp:eu-west-1:123456789012:userpool/eu-west-1_a1B2";
    let given = stack(&[&pool[..], &[arn, "TokenAudiences=web"]].concat()).unwrap();
    assert!(!given.has("UserPool"));
    let of_given = variables(&given);
    assert_eq!(of_given["TOKEN_AUDIENCES"], "web");
    let issuer = &of_given["OIDC_ISSUER"]["Fn::Sub"];
    assert_eq!(issuer[0], "https://cognito-idp.${Region}.${AWS::URLSuffix}/${Pool}");

    let by_gateway = stack(&[]).unwrap();
    assert!(!by_gateway.has("AuthorizerFunction") && !by_gateway.has("AuthorizerRole"));
}

#[test]
fn without_usage_keys_no_method_needs_a_key() {
    let Some(without) = stack(&OIDC) else { return };
    let api = without.properties("Api");
    assert_eq!(api["ApiKeySourceType"], "HEADER");
    assert!(!api["Body"]["paths"].to_string().contains("api_key"));
    assert!(!without.has("UsagePlan") && !without.has("SharedUsageKey"));
    let variables = &without.properties("AuthorizerFunction")["Environment"]["Variables"];
    assert_eq!(variables["SHARED_USAGE_KEY"], "");
}

#[test]
fn stage_throttles_are_said_to_be_per_method() {
    let Some(template) = &*crate::TRANSFORMED else { return };
    for name in ["ThrottleRate", "ThrottleBurst"] {
        let description = template["Parameters"][name]["Description"].as_str().unwrap();
        assert!(description.contains("each method of each path"), "{name}: {description}");
    }
    let settings = &stack(&[]).unwrap().properties("ApiliveStage")["MethodSettings"].clone();
    assert_eq!((&settings[0]["HttpMethod"], &settings[0]["ResourcePath"]), (&json!("*"), &json!("/*")));
}

#[test]
fn cost_alarm_compares_a_day_with_the_parameter() {
    let Some(without) = stack(&[]) else { return };
    assert!(!without.has("CostAlarm"));
    let with = stack(&["CostAlarmAt=50"]).unwrap();
    let alarm = with.properties("CostAlarm");
    assert_eq!(
        (&alarm["Threshold"], &alarm["Metrics"][0]["Expression"]),
        (&json!("50"), &json!("cost / 1000000"))
    );
    let metric = &alarm["Metrics"][1]["MetricStat"];
    assert_eq!((&metric["Metric"]["MetricName"], &metric["Period"]), (&json!("cost_micros"), &json!(86_400)));
}
