//! Answers a request of API Gateway with a policy and the claims for the function behind it.

use std::time::SystemTime;

use contracts::error::causes;
use lambda_runtime::Error;
use runtime::context_key;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    keys::{KeyError, Keys},
    mapping::{CLIENT_WITHOUT_ORG, ClaimMapping},
    table::LazyTable,
    token::{self, Rules, TokenError},
    usage::UsageKeys,
};

/// The request of API Gateway to an authorizer of type `TOKEN`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuthorizerRequest {
    /// The Authorization header, as the client sent it.
    #[serde(default)]
    authorization_token: String,
    /// The called method: `arn:aws:execute-api:REGION:ACCOUNT:API/STAGE/METHOD/PATH`.
    method_arn: String,
}

/// The error to which API Gateway answers 401. It does so for this message only.
#[derive(Debug, thiserror::Error)]
#[error("Unauthorized")]
struct Unauthorized;

/// The authenticator of callers.
pub(crate) struct Authorizer {
    pub(crate) keys: Keys,
    pub(crate) rules: Rules,
    pub(crate) mapping: ClaimMapping,
    pub(crate) table: LazyTable,
    pub(crate) usage: UsageKeys,
}

impl Authorizer {
    /// Answers a request. Any error other than [`Unauthorized`] makes the gateway answer 500: the keys or the table are
    /// unavailable, and the client may retry.
    pub(crate) async fn answer(&self, request: AuthorizerRequest) -> Result<Value, Error> {
        let token = token::bearer(&request.authorization_token);
        match self.context(token).await {
            Ok(mut context) => {
                self.add_client_org(&mut context).await?;
                let usage_key = self.usage_key(&context).await?;
                Ok(allow_policy(&request.method_arn, context, usage_key))
            }
            Err(TokenError::Key(KeyError::Unavailable(unavailable))) => {
                tracing::error!(error = %causes(&unavailable), "{}", contracts::log::JWKS_FETCH_FAILED);
                Err(unavailable.into())
            }
            Err(error) => {
                tracing::info!(error = %causes(&error), "{}", contracts::log::TOKEN_REJECTED);
                Err(Unauthorized.into())
            }
        }
    }

    /// Adds the org of the client to the context of a token that names none.
    async fn add_client_org(&self, context: &mut Map<String, Value>) -> Result<(), Error> {
        let Some(Value::String(client)) = context.remove(CLIENT_WITHOUT_ORG) else { return Ok(()) };
        let org = self.table.get().await.client_org(&client).await.inspect_err(|unavailable| {
            tracing::error!(error = %causes(unavailable), "{}", contracts::log::CLIENT_ORG_UNREADABLE);
        })?;
        context.extend(org.map(|org| (context_key::ORG.to_owned(), Value::from(org.as_str()))));
        Ok(())
    }

    /// Returns the API key that the caller's requests count against. A key that can't be read is an error: without one, the
    /// caller would have the limit of others.
    async fn usage_key(&self, context: &Map<String, Value>) -> Result<Option<String>, Error> {
        let key = self.usage.find(context, &self.table).await.inspect_err(|unavailable| {
            tracing::error!(error = %causes(unavailable), "{}", contracts::log::USAGE_KEY_UNREADABLE);
        })?;
        Ok(key)
    }

    /// Returns the claims of a valid token.
    async fn context(&self, token: &str) -> Result<Map<String, Value>, TokenError> {
        let header = token::header(token)?;
        let key = self.keys.find(header.kid.as_deref(), SystemTime::now()).await?;
        let claims = self.rules.verify(token, &header, &key)?;
        let context = self.mapping.context(&claims);
        self.mapping.names.check_audience(&context).map_err(|fault| TokenError::Claims(fault.to_string()))?;
        Ok(context)
    }
}

/// Returns a policy that allows every route of the stage, since API Gateway caches it by token and not by route. The
/// request counts against the usage key.
fn allow_policy(method_arn: &str, context: Map<String, Value>, usage_key: Option<String>) -> Value {
    let mut parts = method_arn.splitn(3, '/');
    let stage = [parts.next(), parts.next()].map(Option::unwrap_or_default).join("/");
    let mut policy = json!({
        "principalId": context.get(context_key::USER).and_then(Value::as_str).unwrap_or("caller"),
        "policyDocument": {
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": format!("{stage}/*")}],
        },
        "context": context,
    });
    if let (Some(key), Some(members)) = (usage_key, policy.as_object_mut()) {
        members.insert("usageIdentifierKey".to_owned(), Value::from(key));
    }
    policy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_allows_only_the_stage() {
        let arn = "arn:aws:execute-api:eu-west-1:123456789012:a1b2/live/POST/api/ai/agent/execute";
        let context = json!({"user": "ada", "org": "acme"});
        let claims = || context.as_object().unwrap().clone();
        let answer = allow_policy(arn, claims(), None);
        let statement = &answer["policyDocument"]["Statement"][0];
        assert_eq!(statement["Resource"], "arn:aws:execute-api:eu-west-1:123456789012:a1b2/live/*");
        assert_eq!((&statement["Effect"], &answer["principalId"]), (&json!("Allow"), &json!("ada")));
        assert_eq!((&answer["context"], answer.get("usageIdentifierKey")), (&context, None));
        let limited = allow_policy(arn, claims(), Some("a-key".to_owned()));
        assert_eq!(limited["usageIdentifierKey"], "a-key");
    }

    #[test]
    fn unauthorized_error_uses_the_gateways_word() {
        assert_eq!(Error::from(Unauthorized).to_string(), "Unauthorized");
    }
}
