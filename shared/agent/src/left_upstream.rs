//! What a stored object tells of a response that its model's provider keeps, for whoever purges.
//!
//! Read for itself, so that an object whose rest can't be read tells it all the same.

use contracts::{Timestamp, json_bytes};
use protocol::{chain::Keeper, purge::LeftUpstream};
use serde::Deserialize;

/// An outcome object, or a step.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Object {
    report: Option<Answered>,
    step: Option<Step>,
    plan: Option<Plan>,
    progress: Option<Answered>,
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Step {
    plan: Option<Plan>,
    progress: Option<Answered>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Plan {
    #[serde(default)]
    chain: Keeper,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answered {
    response_id: Option<String>,
    provider: Option<String>,
    keeps_no_chain: Option<String>,
    chain_expires: Option<Timestamp>,
}

/// The response that an outcome object or a step tells of, where its provider was to keep it.
#[must_use]
pub fn of_object(bytes: &[u8]) -> Option<LeftUpstream> {
    let Object { report, step, plan, progress, kind } = json_bytes::read(bytes).ok()?;
    let step = step.or(Some(Step { plan, progress }));
    if let Some(Step { plan: Some(plan), progress: Some(progress) }) = step {
        return progress.left().filter(|_| plan.chain == Keeper::Provider);
    }
    let report = report?;
    // Of an answer it says until when it is kept, of a failure only that there was one.
    let is_kept = report.chain_expires.is_some() || kind.as_deref() == Some("failed");
    report.left().filter(|_| is_kept)
}

impl Answered {
    fn left(self) -> Option<LeftUpstream> {
        let keeps_none = self.keeps_no_chain.is_some() && self.keeps_no_chain == self.provider;
        let response_id = self.response_id.filter(|_| !keeps_none)?;
        Some(LeftUpstream { provider: self.provider, response_id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(object: &str) -> Option<String> {
        of_object(object.as_bytes()).map(|left| left.response_id)
    }

    #[test]
    fn answers_failures_suspensions_and_steps_tell_the_response_that_was_kept() {
        for object in [
            r#"{"Kind":"completed","Report":{"ResponseId":"r","ChainExpires":"2026-01-01T00:00:00Z"},"Response":{}}"#,
            r#"{"Kind":"failed","Report":{"ResponseId":"r"}}"#,
            r#"{"Kind":"suspended","Report":{},"Step":{"Plan":{"Chain":"provider"},"Progress":{"ResponseId":"r"}}}"#,
            r#"{"Plan":{"Chain":"provider","Model":"m"},"Progress":{"ResponseId":"r","Rounds":1}}"#,
            r#"{"SchemaVersion":99,"Kind":"failed","Report":{"ResponseId":"r","Provider":"p"},"New":[]}"#,
        ] {
            assert_eq!(left(object).as_deref(), Some("r"), "{object}");
        }
    }

    #[test]
    fn what_was_not_to_be_kept_or_turned_out_not_to_be_is_not_told() {
        for object in [
            r#"{"Kind":"completed","Report":{"ResponseId":"r"}}"#,
            r#"{"Kind":"failed","Report":{"ResponseId":"r","Provider":"p","KeepsNoChain":"p"}}"#,
            r#"{"Plan":{"Chain":"local"},"Progress":{"ResponseId":"r"}}"#,
            r#"{"Kind":"failed","Report":{}}"#,
            "[]",
            "no JSON",
        ] {
            assert_eq!(left(object), None, "{object}");
        }
    }
}
