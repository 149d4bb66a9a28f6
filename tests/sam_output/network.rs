//! Private networks, custom domains, and sign-in.

use serde_json::json;

use crate::stack::{Stack, stack};

const VPC: [&str; 2] = ["SubnetIds=subnet-0a1b2c3d,subnet-0a1b2c3e", "SecurityGroupIds=sg-0a1b2c3d"];

#[test]
fn functions_run_in_the_subnets_and_may_use_them() {
    let Some(without) = stack(&[]) else { return };
    let oidc = ["AuthMode=oidc", "OidcIssuer=https://id.example.org", "TokenAudiences=api"];
    let qdrant = ["QdrantUrl=https://qdrant.example.org"];
    let with = stack(&[&VPC[..], &oidc[..], &qdrant[..]].concat()).unwrap();
    assert_eq!(with.functions().len(), settings::FUNCTIONS.len());
    for (name, function) in with.functions() {
        let expected = json!({
            "SubnetIds": ["subnet-0a1b2c3d", "subnet-0a1b2c3e"], "SecurityGroupIds": ["sg-0a1b2c3d"],
        });
        assert_eq!(function["VpcConfig"], expected, "{name}");
        let role = name.replace("Function", "Role");
        let policies = with.properties(&role)["Policies"].as_array().unwrap();
        let network = policies.iter().find(|policy| policy["PolicyName"] == "UseNetwork").unwrap();
        let [allow, deny] = network["PolicyDocument"]["Statement"].as_array().unwrap().as_slice() else {
            panic!("{network}")
        };
        for action in ["CreateNetworkInterface", "DescribeNetworkInterfaces", "DeleteNetworkInterface"] {
            assert!(allow["Action"].as_array().unwrap().contains(&json!(format!("ec2:{action}"))), "{name}");
        }
        assert_eq!((&deny["Effect"], &deny["Action"]), (&json!("Deny"), &json!("ec2:*")), "{name}");
        assert!(deny["Condition"]["ArnLike"]["lambda:SourceFunctionArn"].is_string(), "{name}");
    }
    for (name, function) in without.functions() {
        assert_eq!(function.get("VpcConfig"), None, "{name}");
        let role = without.properties(&name.replace("Function", "Role"));
        assert!(!role.to_string().contains("ec2:"), "{name}");
    }
}

#[test]
fn private_api_is_reached_through_its_endpoints_alone() {
    let Some(without) = stack(&[]) else { return };
    let api = without.properties("Api");
    assert_eq!(api["EndpointConfiguration"], json!({"Types": ["REGIONAL"]}));
    assert_eq!(api.get("Policy"), None);
    let with = stack(&["ApiEndpointType=PRIVATE", "VpcEndpointIds=vpce-0a1b2c3d,vpce-0a1b2c3e"]).unwrap();
    let api = with.properties("Api");
    let endpoints = json!(["vpce-0a1b2c3d", "vpce-0a1b2c3e"]);
    let expected = json!({"Types": ["PRIVATE"], "VpcEndpointIds": endpoints});
    assert_eq!(api["EndpointConfiguration"], expected);
    let [allow, deny] = api["Policy"]["Statement"].as_array().unwrap().as_slice() else {
        panic!("{}", api["Policy"])
    };
    assert_eq!((&allow["Effect"], &deny["Effect"]), (&json!("Allow"), &json!("Deny")));
    assert_eq!(deny["Condition"]["StringNotEquals"]["aws:SourceVpce"], endpoints);
}

#[test]
fn second_factor_is_a_parameter_of_the_pool() {
    let Some(without) = stack(&[]) else { return };
    let pool = without.properties("UserPool");
    assert_eq!((&pool["MfaConfiguration"], pool.get("EnabledMfas")), (&json!("OFF"), None));
    let with = stack(&["UserPoolMfa=ON"]).unwrap();
    let pool = with.properties("UserPool");
    let expected = (&json!("ON"), &json!(["SOFTWARE_TOKEN_MFA"]));
    assert_eq!((&pool["MfaConfiguration"], &pool["EnabledMfas"]), expected);
}

#[test]
fn console_is_hosted_by_parameter_and_users_come_back_to_it() {
    let Some(without) = stack(&["UserPoolDomainPrefix=acme"]) else { return };
    assert!(!without.resources.keys().any(|name| name.starts_with("Console")));
    assert!(!without.outputs.contains_key("ConsoleUrl"));
    let client = without.properties("UserPoolClient");
    assert_eq!(client["CallbackURLs"], json!(["http://localhost:8976/signed-in"]));
    assert_eq!(client.get("LogoutURLs"), None);

    let with = stack(&["UserPoolDomainPrefix=acme", "HostedConsole=true"]).unwrap();
    let url = &with.outputs["ConsoleUrl"];
    let client = with.properties("UserPoolClient");
    assert_eq!(client["CallbackURLs"], json!(["http://localhost:8976/signed-in", url]));
    assert_eq!(client["LogoutURLs"], json!([url]));
    assert!(with.has("ConsoleBucketPolicy") && with.outputs.contains_key("ConsoleBucketName"));
    let oidc = ["AuthMode=oidc", "OidcIssuer=https://id.example.org", "TokenAudiences=api"];
    let with = stack(&[&oidc[..], &["HostedConsole=true"]].concat()).unwrap();
    assert!(with.has("ConsoleDistribution") && !with.has("UserPoolClient"));
}

/// API Gateway applies endpoint type, endpoints and policy with a deployment of the stage alone.
#[test]
fn every_deployment_deploys_the_stage() {
    let deployment = |parameters: &[&str]| {
        let template = crate::transformed(parameters)?;
        let stage = &crate::of_type(&template, "AWS::ApiGateway::Stage")["ApiliveStage"];
        stage["DeploymentId"]["Ref"].as_str().map(str::to_owned)
    };
    let Some(before) = deployment(&["ApiEndpointType=REGIONAL"]) else { return };
    // The name depends on the second of the transform.
    std::thread::sleep(std::time::Duration::from_secs(1));
    let closed = deployment(&["ApiEndpointType=PRIVATE", "VpcEndpointIds=vpce-0a1b2c3d"]).unwrap();
    assert_ne!(before, closed);
    std::thread::sleep(std::time::Duration::from_secs(1));
    let moved = deployment(&["ApiEndpointType=PRIVATE", "VpcEndpointIds=vpce-0a1b2c3e"]).unwrap();
    assert_ne!(closed, moved);
}

#[test]
fn domain_maps_its_base_path_to_the_stage() {
    let Some(without) = stack(&[]) else { return };
    assert!(!without.has("Domain") && !without.has("DomainMapping") && !without.has("DomainRecord"));
    assert!(without.outputs["ApiUrl"].as_str().unwrap().ends_with("/live"));
    let certificate = "DomainCertificateArn=arn:aws:acm:us-east-1:123456789012:certificate/a1";
    let domain = ["DomainName=api.example.com", certificate];
    let with = stack(&domain).unwrap();
    assert_eq!(with.outputs["ApiUrl"], "https://api.example.com");
    assert_eq!(with.properties("DomainMapping").get("BasePath"), None);
    assert!(!with.has("DomainRecord"));
    let with = stack(&[&domain[..], &["DomainBasePath=agents", "DomainZoneId=Z1"]].concat()).unwrap();
    assert_eq!(with.outputs["ApiUrl"], "https://api.example.com/agents");
    let mapping = with.properties("DomainMapping");
    assert_eq!(
        (&mapping["BasePath"], &mapping["Stage"]),
        (&json!("agents"), &json!({"Ref": "ApiliveStage"}))
    );
    assert_eq!(with.properties("Domain")["SecurityPolicy"], "TLS_1_2");
    for (record, kind) in [("DomainRecord", "A"), ("DomainRecordIpv6", "AAAA")] {
        let record = with.properties(record);
        assert_eq!((&record["Name"], &record["Type"]), (&json!("api.example.com"), &json!(kind)));
    }
    assert_eq!(with.properties("Domain")["EndpointConfiguration"]["IpAddressType"], "dualstack");
}

/// A URL beside the domain would bypass what is in front of the domain.
#[test]
fn default_endpoint_is_disabled_by_parameter() {
    let Some(without) = stack(&[]) else { return };
    let is_disabled = |stack: &Stack| {
        let server = &stack.properties("Api")["Body"]["servers"][0];
        server["x-amazon-apigateway-endpoint-configuration"]["disableExecuteApiEndpoint"].clone()
    };
    assert_eq!(is_disabled(&without), false);
    assert_eq!(is_disabled(&stack(&["DefaultEndpoint=disabled"]).unwrap()), true);
}

#[test]
fn private_domain_is_associated_with_an_endpoint() {
    let certificate = "DomainCertificateArn=arn:aws:acm:us-east-1:123456789012:certificate/a1";
    let private = ["ApiEndpointType=PRIVATE", "VpcEndpointIds=vpce-0a1b2c3d,vpce-0a1b2c3e"];
    let Some(with) = stack(&[&private[..], &["DomainName=api.example.com", certificate]].concat()) else {
        return;
    };
    for name in ["Domain", "DomainMapping", "DomainRecord", "DomainRecordIpv6"] {
        assert!(!with.has(name), "{name} is of a regional domain");
    }
    let domain = with.properties("PrivateDomain");
    assert_eq!(domain["EndpointConfiguration"], json!({"Types": ["PRIVATE"]}));
    assert_eq!(domain["Policy"], with.properties("Api")["Policy"]);
    assert_eq!(with.properties("PrivateDomainMapping")["Stage"], json!({"Ref": "ApiliveStage"}));
    let access = with.properties("PrivateDomainAccess");
    assert_eq!(
        access["AccessAssociationSource"]["Fn::Select"],
        json!([0, ["vpce-0a1b2c3d", "vpce-0a1b2c3e"]])
    );
    assert_eq!(with.outputs["ApiUrl"], "https://api.example.com");
}
