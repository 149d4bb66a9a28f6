//! One question of API Gateway's and its answer: a policy, and the claims for the function behind.

use std::time::SystemTime;

use contracts::error::causes;
use lambda_runtime::Error;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    keys::{Keys, NoKey},
    mapping::Mapping,
    token::{self, Refused, Rules},
};

/// What API Gateway asks (`TOKEN`).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Asked {
    /// The header that holds the token, as the client sent it.
    #[serde(default)]
    authorization_token: String,
    /// The method that is called: `arn:aws:execute-api:REGION:ACCOUNT:API/STAGE/METHOD/PATH`.
    method_arn: String,
}

/// API Gateway answers 401 to this word and to no other.
#[derive(Debug, thiserror::Error)]
#[error("Unauthorized")]
struct Unauthorized;

/// Says who calls.
pub(crate) struct Authorizer {
    pub(crate) keys: Keys,
    pub(crate) rules: Rules,
    pub(crate) mapping: Mapping,
}

impl Authorizer {
    /// The answer to one question. An error other than [`Unauthorized`] makes the gateway answer 500: then the keys can't
    /// be had, and the client may try again.
    pub(crate) async fn answer(&self, asked: Asked) -> Result<Value, Error> {
        let token = token::bearer(&asked.authorization_token);
        match self.context(token).await {
            Ok(context) => Ok(allowed(&asked.method_arn, context)),
            Err(Refused::NoKey(NoKey::Unavailable(unavailable))) => {
                tracing::error!(error = %causes(&unavailable), "the provider's keys can't be had");
                Err(unavailable.into())
            }
            Err(refused) => {
                tracing::info!(error = %causes(&refused), "a token was refused");
                Err(Unauthorized.into())
            }
        }
    }

    /// The claims of a token, if it counts.
    async fn context(&self, token: &str) -> Result<Map<String, Value>, Refused> {
        let header = token::header(token)?;
        let key = self.keys.find(header.kid.as_deref(), SystemTime::now()).await?;
        let claims = self.rules.verify(token, &header, &key)?;
        let context = self.mapping.context(&claims);
        self.mapping.names.check_audience(&context).map_err(|fault| Refused::Claims(fault.to_string()))?;
        Ok(context)
    }
}

/// Every route of the stage, since the answer is kept for the token and not for the route.
fn allowed(method_arn: &str, context: Map<String, Value>) -> Value {
    let mut parts = method_arn.splitn(3, '/');
    let stage = [parts.next(), parts.next()].map(Option::unwrap_or_default).join("/");
    json!({
        "principalId": context.get("sub").and_then(Value::as_str).unwrap_or("caller"),
        "policyDocument": {
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": format!("{stage}/*")}],
        },
        "context": context,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_holds_for_the_stage_and_no_other() {
        let arn = "arn:aws:execute-api:eu-west-1:123456789012:a1b2/live/POST/api/ai/agent/execute";
        let context = json!({"sub": "ada", "custom:org": "acme"});
        let answer = allowed(arn, context.as_object().unwrap().clone());
        let statement = &answer["policyDocument"]["Statement"][0];
        assert_eq!(statement["Resource"], "arn:aws:execute-api:eu-west-1:123456789012:a1b2/live/*");
        assert_eq!((&statement["Effect"], &answer["principalId"]), (&json!("Allow"), &json!("ada")));
        assert_eq!(answer["context"], context);
    }

    #[test]
    fn a_refusal_is_the_word_that_the_gateway_knows() {
        assert_eq!(Error::from(Unauthorized).to_string(), "Unauthorized");
    }
}
