//! What is known of a call after an invocation of a function.

use agent::tool::remote::RemoteOutcome;
use egress::{Failure, Response};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::{
    outcome::{self, MAX_MESSAGE_BYTES},
    secrecy::Secrecy,
};

/// The header of a response whose function failed.
const FUNCTION_ERROR: &str = "x-amz-function-error";
/// The header with the type of an API error.
const ERROR_TYPE: &str = "x-amzn-errortype";

/// The errors of `Invoke` with a status of a server's, for which Lambda couldn't prepare the function. It hasn't run.
/// `ServiceException` is an internal error of Lambda, which says nothing.
const BEFORE_THE_FUNCTION: [&str; 16] = [
    "EC2AccessDeniedException",
    "EC2ThrottledException",
    "EC2UnexpectedException",
    "EFSMountConnectivityException",
    "EFSMountTimeoutException",
    "ENILimitReachedException",
    "InvalidRuntimeException",
    "InvalidSecurityGroupIDException",
    "InvalidSubnetIDException",
    "InvalidZipFileException",
    "KMSAccessDeniedException",
    "KMSDisabledException",
    "KMSInvalidStateException",
    "KMSNotFoundException",
    "ResourceNotReadyException",
    "SubnetIPAddressLimitReachedException",
];

/// The error of a function whose file system failed while it ran, although its status is the client's.
const WHILE_THE_FUNCTION_RAN: &str = "EFSIOException";

/// The beginnings of the types of errors that Lambda reports in place of a function's own: a timeout, a crash, a result
/// that is too large.
const OF_LAMBDA: [&str; 4] = ["Runtime.", "Sandbox.", "Function.", "Extension."];

/// Returns the outcome of an invocation.
///
/// A function that has returned an error has performed what it performed, and says so itself. One that Lambda ended has said
/// nothing.
pub(crate) fn of(exchanged: Result<Response, Failure>, tool: &str) -> RemoteOutcome {
    let none = Secrecy::of(None);
    let Ok(response) = exchanged else { return outcome::of(exchanged, tool, &none) };
    if response.headers.contains_key(FUNCTION_ERROR) {
        return of_error(&response.body);
    }
    let kind = error_type(&response.headers);
    if BEFORE_THE_FUNCTION.contains(&kind) {
        return RemoteOutcome::Refused(format!(
            "Lambda couldn't prepare the function, so it didn't run: {kind}."
        ));
    }
    // Another status of success isn't one of a whole invocation.
    let has_no_result = response.status.is_success() && response.status != StatusCode::OK;
    match kind == WHILE_THE_FUNCTION_RAN || has_no_result {
        true => RemoteOutcome::Unknown(
            "The outcome of the call isn't known: the function gave no result.".to_owned(),
        ),
        false => outcome::of(Ok(response), tool, &none),
    }
}

/// Returns the type of an API error, without the namespace behind it.
fn error_type(headers: &HeaderMap) -> &str {
    let value = headers.get(ERROR_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(':').next().unwrap_or_default().trim()
}

/// Returns the outcome of a function that failed. Its stack trace is its own.
fn of_error(body: &[u8]) -> RemoteOutcome {
    let error: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = agent::text::truncate(text("errorType"), 256);
    let message = agent::text::truncate(text("errorMessage"), MAX_MESSAGE_BYTES);
    if kind.is_empty() || OF_LAMBDA.iter().any(|prefix| kind.starts_with(prefix)) {
        return RemoteOutcome::Unknown(format!(
            "The outcome of the call isn't known. The function was ended: {message}"
        ));
    }
    RemoteOutcome::Done(json!({ "isError": true, "errorType": kind, "text": message }).into())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn outcome(status: u16, header: (&'static str, &str), body: &str) -> RemoteOutcome {
        let status = StatusCode::from_u16(status).unwrap();
        let headers = HeaderMap::from_iter([(header.0.parse().unwrap(), header.1.parse().unwrap())]);
        of(Ok(Response { status, headers, body: Bytes::from(body.to_owned()) }), "t")
    }

    fn result(outcome: RemoteOutcome) -> Value {
        let RemoteOutcome::Done(success) = outcome else { panic!("{outcome:?}") };
        success.result
    }

    #[test]
    fn error_of_a_function_is_its_result_without_a_stack_trace() {
        let body = r#"{"errorMessage":"No such order","errorType":"ValueError","stackTrace":["a.py"]}"#;
        let failed = result(outcome(200, (FUNCTION_ERROR, "Unhandled"), body));
        assert_eq!(failed, json!({ "isError": true, "errorType": "ValueError", "text": "No such order" }));
        let long = json!({ "errorType": "E", "errorMessage": "x".repeat(100_000) }).to_string();
        let failed = result(outcome(200, (FUNCTION_ERROR, "Unhandled"), &long));
        assert!(failed.to_string().len() < 2 * MAX_MESSAGE_BYTES, "{}", failed.to_string().len());
    }

    #[test]
    fn function_that_lambda_ended_has_an_unknown_outcome() {
        for body in [
            r#"{"errorMessage":"2026-11-30T05:00:00Z 1f Task timed out after 3.00 seconds"}"#,
            r#"{"errorMessage":"Task timed out after 3.00 seconds","errorType":"Sandbox.Timedout"}"#,
            r#"{"errorMessage":"exit status 1","errorType":"Runtime.ExitError"}"#,
            r#"{"errorMessage":"too large","errorType":"Function.ResponseSizeTooLarge"}"#,
            "",
        ] {
            let unknown = outcome(200, (FUNCTION_ERROR, "Unhandled"), body);
            assert!(matches!(unknown, RemoteOutcome::Unknown(_)), "{unknown:?}");
        }
    }

    #[test]
    fn error_before_the_function_ran_is_a_refusal() {
        for (status, kind) in [
            (400, "InvalidRequestContentException"),
            (403, "AccessDeniedException"),
            (404, "ResourceNotFoundException:http://internal.amazon.com/coral/com.amazonaws.lambda/"),
            (408, "EFSMountTimeoutException"),
            (409, "ResourceConflictException"),
            (413, "RequestTooLargeException"),
            (429, "TooManyRequestsException"),
            (502, "EC2ThrottledException"),
            (502, "KMSDisabledException"),
        ] {
            let refused = outcome(status, (ERROR_TYPE, kind), "{}");
            assert!(matches!(refused, RemoteOutcome::Refused(_)), "{kind}: {refused:?}");
        }
        for (status, kind) in
            [(500, "ServiceException"), (502, ""), (503, ""), (410, "EFSIOException"), (202, "")]
        {
            let unknown = outcome(status, (ERROR_TYPE, kind), "");
            assert!(matches!(unknown, RemoteOutcome::Unknown(_)), "{status} {kind}: {unknown:?}");
        }
    }

    #[test]
    fn payload_is_the_result() {
        let done = |body: &str| result(outcome(200, ("x-amz-executed-version", "1"), body));
        assert_eq!(done(r#"{"refunded":"7"}"#), json!({ "refunded": "7" }));
        assert_eq!(done("null"), json!({ "text": "null" }));
    }
}
