//! A CloudFormation stack: its outputs and its parameters.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::aws::{Aws, AwsError, Members};

/// Version of CloudFormation's API.
const VERSION: &str = "2010-05-15";

/// A deployed stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The stack's name.
    pub name: String,
    /// The stack's status, such as `CREATE_COMPLETE`.
    pub status: String,
    region: String,
    outputs: BTreeMap<String, String>,
    parameters: BTreeMap<String, String>,
}

/// A stack that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// CloudFormation can't be reached or refuses the request.
    #[error(transparent)]
    Aws(#[from] AwsError),
    /// The account has no such stack in the region.
    #[error(
        "No stack {name:?} in {region}. Check AWS_REGION and AWS_PROFILE, and list the stacks with `aws cloudformation \
         list-stacks --region {region}`."
    )]
    Unknown {
        /// The stack's name.
        name: String,
        /// The region.
        region: String,
    },
    /// The stack lacks an output.
    #[error("The stack {name:?} has no output {output}. Its status is {status}.")]
    NoOutput {
        /// The stack's name.
        name: String,
        /// The stack's status.
        status: String,
        /// The output.
        output: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DescribeStacksResponse {
    describe_stacks_result: DescribeStacksResult,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DescribeStacksResult {
    stacks: Members<StackDescription>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DescribeStackResourceResponse {
    describe_stack_resource_result: DescribeStackResourceResult,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DescribeStackResourceResult {
    stack_resource_detail: StackResourceDetail,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StackResourceDetail {
    physical_resource_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StackDescription {
    #[serde(default)]
    stack_status: String,
    #[serde(default)]
    outputs: Members<Output>,
    #[serde(default)]
    parameters: Members<Parameter>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    output_key: String,
    #[serde(default)]
    output_value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Parameter {
    parameter_key: String,
    #[serde(default)]
    parameter_value: String,
}

impl Stack {
    /// Reads a stack.
    ///
    /// # Errors
    /// Fails if there is no such stack, or if CloudFormation can't be asked.
    pub async fn describe(aws: &Aws, name: &str) -> Result<Self, StackError> {
        let unknown = || StackError::Unknown { name: name.to_owned(), region: aws.region().to_owned() };
        let response: Result<DescribeStacksResponse, AwsError> =
            aws.query("cloudformation", VERSION, "DescribeStacks", &[("StackName", name)]).await;
        let response = response.map_err(|error| match error.message() {
            Some(message) if message.contains("does not exist") => unknown(),
            _ => error.into(),
        })?;
        let stack = response.describe_stacks_result.stacks.member.into_iter().next().ok_or_else(unknown)?;
        let outputs = stack.outputs.member.into_iter().map(|output| (output.output_key, output.output_value));
        let parameters = stack.parameters.member.into_iter();
        let parameters = parameters.map(|parameter| (parameter.parameter_key, parameter.parameter_value));
        Ok(Self {
            name: name.to_owned(),
            status: stack.stack_status,
            region: aws.region().to_owned(),
            outputs: outputs.collect(),
            parameters: parameters.collect(),
        })
    }

    /// The stack's region.
    #[must_use]
    pub fn region(&self) -> &str {
        &self.region
    }

    /// Returns an output.
    #[must_use]
    pub fn output(&self, name: &str) -> Option<&str> {
        self.outputs.get(name).map(String::as_str)
    }

    /// Returns an output that every deployment has.
    ///
    /// # Errors
    /// Fails if the stack lacks it, for example because its deployment failed.
    pub fn require(&self, name: &str) -> Result<&str, StackError> {
        self.output(name).ok_or_else(|| StackError::NoOutput {
            name: self.name.clone(),
            status: self.status.clone(),
            output: name.to_owned(),
        })
    }

    /// Returns the id of a resource, such as its ARN or its name, by the name in the template.
    ///
    /// # Errors
    /// Fails if the stack has no such resource, or if CloudFormation can't be asked.
    pub async fn resource(&self, aws: &Aws, logical_id: &str) -> Result<String, AwsError> {
        let parameters = [("StackName", self.name.as_str()), ("LogicalResourceId", logical_id)];
        let response: DescribeStackResourceResponse =
            aws.query("cloudformation", VERSION, "DescribeStackResource", &parameters).await?;
        Ok(response.describe_stack_resource_result.stack_resource_detail.physical_resource_id)
    }

    /// Returns the audiences whose tokens the API accepts: the parameter's, or the client of the stack's own pool.
    #[must_use]
    pub fn token_audiences(&self) -> Vec<String> {
        let named = self.parameter("TokenAudiences").or(self.output("UserPoolClientId"));
        named.map(|names| names.split(',').map(str::to_owned).collect()).unwrap_or_default()
    }

    /// Returns the OpenID Connect issuer of a stack with `AuthMode=oidc`.
    #[must_use]
    pub fn oidc_issuer(&self) -> Option<&str> {
        let is_oidc = self.parameter("AuthMode") == Some("oidc");
        is_oidc.then(|| self.parameter("OidcIssuer").unwrap_or_default())
    }

    /// Returns the id of the user pool: the one that the stack was given, or its own.
    #[must_use]
    pub fn user_pool(&self) -> Option<&str> {
        let arn = self.parameter("UserPoolArn");
        arn.and_then(|arn| arn.split_once(":userpool/")).map(|(_, id)| id).or(self.output("UserPoolId"))
    }

    /// Returns a parameter, or `None` if it is empty.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_of_cloudformation_is_read() {
        let xml = "<DescribeStacksResponse xmlns=\"http://cloudformation.amazonaws.com/doc/2010-05-15/\">\
                   <DescribeStacksResult><Stacks><member><StackName>s</StackName><StackStatus>CREATE_COMPLETE</StackStatus>\
                   <Outputs><member><OutputKey>ApiUrl</OutputKey><OutputValue>https://a&amp;b</OutputValue></member></Outputs>\
                   <Parameters><member><ParameterKey>Empty</ParameterKey><ParameterValue></ParameterValue></member>\
                   <member><ParameterKey>A</ParameterKey><ParameterValue>1</ParameterValue></member></Parameters>\
                   <Tags/></member></Stacks></DescribeStacksResult>\
                   <ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></DescribeStacksResponse>";
        let response: DescribeStacksResponse = quick_xml::de::from_str(xml).unwrap();
        let stack = response.describe_stacks_result.stacks.member.into_iter().next().unwrap();
        assert_eq!(stack.outputs.member[0].output_value, "https://a&b");
        assert_eq!(
            (stack.parameters.member[0].parameter_value.as_str(), stack.parameters.member.len()),
            ("", 2)
        );
    }

    #[test]
    fn stack_without_outputs_is_read() {
        let xml = "<R><DescribeStacksResult><Stacks><member><StackStatus>ROLLBACK_COMPLETE</StackStatus><Outputs/>\
                   </member></Stacks></DescribeStacksResult></R>";
        let response: DescribeStacksResponse = quick_xml::de::from_str(xml).unwrap();
        assert!(response.describe_stacks_result.stacks.member[0].outputs.member.is_empty());
    }
}
