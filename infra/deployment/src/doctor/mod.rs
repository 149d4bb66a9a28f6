//! Diagnosis of a deployment: each check is one finding, with the way to fix it.

mod alarms;
mod identity;
mod quotas;
mod secrets;

use std::fmt;

use crate::aws::AwsError;
use crate::stack::Stack;
pub use alarms::check as check_alarms;
pub use identity::check as check_identity;
pub use quotas::check as check_concurrency;
pub use secrets::read as read_secret;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The check passed.
    Ok,
    /// The deployment works, but not as well as it should.
    Warning,
    /// The check could not be made.
    Skipped,
    /// Requests fail because of it.
    Failed,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Severity.
    pub severity: Severity,
    /// The subject of the check.
    pub subject: String,
    /// The finding, and for problems the way to fix it.
    pub text: String,
}

impl Finding {
    /// Returns a passed check.
    pub fn ok(subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self { severity: Severity::Ok, subject: subject.into(), text: text.into() }
    }

    /// Returns a problem that degrades the deployment.
    pub fn warning(subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::ok(subject, text) }
    }

    /// Returns a problem that makes requests fail.
    pub fn failed(subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self { severity: Severity::Failed, ..Self::ok(subject, text) }
    }

    /// Returns a check that could not be made.
    pub fn skipped(subject: impl Into<String>, text: impl Into<String>) -> Self {
        Self { severity: Severity::Skipped, ..Self::ok(subject, text) }
    }

    /// Returns the finding of a request to AWS that failed. A missing permission is not a problem of the deployment.
    fn of_error(subject: &str, error: &AwsError) -> Self {
        if error.is_access_denied() {
            return Self::skipped(subject, format!("your credentials lack a permission: {error}"));
        }
        Self::failed(subject, error.to_string())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Ok => "ok",
            Severity::Warning => "warning",
            Severity::Skipped => "skipped",
            Severity::Failed => "FAILED",
        };
        write!(f, "{severity:<7} {}: {}", self.subject, self.text)
    }
}

/// Checks that the stack's last deployment succeeded.
#[must_use]
pub fn check_stack(stack: &Stack) -> Finding {
    const SUBJECT: &str = "stack";
    let text = format!("{} in {} is {}", stack.name, stack.region(), stack.status);
    if stack.status.ends_with("_IN_PROGRESS") {
        return Finding::warning(SUBJECT, format!("{text}. Wait for its end, and run this command again."));
    }
    match stack.status.as_str() {
        "CREATE_COMPLETE" | "UPDATE_COMPLETE" | "IMPORT_COMPLETE" => Finding::ok(SUBJECT, text),
        _ => Finding::failed(
            SUBJECT,
            format!(
                "{text}. See the reason: `aws cloudformation describe-stack-events --stack-name {}`.",
                stack.name
            ),
        ),
    }
}
