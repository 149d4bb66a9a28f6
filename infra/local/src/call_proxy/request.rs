//! The parts of a call on the wire that the proxy reads or changes.

use axum::body::Bytes;
use axum::http::{HeaderMap, header, request::Parts};
use serde_json::{Map, Value, json};

use super::Failure;
use super::call::Service;
use super::policy::CallRequest;
use crate::ServiceKeys;

/// Returns the operation: the one that the target header names, or the method of a request to the bucket.
pub(super) fn operation(service: Service, request: &Parts) -> String {
    if service == Service::Bucket {
        return request.method.to_string();
    }
    let target = request.headers.get("x-amz-target").and_then(|target| target.to_str().ok());
    target.and_then(|target| target.rsplit('.').next()).unwrap_or_default().to_owned()
}

/// Returns the function whose access key signed the call.
pub(super) fn caller(request: &Parts) -> String {
    access_key(request).strip_prefix("local-cloud-").unwrap_or_default().to_owned()
}

/// Returns the access key that signed the call. The signature of a link is in its query.
fn access_key(request: &Parts) -> String {
    let header = request.headers.get(header::AUTHORIZATION).and_then(|header| header.to_str().ok());
    let query = request.uri.query().unwrap_or_default().replace("%2F", "/");
    let signed = format!("{}&{query}", header.unwrap_or_default());
    let key = signed.split("Credential=").nth(1).and_then(|rest| rest.split('/').next());
    key.unwrap_or_default().to_owned()
}

/// Returns the sort key of the item that a call puts into the table.
pub(super) fn sort_key(request: &CallRequest<'_>) -> Option<String> {
    if request.service != Service::Table || request.operation != "PutItem" {
        return None;
    }
    let input: Value = serde_json::from_slice(request.body).ok()?;
    input.pointer("/Item/SK/S")?.as_str().map(str::to_owned)
}

/// Returns the headers and the body of a call.
pub(super) fn unchanged(request: &CallRequest<'_>) -> (HeaderMap, Bytes) {
    (request.parts.headers.clone(), request.body.clone())
}

/// Returns the headers and the body of a call to the table that also asks for its consumed capacity. It is signed again,
/// since its body differs.
pub(super) fn metered(request: &CallRequest<'_>, keys: &ServiceKeys) -> Result<(HeaderMap, Bytes), Failure> {
    let mut parts = request.parts.clone();
    let mut input: Map<String, Value> = serde_json::from_slice(request.body)?;
    input.insert("ReturnConsumedCapacity".to_owned(), json!("TOTAL"));
    let body = serde_json::to_vec(&input)?;
    parts.headers.remove(header::CONTENT_LENGTH);
    keys.sign("dynamodb", &access_key(request.parts), &mut parts, &body)?;
    Ok((parts.headers, Bytes::from(body)))
}

/// Returns the capacity units in a response of the table.
pub(super) fn consumed_units(response: &[u8]) -> f64 {
    let response: Value = serde_json::from_slice(response).unwrap_or_default();
    let units = |table: &Value| table.get("CapacityUnits").and_then(Value::as_f64);
    match response.get("ConsumedCapacity") {
        Some(Value::Array(tables)) => tables.iter().filter_map(units).sum(),
        table => table.and_then(units).unwrap_or_default(),
    }
}
