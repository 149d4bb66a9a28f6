//! Finds the provider's stored response in a stored object, for a purge.
//!
//! It reads only the members that it needs, so it also works for an object that can't be read otherwise.

use contracts::{Timestamp, json_bytes};
use protocol::{chain::HistoryOwner, purge::ProviderResponseRef};
use serde::Deserialize;

/// An outcome object or a recovery point.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Object {
    report: Option<ResponseMetadata>,
    recovery_point: Option<RecoveryPoint>,
    spec: Option<TurnSpec>,
    state: Option<ResponseMetadata>,
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RecoveryPoint {
    spec: Option<TurnSpec>,
    state: Option<ResponseMetadata>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TurnSpec {
    #[serde(default)]
    history_owner: HistoryOwner,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ResponseMetadata {
    response_id: Option<String>,
    provider: Option<String>,
    stateless_provider: Option<String>,
    chain_expires: Option<Timestamp>,
}

/// Returns the response that an outcome object or a recovery point names, if the provider was to store it.
#[must_use]
pub fn find_in_object(bytes: &[u8]) -> Option<ProviderResponseRef> {
    let Object { report, recovery_point, spec, state, kind } = json_bytes::from_slice(bytes).ok()?;
    let recovery_point = recovery_point.or(Some(RecoveryPoint { spec, state }));
    if let Some(RecoveryPoint { spec: Some(spec), state: Some(state) }) = recovery_point {
        return state.into_ref().filter(|_| spec.history_owner == HistoryOwner::Provider);
    }
    let report = report?;
    // An answer has the expiry of its response. A failure has only the response.
    let is_stored = report.chain_expires.is_some() || kind.as_deref() == Some("failed");
    report.into_ref().filter(|_| is_stored)
}

impl ResponseMetadata {
    fn into_ref(self) -> Option<ProviderResponseRef> {
        let is_stateless = self.stateless_provider.is_some() && self.stateless_provider == self.provider;
        let response_id = self.response_id.filter(|_| !is_stateless)?;
        Some(ProviderResponseRef { provider: self.provider, response_id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response_id(object: &str) -> Option<String> {
        find_in_object(object.as_bytes()).map(|found| found.response_id)
    }

    #[test]
    fn stored_response_is_found_in_outcomes_and_recovery_points() {
        for object in [
            r#"{"Kind":"completed","Report":{"ResponseId":"r","ChainExpires":"2026-01-01T00:00:00Z"},"Response":{}}"#,
            r#"{"Kind":"failed","Report":{"ResponseId":"r"}}"#,
            r#"{"Kind":"suspended","Report":{},"RecoveryPoint":{"Spec":{"HistoryOwner":"provider"},"State":{"ResponseId":"r"}}}"#,
            r#"{"Spec":{"HistoryOwner":"provider","Model":"m"},"State":{"ResponseId":"r","Rounds":1}}"#,
            r#"{"SchemaVersion":99,"Kind":"failed","Report":{"ResponseId":"r","Provider":"p"},"New":[]}"#,
        ] {
            assert_eq!(response_id(object).as_deref(), Some("r"), "{object}");
        }
    }

    #[test]
    fn response_that_was_not_stored_is_not_returned() {
        for object in [
            r#"{"Kind":"completed","Report":{"ResponseId":"r"}}"#,
            r#"{"Kind":"failed","Report":{"ResponseId":"r","Provider":"p","StatelessProvider":"p"}}"#,
            r#"{"Spec":{"HistoryOwner":"local"},"State":{"ResponseId":"r"}}"#,
            r#"{"Kind":"failed","Report":{}}"#,
            "[]",
            "no JSON",
        ] {
            assert_eq!(response_id(object), None, "{object}");
        }
    }
}
