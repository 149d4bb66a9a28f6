//! Identifies the caller, as one of the two authorizers of `template.yaml`: a user pool, or the `authorizer`
//! function.

use axum::http::{header, request};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::envelope::Refusal;
use super::event::header_text;
use crate::account::{ACCOUNT, API_ID, REGION, STAGE};
use crate::function::Function;
use crate::lambda::{InvokeError, Lambda};
use crate::token::{Rejection, Tokens};

/// A header for the token that clients of Anthropic's API send in the place of `Authorization`. API Gateway reads one
/// header alone, so a deployment on AWS doesn't accept it.
const API_KEY: &str = "x-api-key";
/// Largest response of the authorizer function, in bytes. It is not much longer than a token.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;
/// Error message with which the function requests a 401.
const UNAUTHORIZED: &str = "Unauthorized";

/// An authorizer.
#[derive(Clone)]
pub(crate) enum Authorizer {
    /// Accepts the tokens of this cloud, as a user pool does on AWS.
    Cognito(Tokens),
    /// Invokes the `authorizer` function. Its responses are not cached; AWS caches them for a minute.
    Oidc,
}

/// The caller that an authorizer identified.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// Authorizer context for the event.
    pub(crate) context: Value,
    /// API key that the request counts against. This gateway limits nobody, and only passes it on.
    pub(crate) usage_key: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuthorizerResponse {
    policy_document: Policy,
    context: Map<String, Value>,
    usage_identifier_key: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Policy {
    statement: Vec<Statement>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Statement {
    effect: String,
    resource: String,
}

impl Authorizer {
    /// Identifies the caller of a request.
    pub(super) async fn caller(&self, lambda: &Lambda, request: &request::Parts) -> Result<Caller, Refusal> {
        let sent = request.headers.get(header::AUTHORIZATION).or_else(|| request.headers.get(API_KEY));
        let authorization = sent.map(header_text);
        match (self, authorization.as_deref()) {
            (Self::Cognito(tokens), authorization) => {
                let claims = tokens.verify(authorization).map_err(Refusal::Unauthenticated)?;
                Ok(Caller { context: json!({ "claims": claims }), usage_key: None })
            }
            // Without the header, API Gateway does not invoke the function.
            (Self::Oidc, None | Some("")) => Err(Refusal::Unauthenticated(Rejection::Missing)),
            (Self::Oidc, Some(authorization)) => invoke_authorizer(lambda, authorization, request).await,
        }
    }
}

/// Returns true if the error that a function reports means 401.
fn is_unauthorized(report: &str) -> bool {
    let report: Value = serde_json::from_str(report).unwrap_or_default();
    report.get("errorMessage").is_some_and(|message| message == UNAUTHORIZED)
}

async fn invoke_authorizer(
    lambda: &Lambda,
    authorization: &str,
    request: &request::Parts,
) -> Result<Caller, Refusal> {
    let stage = format!("arn:aws:execute-api:{REGION}:{ACCOUNT}:{API_ID}/{STAGE}");
    let method = format!("{stage}/{}{}", request.method, request.uri.path());
    let event =
        json!({"type": "TOKEN", "authorizationToken": authorization, "methodArn": method}).to_string();
    let response = match lambda.invoke(Function::Authorizer, event.into()).await {
        Ok(reply) => reply.collect(MAX_RESPONSE_BYTES).await,
        Err(InvokeError::Function(report)) if is_unauthorized(&report) => {
            return Err(Refusal::Unauthenticated(Rejection::Invalid));
        }
        Err(_) => None,
    };
    let response: Option<AuthorizerResponse> =
        response.and_then(|response| serde_json::from_slice(&response).ok());
    let response = response.ok_or(Refusal::AuthorizerFailed)?;
    let allows = |one: &Statement| {
        let covered = one.resource.strip_suffix('*').is_some_and(|prefix| method.starts_with(prefix));
        one.effect == "Allow" && (covered || one.resource == method)
    };
    // API Gateway rejects a context that is not flat.
    let is_flat = response.context.values().all(|value| !value.is_object() && !value.is_array());
    if !is_flat {
        return Err(Refusal::AuthorizerFailed);
    }
    if response.policy_document.statement.iter().any(allows) {
        Ok(Caller { context: response.context.into(), usage_key: response.usage_identifier_key })
    } else {
        Err(Refusal::Forbidden)
    }
}
