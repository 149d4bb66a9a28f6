//! The AWS account of the services, and the access key of commands.

/// AWS region of every service.
pub(crate) const REGION: &str = "us-east-1";
/// AWS account of every service.
pub(crate) const ACCOUNT: &str = "123456789012";
/// Access key that the services accept from the local cloud and its commands. Each function has a key of its own.
pub(crate) const ACCESS_KEY: &str = "local-cloud";

/// Name of the API's stage.
pub(crate) const STAGE: &str = "local";

/// Id of the API.
pub(crate) const API_ID: &str = "local";
