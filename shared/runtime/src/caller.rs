//! Who calls: the authorizer's verified claims, and nothing else (I7).
//!
//! Understood are the shapes in which API Gateway hands claims over: a Cognito authorizer's `claims`,
//! an HTTP API's `jwt.claims`, and a Lambda authorizer's flat context.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use contracts::{
    Error, ErrorCode,
    id::{InvalidId, OrgId, UserId},
};
use http::request::Parts;
use lambda_http::{RequestExt, request::RequestContext};
use protocol::{Caller, caller::User};
use serde_json::{Map, Value};

use crate::{Env, Reply, span};

/// Which claims say what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimNames {
    /// The tenant. Must not be writable by its user.
    pub org: String,
    /// The user's id.
    pub user: String,
    /// The user's display name.
    pub user_name: String,
    /// The tenant's display name; not every provider of identities has it.
    pub org_name: String,
    /// Present and `true` for operators.
    pub operator: String,
}

/// Why claims describe no caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Unusable {
    /// The claim is missing or empty.
    #[error("The token holds no claim {0}, so it names no org and user. Sign in and send the token again.")]
    Missing(String),
    /// The claim is no id that can be used.
    #[error("The token's claim {0} can't be used: it {1}.")]
    Invalid(String, InvalidId),
}

impl ClaimNames {
    /// The names from the settings, with Cognito's as defaults.
    pub fn read(env: &mut Env) -> Self {
        Self {
            org: env.or("ORG_CLAIM", "custom:org"),
            user: env.or("USER_CLAIM", "sub"),
            user_name: env.or("USER_NAME_CLAIM", "name"),
            org_name: env.or("ORG_NAME_CLAIM", "custom:org_name"),
            operator: env.or("OPERATOR_CLAIM", "custom:operator"),
        }
    }

    /// The caller that these claims describe; none without a tenant and a user.
    fn caller(&self, claims: &Map<String, Value>) -> Result<Caller, Unusable> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let required = |name: &str| text(name).ok_or_else(|| Unusable::Missing(name.to_owned()));
        let invalid = |name: &str| {
            let name = name.to_owned();
            |fault| Unusable::Invalid(name, fault)
        };
        let org = OrgId::new(required(&self.org)?).map_err(invalid(&self.org))?;
        let user = UserId::new(required(&self.user)?).map_err(invalid(&self.user))?;
        Ok(Caller {
            org_name: text(&self.org_name).map(str::to_owned),
            org,
            user: User { name: text(&self.user_name).unwrap_or(user.as_str()).to_owned(), id: user },
            operator: match claims.get(&self.operator) {
                Some(Value::Bool(operator)) => *operator,
                Some(Value::String(operator)) => operator == "true",
                _ => false,
            },
        })
    }
}

/// The claims of a request, wherever its authorizer put them.
fn claims(context: &RequestContext) -> Option<Map<String, Value>> {
    let RequestContext::ApiGatewayV1(context) = context else {
        return None;
    };
    let authorizer = &context.authorizer;
    if let Some(Value::Object(claims)) = authorizer.fields.get("claims") {
        return Some(claims.clone());
    }
    if let Some(jwt) = &authorizer.jwt {
        return Some(
            jwt.claims.iter().map(|(name, claim)| (name.clone(), Value::from(claim.clone()))).collect(),
        );
    }
    Some(authorizer.fields.iter().map(|(name, field)| (name.clone(), field.clone())).collect())
}

/// Extracts the verified caller; without one the request ends here.
#[derive(Debug, Clone)]
pub struct Identified(pub Caller);

impl<S> FromRequestParts<S> for Identified
where
    Arc<ClaimNames>: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let names = Arc::<ClaimNames>::from_ref(state);
        let context = parts.request_context_ref();
        let claims = context.and_then(claims).unwrap_or_default();
        let caller = names
            .caller(&claims)
            .map_err(|fault| Reply::error(Error::new(ErrorCode::Unauthenticated, fault.to_string())))?;
        span::called_by(&caller);
        Ok(Self(caller))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> ClaimNames {
        ClaimNames::read(&mut Env::default())
    }

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn a_caller_needs_a_tenant_and_a_user() {
        let full = serde_json::json!({"sub": "ada", "custom:org": "acme", "custom:operator": "true"});
        let caller = names().caller(&object(full)).unwrap();
        assert_eq!((caller.org.as_str(), caller.user.name.as_str(), caller.operator), ("acme", "ada", true));
        assert_eq!(caller.org_name, None);
        let missing = |claims, name: &str| {
            assert_eq!(names().caller(&object(claims)), Err(Unusable::Missing(name.to_owned())));
        };
        missing(serde_json::json!({"sub": "ada"}), "custom:org");
        missing(serde_json::json!({"sub": "", "custom:org": "acme"}), "sub");
        let named = serde_json::json!({"sub": "ada", "custom:org": "acme", "custom:org_name": "Acme Corp."});
        assert_eq!(names().caller(&object(named)).unwrap().org_name.as_deref(), Some("Acme Corp."));
    }

    #[test]
    fn a_claim_that_can_be_no_id_is_refused_by_name() {
        for (org, user, told) in [
            ("..", "ada", "The token's claim custom:org can't be used: it is a reserved word."),
            ("acme", ".", "The token's claim sub can't be used: it is a reserved word."),
        ] {
            let fault = names().caller(&object(serde_json::json!({"sub": user, "custom:org": org})));
            assert_eq!(fault.unwrap_err().to_string(), told);
        }
    }

    #[test]
    fn only_the_word_true_makes_an_operator() {
        for word in ["True", "1", "yes", "false", ""] {
            let claims = serde_json::json!({"sub": "ada", "custom:org": "acme", "custom:operator": word});
            assert!(!names().caller(&object(claims)).unwrap().operator, "{word}");
        }
    }
}
