//! Who calls, as one of the two authorizers of `template.yaml` says: a user pool's, or the `authorizer` function.

use axum::http::{header, request};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::envelope::Refusal;
use crate::lambda::{Function, InvokeError, Lambda};
use crate::services::{ACCOUNT, REGION};
use crate::token::{Refused, Tokens};

/// The stage that everything is deployed to.
pub(super) const STAGE: &str = "local";
/// The API's id.
pub(super) const API_ID: &str = "local";
/// An answer is no longer than a token.
const MOST_ANSWER_BYTES: usize = 64 * 1024;
/// The word that makes a function's error a 401.
const UNAUTHORIZED: &str = "Unauthorized";

/// Says who calls.
#[derive(Clone)]
pub(crate) enum Authorizer {
    /// The tokens of this cloud count, as those of a user pool do on AWS.
    Cognito(Tokens),
    /// The function says so. Its answers are not kept, as they are on AWS for a minute.
    Oidc,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    policy_document: Policy,
    context: Map<String, Value>,
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
    /// What an event says of the caller.
    pub(super) async fn caller(&self, lambda: &Lambda, request: &request::Parts) -> Result<Value, Refusal> {
        let authorization = request.headers.get(header::AUTHORIZATION);
        let authorization = authorization.and_then(|value| value.to_str().ok());
        match (self, authorization) {
            (Self::Cognito(tokens), _) => {
                let claims = tokens.verify(authorization).map_err(Refusal::Unauthenticated)?;
                Ok(json!({ "claims": claims }))
            }
            // Without the header the function is not asked.
            (Self::Oidc, None | Some("")) => Err(Refusal::Unauthenticated(Refused::Missing)),
            (Self::Oidc, Some(authorization)) => asked(lambda, authorization, request).await,
        }
    }
}

/// Whether what a function reports as its error is a 401.
fn is_unauthorized(report: &str) -> bool {
    let report: Value = serde_json::from_str(report).unwrap_or_default();
    report.get("errorMessage").is_some_and(|message| message == UNAUTHORIZED)
}

async fn asked(lambda: &Lambda, authorization: &str, request: &request::Parts) -> Result<Value, Refusal> {
    let stage = format!("arn:aws:execute-api:{REGION}:{ACCOUNT}:{API_ID}/{STAGE}");
    let method = format!("{stage}/{}{}", request.method, request.uri.path());
    let event =
        json!({"type": "TOKEN", "authorizationToken": authorization, "methodArn": method}).to_string();
    let answer = match lambda.invoke(Function::Authorizer, event.into()).await {
        Ok(reply) => reply.whole(MOST_ANSWER_BYTES).await,
        Err(InvokeError::Function(report)) if is_unauthorized(&report) => {
            return Err(Refusal::Unauthenticated(Refused::Invalid));
        }
        Err(_) => None,
    };
    let answer: Option<Answer> = answer.and_then(|answer| serde_json::from_slice(&answer).ok());
    let answer = answer.ok_or(Refusal::AuthorizerFailed)?;
    let allows = |one: &Statement| {
        let covered = one.resource.strip_suffix('*').is_some_and(|prefix| method.starts_with(prefix));
        one.effect == "Allow" && (covered || one.resource == method)
    };
    // API Gateway refuses a context that is not flat.
    let is_flat = answer.context.values().all(|value| !value.is_object() && !value.is_array());
    if !is_flat {
        return Err(Refusal::AuthorizerFailed);
    }
    if answer.policy_document.statement.iter().any(allows) {
        Ok(answer.context.into())
    } else {
        Err(Refusal::Forbidden)
    }
}
