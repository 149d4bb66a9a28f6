//! Who calls: the authorizer's verified claims, and nothing else (I7).
//!
//! Understood are the shapes in which API Gateway hands claims over: a Cognito authorizer's `claims`,
//! an HTTP API's `jwt.claims`, and a Lambda authorizer's flat context.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use contracts::{
    Error, ErrorCode,
    id::{OrgId, UserId},
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
    /// Present and `true` for operators.
    pub operator: String,
}

impl ClaimNames {
    /// The names from the settings, with Cognito's as defaults.
    pub fn read(env: &mut Env) -> Self {
        Self {
            org: env.or("ORG_CLAIM", "custom:org"),
            user: env.or("USER_CLAIM", "sub"),
            user_name: env.or("USER_NAME_CLAIM", "name"),
            operator: env.or("OPERATOR_CLAIM", "custom:operator"),
        }
    }

    /// The caller that these claims describe; none without a tenant and a user.
    fn caller(&self, claims: &Map<String, Value>) -> Option<Caller> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let user = UserId::new(text(&self.user)?).ok()?;
        Some(Caller {
            org: OrgId::new(text(&self.org)?).ok()?,
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
        let caller = context.and_then(claims).and_then(|claims| names.caller(&claims));
        let caller = caller.ok_or_else(|| {
            Reply::error(Error::new(
                ErrorCode::Unauthenticated,
                "The request carries no verified identity with an org and a user. Sign in and send the token again.",
            ))
        })?;
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
        assert_eq!(names().caller(&object(serde_json::json!({"sub": "ada"}))), None);
        assert_eq!(names().caller(&object(serde_json::json!({"sub": "", "custom:org": "acme"}))), None);
    }

    #[test]
    fn only_the_word_true_makes_an_operator() {
        for word in ["True", "1", "yes", "false", ""] {
            let claims = serde_json::json!({"sub": "ada", "custom:org": "acme", "custom:operator": word});
            assert!(!names().caller(&object(claims)).unwrap().operator, "{word}");
        }
    }
}
