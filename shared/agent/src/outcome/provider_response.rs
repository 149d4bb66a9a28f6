//! Finds the provider's stored response in a stored object, for a purge.
//!
//! It reads only the members that it needs, so it also works for an object that can't be read otherwise.

use bytes::Bytes;
use contracts::{Timestamp, json_bytes};
use protocol::{chain::HistoryOwner, purge::ProviderResponseRef};
use serde::Deserialize;
use serde_json::Value;

/// An outcome object or a recovery point.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Object {
    report: Option<ReportMembers>,
    recovery_point: Option<RecoveryPoint>,
    spec: Option<TurnSpec>,
    state: Option<AttemptState>,
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RecoveryPoint {
    spec: Option<TurnSpec>,
    state: Option<AttemptState>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TurnSpec {
    history: HistorySpec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HistorySpec {
    owner: HistoryOwner,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AttemptState {
    chain: ChainState,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ChainState {
    response_id: Option<String>,
    reply: Option<ReplyInfo>,
    stateless_provider: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ReplyInfo {
    provider: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ReportMembers {
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
        let ChainState { response_id, reply, stateless_provider } = state.chain;
        let provider = reply.map(|reply| reply.provider);
        return stored_response(response_id, provider, stateless_provider)
            .filter(|_| spec.history.owner == HistoryOwner::Provider);
    }
    let ReportMembers { response_id, provider, stateless_provider, chain_expires } = report?;
    // An answer has the expiry of its response. A failure has only the response.
    let is_stored = chain_expires.is_some() || kind.as_deref() == Some("failed");
    stored_response(response_id, provider, stateless_provider).filter(|_| is_stored)
}

/// The member that names a response in outcome objects and recovery points, and the one that takes its place in an
/// imported object. The same length keeps the object's size.
const MEMBERS: (&str, &str) = ("\"ResponseId\":", "\"ImportedId\":");

/// Returns an imported outcome object or recovery point whose responses are no longer the service's own: their ids stay
/// to be shown, under another member. `None` if the object names a response in a way that the service doesn't write.
#[must_use]
pub fn as_imported(bytes: &Bytes) -> Option<Bytes> {
    let text = std::str::from_utf8(bytes).ok()?;
    // The service writes the member without blanks. A quoted text can't match, because its quotes are escaped.
    let (own, imported) = MEMBERS;
    let imported = text.replace(own, imported);
    let object: Value = serde_json::from_str(&imported).ok()?;
    (!has_response_id(&object)).then(|| imported.into())
}

fn has_response_id(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.contains_key("ResponseId") || members.values().any(has_response_id),
        Value::Array(values) => values.iter().any(has_response_id),
        _ => false,
    }
}

fn stored_response(
    response_id: Option<String>,
    provider: Option<String>,
    stateless_provider: Option<String>,
) -> Option<ProviderResponseRef> {
    let is_stateless = stateless_provider.is_some() && stateless_provider == provider;
    let response_id = response_id.filter(|_| !is_stateless)?;
    Some(ProviderResponseRef { provider, response_id })
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
            r#"{"Kind":"suspended","Report":{},"RecoveryPoint":{"Spec":{"History":{"Owner":"provider"}},"State":{"Chain":{"ResponseId":"r"}}}}"#,
            r#"{"Spec":{"History":{"Owner":"provider","Tokens":1},"Prompt":{}},"State":{"Chain":{"ResponseId":"r"},"Rounds":{"Count":1}}}"#,
            r#"{"SchemaVersion":99,"Kind":"failed","Report":{"ResponseId":"r","Provider":"p"},"New":[]}"#,
        ] {
            assert_eq!(response_id(object).as_deref(), Some("r"), "{object}");
        }
    }

    #[test]
    fn imported_object_names_no_response() {
        let object = r#"{"Kind":"failed","Report":{"ResponseId":"r"},"Text":"\"ResponseId\":1"}"#;
        let imported = as_imported(&Bytes::from_static(object.as_bytes())).unwrap();
        assert_eq!(find_in_object(&imported), None);
        assert_eq!(imported.len(), object.len());
        assert!(std::str::from_utf8(&imported).unwrap().contains(r#""ImportedId":"r""#));
        for crafted in [
            r#"{"Kind":"failed","Report":{"ResponseId" :"r"}}"#,
            r#"{"Kind":"failed","Report":{"Response\u0049d":"r"}}"#,
        ] {
            assert!(find_in_object(crafted.as_bytes()).is_some());
            assert_eq!(as_imported(&Bytes::from_static(crafted.as_bytes())), None, "{crafted}");
        }
    }

    #[test]
    fn response_that_was_not_stored_is_not_returned() {
        for object in [
            r#"{"Kind":"completed","Report":{"ResponseId":"r"}}"#,
            r#"{"Kind":"failed","Report":{"ResponseId":"r","Provider":"p","StatelessProvider":"p"}}"#,
            r#"{"Spec":{"History":{"Owner":"local"}},"State":{"Chain":{"ResponseId":"r"}}}"#,
            r#"{"Kind":"failed","Report":{}}"#,
            "[]",
            "no JSON",
        ] {
            assert_eq!(response_id(object), None, "{object}");
        }
    }
}
