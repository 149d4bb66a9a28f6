//! The account's quota of concurrent functions.

use serde_json::Value;

use super::Finding;
use crate::aws::Aws;

/// Path of the account's settings in Lambda's API.
const SETTINGS: &str = "/2016-08-19/account-settings";
/// Quota below which a deployment is throttled under ordinary load.
const USUAL_QUOTA: u64 = 100;
/// Code of the quota in Service Quotas.
const QUOTA_CODE: &str = "L-B99A9384";

/// Checks the account's quota. New accounts have 10.
pub async fn check(aws: &Aws) -> Finding {
    const SUBJECT: &str = "concurrency";
    let settings = match aws.get("lambda", "GetAccountSettings", SETTINGS).await {
        Ok(settings) => settings,
        Err(error) => return Finding::of_error(SUBJECT, &error),
    };
    let limit = |name: &str| settings.get("AccountLimit")?.get(name).and_then(Value::as_u64);
    let Some(quota) = limit("ConcurrentExecutions") else {
        return Finding::skipped(SUBJECT, "Lambda names no quota");
    };
    let unreserved = limit("UnreservedConcurrentExecutions").unwrap_or(quota);
    let text = format!("the account runs {quota} functions at once, {unreserved} of them unreserved");
    if quota >= USUAL_QUOTA {
        return Finding::ok(SUBJECT, text);
    }
    let fix = format!(
        "aws service-quotas request-service-quota-increase --service-code lambda --quota-code {QUOTA_CODE} --desired-value 1000"
    );
    Finding::warning(SUBJECT, format!("{text}. More turns than that get 429. Request more: `{fix}`."))
}
