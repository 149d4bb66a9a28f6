//! Who calls: the authorizer's verified claims, and nothing else (I7).
//!
//! Understood are the shapes in which API Gateway hands claims over: of a REST API a Cognito authorizer's `claims` and
//! a Lambda authorizer's flat context, of an HTTP API `jwt.claims` and a Lambda authorizer's `lambda`. A function URL
//! hands none over, so nobody is known there.
//!
//! An authorizer checks who signed a token. For whom it was signed is checked here: a user pool's authorizer accepts the
//! tokens of every client of the pool.

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
use settings::Env;

use crate::{Reply, span};

/// Which claims say what, and whose tokens count.
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
    /// The clients whose tokens count: an ID token's audience, an access token's `client_id`.
    pub audiences: Vec<String>,
    /// Who calls where no authorizer stands before the function: on a developer's machine.
    development: Map<String, Value>,
}

/// Why claims describe no caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The claim is missing or empty.
    #[error("The token holds no claim {0}, so it names no org and user. Sign in and send the token again.")]
    Missing(String),
    /// The claim is no id that can be used.
    #[error("The token's claim {0} can't be used: it {1}.")]
    Invalid(String, InvalidId),
    /// It is somebody else's token.
    #[error("The token was issued for another application: its {0} is none that this deployment accepts.")]
    Audience(&'static str),
    /// It is no token for an API.
    #[error("The token is neither an ID token nor an access token. Sign in and send one of those.")]
    Use,
}

impl ClaimNames {
    /// The names from the settings, and who calls where nobody was verified.
    pub fn read(env: &mut Env) -> Self {
        Self { development: development(env), ..Self::names(env) }
    }

    /// The names from the settings, with Cognito's as defaults.
    pub fn names(env: &mut Env) -> Self {
        Self {
            org: env.read(&settings::ORG_CLAIM),
            user: env.read(&settings::USER_CLAIM),
            user_name: env.read(&settings::USER_NAME_CLAIM),
            org_name: env.read(&settings::ORG_NAME_CLAIM),
            operator: env.read(&settings::OPERATOR_CLAIM),
            audiences: env.read(&settings::TOKEN_AUDIENCES),
            development: Map::new(),
        }
    }

    /// Checks that the token was issued for one of ours. An access token of Cognito has no audience; it names its
    /// client.
    ///
    /// # Errors
    /// When it was not, or is no token for an API.
    pub fn check_audience(&self, claims: &Map<String, Value>) -> Result<(), Unusable> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str).unwrap_or_default();
        let claim = match text("token_use") {
            "" | "id" => "aud",
            "access" => "client_id",
            _ => return Err(Unusable::Use),
        };
        let named = match claims.get(claim) {
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            _ => Vec::from([text(claim)]),
        };
        let ours = |name: &&str| !name.is_empty() && self.audiences.iter().any(|ours| ours == name);
        if named.iter().any(ours) { Ok(()) } else { Err(Unusable::Audience(claim)) }
    }

    /// The caller that these claims describe; none without a tenant and a user.
    fn caller(&self, claims: &Map<String, Value>) -> Result<Caller, Unusable> {
        self.check_audience(claims)?;
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

/// The claims from the settings.
fn development(env: &mut Env) -> Map<String, Value> {
    let setting = &settings::DEVELOPMENT_CLAIMS;
    let claims = env.read(setting).map_or(Ok(Map::new()), |text| serde_json::from_str(&text));
    claims.unwrap_or_else(|_| {
        env.fault(format!("{} must be a JSON object", setting.name));
        Map::new()
    })
}

/// The claims of a request, wherever its authorizer put them.
fn claims(context: &RequestContext) -> Option<Map<String, Value>> {
    let authorizer = match context {
        RequestContext::ApiGatewayV1(context) => &context.authorizer,
        RequestContext::ApiGatewayV2(context) => context.authorizer.as_ref()?,
        _ => return None,
    };
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
        let verified = context.and_then(claims).filter(|claims| !claims.is_empty());
        let caller = names
            .caller(verified.as_ref().unwrap_or(&names.development))
            .map_err(|fault| Reply::error(Error::new(ErrorCode::Unauthenticated, fault.to_string())))?;
        span::called_by(&caller);
        Ok(Self(caller))
    }
}

#[cfg(test)]
mod tests {
    use lambda_http::request::LambdaRequest;
    use serde_json::json;

    use super::*;

    fn names() -> ClaimNames {
        ClaimNames::read(&mut Env::of([("TOKEN_AUDIENCES", "web,cli")]))
    }

    fn caller(claims: Value) -> Result<Caller, Unusable> {
        names().caller(claims.as_object().unwrap())
    }

    #[test]
    fn a_caller_needs_a_tenant_and_a_user() {
        let full = json!({"aud": "web", "sub": "ada", "custom:org": "acme", "custom:operator": "true"});
        let found = caller(full).unwrap();
        assert_eq!((found.org.as_str(), found.user.name.as_str(), found.operator), ("acme", "ada", true));
        assert_eq!(found.org_name, None);
        let missing = |claims, name: &str| {
            assert_eq!(caller(claims), Err(Unusable::Missing(name.to_owned())));
        };
        missing(json!({"aud": "web", "sub": "ada"}), "custom:org");
        missing(json!({"aud": "web", "sub": "", "custom:org": "acme"}), "sub");
        let named =
            json!({"aud": "web", "sub": "ada", "custom:org": "acme", "custom:org_name": "Acme Corp."});
        assert_eq!(caller(named).unwrap().org_name.as_deref(), Some("Acme Corp."));
    }

    #[test]
    fn a_claim_that_can_be_no_id_is_refused_by_name() {
        for (org, user, told) in [
            ("..", "ada", "The token's claim custom:org can't be used: it is a reserved word."),
            ("acme", ".", "The token's claim sub can't be used: it is a reserved word."),
        ] {
            let fault = caller(json!({"aud": "web", "sub": user, "custom:org": org}));
            assert_eq!(fault.unwrap_err().to_string(), told);
        }
    }

    #[test]
    fn only_the_word_true_makes_an_operator() {
        for word in ["True", "1", "yes", "false", ""] {
            let claims = json!({"aud": "web", "sub": "ada", "custom:org": "acme", "custom:operator": word});
            assert!(!caller(claims).unwrap().operator, "{word}");
        }
    }

    #[test]
    fn a_token_counts_if_it_was_issued_for_one_of_our_clients() {
        let issued = |token: Value| {
            let mut claims = json!({"sub": "ada", "custom:org": "acme"});
            claims.as_object_mut().unwrap().extend(token.as_object().unwrap().clone());
            caller(claims).map(|_| ())
        };
        for ours in [
            json!({"aud": "web"}),
            json!({"aud": "cli", "token_use": "id"}),
            json!({"aud": ["other", "web"]}),
            json!({"client_id": "web", "token_use": "access"}),
        ] {
            assert_eq!(issued(ours), Ok(()));
        }
        for (not_ours, fault) in [
            (json!({}), Unusable::Audience("aud")),
            (json!({"aud": ""}), Unusable::Audience("aud")),
            (json!({"aud": "other"}), Unusable::Audience("aud")),
            (json!({"aud": "other", "client_id": "web"}), Unusable::Audience("aud")),
            (json!({"aud": "web", "token_use": "access"}), Unusable::Audience("client_id")),
            (json!({"aud": "web", "token_use": "refresh"}), Unusable::Use),
        ] {
            assert_eq!(issued(not_ours), Err(fault));
        }
    }

    #[test]
    fn development_claims_are_a_json_object_and_never_on_aws() {
        let read = |more: &[(&str, &str)]| {
            let set = [("TOKEN_AUDIENCES", "web"), ("DEVELOPMENT_CLAIMS", "{\"sub\":\"ada\"}")];
            let mut env = Env::of([&set, more].concat());
            let names = ClaimNames::read(&mut env);
            env.finish().map(|()| names.development).map_err(|invalid| invalid.to_string())
        };
        assert_eq!(Value::from(read(&[]).unwrap()), json!({"sub": "ada"}));
        let wrong = read(&[("DEVELOPMENT_CLAIMS", "ada")]).unwrap_err();
        assert!(wrong.ends_with("DEVELOPMENT_CLAIMS must be a JSON object"), "{wrong}");
        let on_aws = read(&[("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand")]).unwrap_err();
        assert!(on_aws.ends_with("DEVELOPMENT_CLAIMS is for a developer's machine, and is refused on AWS"));
    }

    #[tokio::test]
    async fn development_claims_count_where_nobody_was_verified() {
        let claims = json!({"aud": "web", "sub": "ada", "custom:org": "acme"}).to_string();
        let set = [("TOKEN_AUDIENCES", "web"), ("DEVELOPMENT_CLAIMS", &claims)];
        let names = Arc::new(ClaimNames::read(&mut Env::of(set)));
        let of = async |authorizer: Value| {
            let event = json!({
                "resource": "/", "path": "/", "httpMethod": "GET", "headers": {}, "multiValueHeaders": {},
                "requestContext": {"httpMethod": "GET", "identity": {}, "authorizer": authorizer},
                "body": null, "isBase64Encoded": false,
            });
            let event: LambdaRequest = serde_json::from_value(event).unwrap();
            let (mut parts, _) = http::Request::<lambda_http::Body>::from(event).into_parts();
            Identified::from_request_parts(&mut parts, &names).await.map(|Identified(caller)| caller.user.id)
        };
        assert_eq!(of(Value::Null).await.unwrap().as_str(), "ada");
        let bob = json!({"claims": {"aud": "web", "sub": "bob", "custom:org": "acme"}});
        assert_eq!(of(bob).await.unwrap().as_str(), "bob");
        let nobody = json!({"claims": {"aud": "other", "sub": "bob", "custom:org": "acme"}});
        assert!(of(nobody).await.is_err(), "a verified caller is refused on their own account");
    }

    /// The claims of an event as it comes to a function.
    fn claims_of(event: Value) -> Option<Value> {
        let event: LambdaRequest = serde_json::from_value(event).unwrap();
        let request = http::Request::<lambda_http::Body>::from(event);
        claims(request.request_context_ref()?).map(Value::Object)
    }

    #[test]
    fn claims_are_found_where_each_kind_of_api_puts_them() {
        let verified = json!({"sub": "ada"});
        let rest = |authorizer: &Value| {
            json!({
                "resource": "/", "path": "/", "httpMethod": "GET", "headers": {}, "multiValueHeaders": {},
                "queryStringParameters": null, "pathParameters": null, "stageVariables": null,
                "requestContext": {"httpMethod": "GET", "identity": {}, "authorizer": authorizer},
                "body": null, "isBase64Encoded": false,
            })
        };
        let http_api = |authorizer: &Value| {
            json!({
                "version": "2.0", "routeKey": "GET /", "rawPath": "/", "rawQueryString": "", "headers": {},
                "requestContext": {"http": {"method": "GET", "path": "/"}, "authorizer": authorizer},
                "isBase64Encoded": false,
            })
        };
        assert_eq!(claims_of(rest(&json!({"claims": verified}))), Some(verified.clone()));
        assert_eq!(claims_of(rest(&verified)), Some(verified.clone()));
        assert_eq!(claims_of(http_api(&json!({"jwt": {"claims": verified}}))), Some(verified.clone()));
        assert_eq!(claims_of(http_api(&json!({"lambda": verified}))), Some(verified));
        // A function URL has no authorizer, or IAM.
        assert_eq!(claims_of(http_api(&Value::Null)), None);
        assert_eq!(claims_of(http_api(&json!({"iam": {"userId": "AIDA"}}))), Some(json!({})));
    }
}
