//! Calls of remote tools, as their approvals name them.

use std::time::Duration;

use contracts::{Fingerprint, Timestamp};
use protocol::{
    approval::{ApprovalId, ExactCall},
    id::TurnKey,
};
use serde_json::Value;

use super::{
    approval::{CallApproval, CallFacts},
    remote::RemoteTool,
};

impl RemoteTool {
    /// Returns a call as an approval names it.
    #[must_use]
    pub fn exact_call(&self, arguments: &Value) -> ExactCall {
        ExactCall {
            tool: self.definition.name.clone(),
            connection: self.connection.clone(),
            revision: self.revision,
            schema: Fingerprint::hash_bytes(canonical(&self.definition.parameters).as_bytes()),
            arguments: canonical(arguments),
        }
    }

    /// Returns the approval that a call needs. `None` if its policy doesn't ask.
    #[must_use]
    pub fn needed_approval(
        &self,
        turn: &TurnKey,
        call_id: &str,
        facts: &CallFacts<'_>,
        now: Timestamp,
    ) -> Option<CallApproval> {
        let policy = self.terms.approval.as_ref().filter(|policy| policy.asks(facts))?;
        let call = self.exact_call(facts.arguments);
        let expires = Duration::from_secs(policy.expires_after_seconds.into());
        Some(CallApproval {
            id: ApprovalId::of_call(turn, call_id, &call.hash()),
            call,
            rules: policy.answer_rules(),
            created: now,
            expires: now.after(expires),
        })
    }

    /// True if another version of the tool makes the same calls. What an operator sets beside the call may differ.
    #[must_use]
    pub fn calls_the_same(&self, other: &Self) -> bool {
        self.definition == other.definition
            && self.connection == other.connection
            && self.class == other.class
            && self.target == other.target
    }
}

/// Returns JSON in its canonical form.
#[must_use]
pub fn canonical(value: &Value) -> String {
    serde_json_canonicalizer::to_string(value).unwrap_or_else(|_| value.to_string())
}
