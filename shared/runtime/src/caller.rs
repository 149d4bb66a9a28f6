//! Authenticates callers from the claims that the authorizer verified, and from nothing else (I7).
//!
//! API Gateway passes claims on in four shapes. A REST API has `claims` from a Cognito authorizer, or the flat
//! context of a Lambda authorizer. An HTTP API has `jwt.claims`, or `lambda` from a Lambda authorizer. A function URL
//! passes none, so its callers are anonymous.
//!
//! The authorizer checks the issuer and this module checks the audience: a user pool's authorizer accepts tokens of
//! every client of the pool.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use contracts::{
    Error, ErrorCode,
    id::{InvalidId, OrgId, UserId},
};
use http::{
    header::{AUTHORIZATION, HeaderMap},
    request::Parts,
};
use lambda_http::{RequestExt, request::RequestContext};
use protocol::{
    Caller,
    caller::{BearerToken, User},
};
use serde_json::{Map, Value};
use settings::Env;

use crate::{Reply, span};

/// The claim in which the authorizer names a claim that the token leaves out, see [`ClaimNames::left_out`].
pub const LEFT_OUT_CLAIM: &str = "left_out_claim";

/// Keys of the `authorizer` function's context. They are letters and underscores only, so that access logs and mapping
/// templates can name them. Names of claims, such as `custom:org` or `/realm_access/roles`, can't be named there.
pub mod context_key {
    /// The tenant.
    pub const ORG: &str = "org";
    /// The tenant's display name.
    pub const ORG_NAME: &str = "org_name";
    /// The user's id.
    pub const USER: &str = "user";
    /// The user's display name.
    pub const USER_NAME: &str = "user_name";
    /// `true` for operators.
    pub const OPERATOR: &str = "operator";
    /// `true` for agent editors.
    pub const AGENT_EDITOR: &str = "agent_editor";
    /// Version of these keys. A context without it is one of another authorizer, and has the names of the claims.
    pub const VERSION: &str = "context_version";
}

/// The claim that names the claims which a token leaves out (OpenID Connect Core §5.6.2).
const DISTRIBUTED_CLAIMS: &str = "_claim_names";

/// The claim of Entra ID for a token that leaves out its groups, and their claim.
const GROUP_OVERAGE: (&str, &str) = ("hasgroups", "groups");

/// The names of the claims to read, and the audiences to accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimNames {
    /// The tenant. Its user must not be able to write this claim.
    pub org: String,
    /// The user's id.
    pub user: String,
    /// The user's display name.
    pub user_name: String,
    /// The tenant's display name. Not every identity provider sends one.
    pub org_name: String,
    /// `true` for operators.
    pub operator: String,
    /// `true` for agent editors.
    pub agent_editor: String,
    /// The accepted clients: the audience of an ID token, or the `client_id` of an access token.
    pub audiences: Vec<String>,
    /// The claims to use where no authorizer runs in front of the function, on a developer's machine.
    development_claims: Map<String, Value>,
}

/// The reason that claims identify no caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidClaims {
    /// The claim is missing or empty.
    #[error("The token holds no claim {0}, so it names no org and user. Sign in and send the token again.")]
    Missing(String),
    /// The claim isn't a valid id.
    #[error("The token's claim {0} can't be used: it {1}.")]
    Invalid(String, InvalidId),
    /// The token leaves the claim out, because it has too many values.
    #[error(
        "The token leaves out the claim {0}, because it has too many values. Ask your administrator to limit the groups \
         that tokens contain."
    )]
    LeftOut(String),
    /// The token was issued for another application.
    #[error("The token was issued for another application: its {0} is none that this deployment accepts.")]
    Audience(&'static str),
    /// The token is neither an ID token nor an access token.
    #[error("The token is neither an ID token nor an access token. Sign in and send one of those.")]
    Use,
}

impl ClaimNames {
    /// Reads the claim names and the development claims from the settings.
    pub fn read(env: &mut Env) -> Self {
        Self { development_claims: development_claims(env), ..Self::names(env) }
    }

    /// Reads the claim names from the settings. Cognito's names are the defaults.
    pub fn names(env: &mut Env) -> Self {
        Self {
            org: env.read(&settings::ORG_CLAIM),
            user: env.read(&settings::USER_CLAIM),
            user_name: env.read(&settings::USER_NAME_CLAIM),
            org_name: env.read(&settings::ORG_NAME_CLAIM),
            operator: env.read(&settings::OPERATOR_CLAIM),
            agent_editor: env.read(&settings::AGENT_EDITOR_CLAIM),
            audiences: env.read(&settings::TOKEN_AUDIENCES),
            development_claims: Map::new(),
        }
    }

    /// Checks that the token was issued for one of the accepted clients. An access token of Cognito has no audience;
    /// it names its client in `client_id`.
    ///
    /// # Errors
    /// Fails if the token was issued for another client, or isn't an API token.
    pub fn check_audience(&self, claims: &Map<String, Value>) -> Result<(), InvalidClaims> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str).unwrap_or_default();
        let claim = match text("token_use") {
            "" | "id" => "aud",
            "access" => "client_id",
            _ => return Err(InvalidClaims::Use),
        };
        let named = match claims.get(claim) {
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            _ => Vec::from([text(claim)]),
        };
        let ours = |name: &&str| !name.is_empty() && self.audiences.iter().any(|ours| ours == name);
        if named.iter().any(ours) { Ok(()) } else { Err(InvalidClaims::Audience(claim)) }
    }

    /// Returns the claim of the org or of a role that the token omits. Identity providers do so if a user has
    /// more groups than fit, and say where to ask for them. Such a token must never be taken for one of a user without
    /// groups: the user would get the org of the client, or lose a role.
    #[must_use]
    pub fn left_out(&self, claims: &Map<String, Value>) -> Option<String> {
        if let Some(Value::String(name)) = claims.get(LEFT_OUT_CLAIM) {
            return Some(name.clone());
        }
        let first_part = |name: &str| match name.strip_prefix('/') {
            Some(pointer) => pointer.split('/').next().unwrap_or_default().to_owned(),
            None => name.to_owned(),
        };
        let is_left_out =
            |name: &&String| is_left_out(claims, name) || is_left_out(claims, &first_part(name));
        [&self.org, &self.operator, &self.agent_editor].into_iter().find(is_left_out).cloned()
    }

    /// Returns the claims in a context of a Lambda authorizer. The keys of the `authorizer` function become the names of the
    /// claims.
    fn claims_in(&self, mut context: Map<String, Value>) -> Map<String, Value> {
        if context.remove(context_key::VERSION).is_none() {
            return context;
        }
        let keys = [
            (context_key::ORG, &self.org),
            (context_key::ORG_NAME, &self.org_name),
            (context_key::USER, &self.user),
            (context_key::USER_NAME, &self.user_name),
            (context_key::OPERATOR, &self.operator),
            (context_key::AGENT_EDITOR, &self.agent_editor),
        ];
        // All are taken out before any is put back, since a claim may have the name of another key.
        let values = keys.map(|(key, name)| (name.clone(), context.remove(key)));
        context.extend(values.into_iter().filter_map(|(name, value)| Some((name, value?))));
        context
    }

    /// Returns the caller that these claims identify. Fails without a tenant or a user.
    fn caller(&self, claims: &Map<String, Value>) -> Result<Caller, InvalidClaims> {
        self.check_audience(claims)?;
        if let Some(name) = self.left_out(claims) {
            return Err(InvalidClaims::LeftOut(name));
        }
        let text = |name: &str| claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let required = |name: &str| text(name).ok_or_else(|| InvalidClaims::Missing(name.to_owned()));
        let invalid = |name: &str| {
            let name = name.to_owned();
            |fault| InvalidClaims::Invalid(name, fault)
        };
        let has_role = |name: &str| match claims.get(name) {
            Some(Value::Bool(has)) => *has,
            Some(Value::String(has)) => has == "true",
            _ => false,
        };
        let org = OrgId::new(required(&self.org)?).map_err(invalid(&self.org))?;
        let user = UserId::new(required(&self.user)?).map_err(invalid(&self.user))?;
        Ok(Caller {
            org_name: text(&self.org_name).map(str::to_owned),
            org,
            user: User { name: text(&self.user_name).unwrap_or(user.as_str()).to_owned(), id: user },
            operator: has_role(&self.operator),
            agent_editor: has_role(&self.agent_editor),
            token: None,
        })
    }
}

/// True if the token says that it leaves out this claim.
fn is_left_out(claims: &Map<String, Value>, name: &str) -> bool {
    let is_distributed = match claims.get(DISTRIBUTED_CLAIMS) {
        Some(Value::Object(names)) => names.contains_key(name),
        // An HTTP API passes claims on as text.
        Some(Value::String(names)) => names.contains(name),
        _ => false,
    };
    let (marker, groups) = GROUP_OVERAGE;
    let is_marked = match claims.get(marker) {
        Some(Value::Bool(is_marked)) => *is_marked,
        Some(Value::String(is_marked)) => is_marked == "true",
        _ => false,
    };
    is_distributed || is_marked && name == groups && !claims.contains_key(groups)
}

/// Reads the development claims from the settings.
fn development_claims(env: &mut Env) -> Map<String, Value> {
    let setting = &settings::DEVELOPMENT_CLAIMS;
    let claims = env.read(setting).map_or(Ok(Map::new()), |text| serde_json::from_str(&text));
    claims.unwrap_or_else(|_| {
        env.add_fault(format!("{} must be a JSON object", setting.name));
        Map::new()
    })
}

/// Returns the claims of a request, from wherever its authorizer put them.
fn claims(context: &RequestContext, names: &ClaimNames) -> Option<Map<String, Value>> {
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
    let fields = authorizer.fields.iter().map(|(name, field)| (name.clone(), field.clone()));
    Some(names.claims_in(fields.collect()))
}

/// Returns the token that the authorizer verified, with the audiences and the client that it names. The authorizer passes on
/// one of the audiences at most, so they are read from the token itself.
fn bearer_token(headers: &HeaderMap) -> Option<BearerToken> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    let token = match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        Some(_) => return None,
        // The authorizers accept a token without a scheme too.
        None => value,
    };
    let mut parts = token.split('.');
    let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
    let claims: Map<String, Value> =
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    let audiences = ["aud", "client_id"].into_iter().filter_map(|name| claims.get(name)).flat_map(|claim| {
        let all = claim.as_array().map_or_else(|| std::slice::from_ref(claim), Vec::as_slice);
        all.iter().filter_map(Value::as_str).map(str::to_owned)
    });
    Some(BearerToken::new(token.to_owned(), audiences.collect()))
}

/// Extracts the authenticated caller. Rejects an unauthenticated request.
#[derive(Debug, Clone)]
pub struct AuthenticatedCaller(pub Caller);

impl<S> FromRequestParts<S> for AuthenticatedCaller
where
    Arc<ClaimNames>: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let names = Arc::<ClaimNames>::from_ref(state);
        let context = parts.request_context_ref();
        let verified = context.and_then(|context| claims(context, &names));
        let verified = verified.filter(|claims| !claims.is_empty());
        // Without an authorizer nobody has verified a token.
        let token = verified.as_ref().and_then(|_| bearer_token(&parts.headers));
        let caller = names
            .caller(verified.as_ref().unwrap_or(&names.development_claims))
            .map_err(|fault| Reply::error(Error::new(ErrorCode::Unauthenticated, fault.to_string())))?;
        span::record_caller(&caller);
        Ok(Self(Caller { token, ..caller }))
    }
}

#[cfg(test)]
mod tests {
    use lambda_http::request::LambdaRequest;
    use serde_json::json;

    use super::*;

    fn names() -> ClaimNames {
        ClaimNames::read(&mut Env::from_vars([("TOKEN_AUDIENCES", "web,cli")]))
    }

    fn caller(claims: Value) -> Result<Caller, InvalidClaims> {
        names().caller(claims.as_object().unwrap())
    }

    #[test]
    fn token_has_its_audiences_and_its_client() {
        let payload = |claims: Value| BASE64_URL_SAFE_NO_PAD.encode(claims.to_string());
        let token =
            |value: &str| bearer_token(&HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())]));
        let both = format!("e30.{}.c2ln", payload(json!({ "aud": ["web", "tickets"], "client_id": "cli" })));
        for header in [format!("Bearer {both}"), format!("bearer  {both}"), both.clone()] {
            let token = token(&header).unwrap();
            assert_eq!(token.reveal(), both);
            assert!(["web", "tickets", "cli"].into_iter().all(|audience| token.is_for(audience)));
            assert!(!token.is_for("") && !token.is_for("tick"));
            assert!(!format!("{token:?}").contains("c2ln"), "{token:?}");
        }
        let one = format!("Bearer e30.{}.c2ln", payload(json!({ "aud": "web" })));
        assert!(token(&one).unwrap().is_for("web"));
        for none in
            ["", "Bearer", "Bearer x", "Bearer a.b.c", "AWS4-HMAC-SHA256 Credential=a.b.c", "Basic YTpi"]
        {
            assert_eq!(token(none), None, "{none}");
        }
    }

    #[test]
    fn caller_needs_org_and_user_claims() {
        let full = json!({"aud": "web", "sub": "ada", "custom:org": "acme", "custom:operator": "true"});
        let found = caller(full).unwrap();
        assert_eq!((found.org.as_str(), found.user.name.as_str(), found.operator), ("acme", "ada", true));
        assert_eq!(found.org_name, None);
        let missing = |claims, name: &str| {
            assert_eq!(caller(claims), Err(InvalidClaims::Missing(name.to_owned())));
        };
        missing(json!({"aud": "web", "sub": "ada"}), "custom:org");
        missing(json!({"aud": "web", "sub": "", "custom:org": "acme"}), "sub");
        let named =
            json!({"aud": "web", "sub": "ada", "custom:org": "acme", "custom:org_name": "Acme Corp."});
        assert_eq!(caller(named).unwrap().org_name.as_deref(), Some("Acme Corp."));
    }

    #[test]
    fn invalid_id_claim_is_rejected_by_name() {
        for (org, user, message) in [
            ("..", "ada", "The token's claim custom:org can't be used: it is a reserved word."),
            ("acme", ".", "The token's claim sub can't be used: it is a reserved word."),
        ] {
            let fault = caller(json!({"aud": "web", "sub": user, "custom:org": org}));
            assert_eq!(fault.unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn claim_that_is_left_out_is_not_taken_for_an_absent_one() {
        let set = [("TOKEN_AUDIENCES", "web"), ("ORG_CLAIM", "groups"), ("OPERATOR_CLAIM", "/realm/roles")];
        let names = ClaimNames::read(&mut Env::from_vars(set));
        let of = |more: Value| {
            let mut claims = json!({"aud": "web", "sub": "ada"});
            claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            names.caller(claims.as_object().unwrap()).map(|_| ())
        };
        let left_out = |name: &str| Err(InvalidClaims::LeftOut(name.to_owned()));
        let distributed = json!({"_claim_names": {"groups": "src1"}, "_claim_sources": {"src1": {}}});
        assert_eq!(of(distributed), left_out("groups"));
        assert_eq!(of(json!({"_claim_names": "map[groups:src1]"})), left_out("groups"));
        assert_eq!(of(json!({"hasgroups": true})), left_out("groups"));
        assert_eq!(of(json!({"hasgroups": "true"})), left_out("groups"));
        let roles = json!({"groups": "acme", "_claim_names": {"realm": "src1"}});
        assert_eq!(of(roles), left_out("/realm/roles"));
        assert_eq!(of(json!({"left_out_claim": "groups"})), left_out("groups"));
        for complete in [json!({"hasgroups": true}), json!({"_claim_names": {"photos": "src1"}}), json!({})] {
            let mut claims = complete;
            claims["groups"] = json!("acme");
            assert_eq!(of(claims), Ok(()));
        }
        assert_eq!(of(json!({"hasgroups": false})), Err(InvalidClaims::Missing("groups".to_owned())));
    }

    #[test]
    fn agent_editor_is_no_operator() {
        let found =
            caller(json!({"aud": "web", "sub": "ada", "custom:org": "acme", "custom:agent_editor": "true"}));
        let found = found.unwrap();
        assert_eq!((found.agent_editor, found.operator, found.may_edit_contexts()), (true, false, true));
    }

    #[test]
    fn only_true_makes_an_operator() {
        for word in ["True", "1", "yes", "false", ""] {
            let claims = json!({"aud": "web", "sub": "ada", "custom:org": "acme", "custom:operator": word});
            assert!(!caller(claims).unwrap().operator, "{word}");
        }
    }

    #[test]
    fn only_tokens_for_our_clients_are_accepted() {
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
            (json!({}), InvalidClaims::Audience("aud")),
            (json!({"aud": ""}), InvalidClaims::Audience("aud")),
            (json!({"aud": "other"}), InvalidClaims::Audience("aud")),
            (json!({"aud": "other", "client_id": "web"}), InvalidClaims::Audience("aud")),
            (json!({"aud": "web", "token_use": "access"}), InvalidClaims::Audience("client_id")),
            (json!({"aud": "web", "token_use": "refresh"}), InvalidClaims::Use),
        ] {
            assert_eq!(issued(not_ours), Err(fault));
        }
    }

    #[test]
    fn development_claims_must_be_json_and_off_aws() {
        let read = |more: &[(&str, &str)]| {
            let set = [("TOKEN_AUDIENCES", "web"), ("DEVELOPMENT_CLAIMS", "{\"sub\":\"ada\"}")];
            let mut env = Env::from_vars([&set, more].concat());
            let names = ClaimNames::read(&mut env);
            env.finish().map(|()| names.development_claims).map_err(|invalid| invalid.to_string())
        };
        assert_eq!(Value::from(read(&[]).unwrap()), json!({"sub": "ada"}));
        let wrong = read(&[("DEVELOPMENT_CLAIMS", "ada")]).unwrap_err();
        assert!(wrong.ends_with("DEVELOPMENT_CLAIMS must be a JSON object"), "{wrong}");
        let on_aws = read(&[("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand")]).unwrap_err();
        assert!(on_aws.ends_with("DEVELOPMENT_CLAIMS is for a developer's machine, and is refused on AWS"));
    }

    #[tokio::test]
    async fn development_claims_apply_without_an_authorizer() {
        let claims = json!({"aud": "web", "sub": "ada", "custom:org": "acme"}).to_string();
        let set = [("TOKEN_AUDIENCES", "web"), ("DEVELOPMENT_CLAIMS", &claims)];
        let names = Arc::new(ClaimNames::read(&mut Env::from_vars(set)));
        let of = async |authorizer: Value| {
            let event = json!({
                "resource": "/", "path": "/", "httpMethod": "GET", "headers": {}, "multiValueHeaders": {},
                "requestContext": {"httpMethod": "GET", "identity": {}, "authorizer": authorizer},
                "body": null, "isBase64Encoded": false,
            });
            let event: LambdaRequest = serde_json::from_value(event).unwrap();
            let (mut parts, _) = http::Request::<lambda_http::Body>::from(event).into_parts();
            AuthenticatedCaller::from_request_parts(&mut parts, &names)
                .await
                .map(|AuthenticatedCaller(caller)| caller.user.id)
        };
        assert_eq!(of(Value::Null).await.unwrap().as_str(), "ada");
        let bob = json!({"claims": {"aud": "web", "sub": "bob", "custom:org": "acme"}});
        assert_eq!(of(bob).await.unwrap().as_str(), "bob");
        let nobody = json!({"claims": {"aud": "other", "sub": "bob", "custom:org": "acme"}});
        assert!(of(nobody).await.is_err(), "a verified caller is refused on their own account");
    }

    /// The claims of an event as a function receives it.
    fn claims_of(event: Value) -> Option<Value> {
        let event: LambdaRequest = serde_json::from_value(event).unwrap();
        let request = http::Request::<lambda_http::Body>::from(event);
        claims(request.request_context_ref()?, &names()).map(Value::Object)
    }

    #[test]
    fn context_keys_become_claims_only_in_a_versioned_context() {
        let event = |authorizer: Value| {
            json!({
                "resource": "/", "path": "/", "httpMethod": "GET", "headers": {}, "multiValueHeaders": {},
                "requestContext": {"httpMethod": "GET", "identity": {}, "authorizer": authorizer},
                "body": null, "isBase64Encoded": false,
            })
        };
        let ours = json!({
            "context_version": "1", "org": "acme", "user": "ada", "user_name": "Ada", "operator": "true", "aud": "web",
        });
        let claims = json!({
            "custom:org": "acme", "sub": "ada", "name": "Ada", "custom:operator": "true", "aud": "web",
        });
        assert_eq!(claims_of(event(ours.clone())), Some(claims));
        // A user may be able to write a claim of this name.
        assert_eq!(claims_of(event(json!({"claims": ours}))), Some(ours));
        let foreign = json!({"custom:org": "acme", "org": "rival", "sub": "ada"});
        assert_eq!(claims_of(event(foreign.clone())), Some(foreign));
        // The claim of the user has the name of the key of the org.
        let set = [("TOKEN_AUDIENCES", "web"), ("USER_CLAIM", "org"), ("ORG_CLAIM", "user")];
        let swapped = ClaimNames::names(&mut Env::from_vars(set));
        let context = json!({"context_version": "1", "org": "acme", "user": "ada"});
        let found = swapped.claims_in(context.as_object().unwrap().clone());
        assert_eq!(Value::from(found), json!({"org": "ada", "user": "acme"}));
    }

    #[test]
    fn claims_are_found_for_every_kind_of_api() {
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
