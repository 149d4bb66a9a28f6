//! Maps the claims of a token to the context that the functions read: strings, under fixed keys that access logs can name.
//!
//! Providers put the tenant into its own claim, into a list of groups, or nowhere: the token of a machine client often
//! names only the client.

use runtime::{ClaimNames, LEFT_OUT_CLAIM, context_key};
use serde_json::{Map, Value};
use settings::Env;

/// Version of the context's keys.
const CONTEXT_VERSION: &str = "1";
/// The claim with the audience of a token.
const AUDIENCE: &str = "aud";
/// The claims that are passed through: the client, and the kind of token.
const PASSED_THROUGH: [&str; 2] = ["client_id", "token_use"];
/// The key of a client whose tenant applies. It is replaced by the tenant, and no function gets it.
pub(crate) const CLIENT_WITHOUT_ORG: &str = "client_without_org";
/// The claims in which providers name the client of a token.
const CLIENT_CLAIMS: [&str; 3] = ["client_id", "azp", "cid"];

/// The mapping of claims.
#[derive(Debug)]
pub(crate) struct ClaimMapping {
    /// The names of the claims that the functions read.
    pub(crate) names: ClaimNames,
    org_prefix: Option<String>,
    operators: Option<String>,
    agent_editors: Option<String>,
}

impl ClaimMapping {
    pub(crate) fn read(env: &mut Env, names: ClaimNames) -> Self {
        Self {
            names,
            org_prefix: env.read(&settings::ORG_GROUP_PREFIX),
            operators: env.read(&settings::OPERATOR_GROUP),
            agent_editors: env.read(&settings::AGENT_EDITOR_GROUP),
        }
    }

    /// Returns the context for the functions. Omits missing claims, which the functions report. A token that names no org
    /// leaves the id of its client in [`CLIENT_WITHOUT_ORG`].
    pub(crate) fn context(&self, claims: &Map<String, Value>) -> Map<String, Value> {
        let ClaimNames { user, user_name, org_name, .. } = &self.names;
        let left_out = self.names.left_out(claims);
        let is_complete = left_out.is_none();
        let text = |name: &str| claim(claims, name).and_then(Value::as_str).map(str::to_owned);
        let role = |name: &str, group: Option<&String>| {
            (is_complete && has_role(claim(claims, name), group)).then(|| "true".to_owned())
        };
        let (org, client) = self.org(claims);
        let mapped = [
            (context_key::VERSION, Some(CONTEXT_VERSION.to_owned())),
            (context_key::ORG, org.filter(|_| is_complete)),
            (CLIENT_WITHOUT_ORG, client.filter(|_| is_complete)),
            (context_key::OPERATOR, role(&self.names.operator, self.operators.as_ref())),
            (context_key::AGENT_EDITOR, role(&self.names.agent_editor, self.agent_editors.as_ref())),
            (LEFT_OUT_CLAIM, left_out),
            (context_key::USER, text(user)),
            (context_key::USER_NAME, text(user_name)),
            (context_key::ORG_NAME, text(org_name)),
            (AUDIENCE, self.audience(claims)),
        ];
        let mapped = mapped.into_iter().chain(PASSED_THROUGH.map(|name| (name, text(name))));
        mapped.filter_map(|(name, value)| Some((name.to_owned(), Value::from(value?)))).collect()
    }

    /// Returns the tenant: the value of the claim, or the only group with the prefix. If the token names none, returns
    /// the client whose tenant applies.
    fn org(&self, claims: &Map<String, Value>) -> (Option<String>, Option<String>) {
        let named = strings(claim(claims, &self.names.org));
        let mut orgs = named.into_iter().filter_map(|name| match &self.org_prefix {
            Some(prefix) => name.strip_prefix(prefix.as_str()),
            None => Some(name),
        });
        match (orgs.next(), orgs.next()) {
            (Some(org), None) => (Some(org.to_owned()), None),
            // A member of several tenants is ambiguous.
            (Some(_), Some(_)) => (None, None),
            (None, _) => {
                let client = CLIENT_CLAIMS.iter().find_map(|name| claims.get(*name)?.as_str());
                (None, client.map(str::to_owned))
            }
        }
    }

    /// Returns one audience, since only a string can be passed on: ours, if it is listed.
    fn audience(&self, claims: &Map<String, Value>) -> Option<String> {
        let named = strings(claims.get(AUDIENCE));
        let ours = named.iter().find(|name| self.names.audiences.iter().any(|ours| ours == *name));
        ours.or(named.first()).map(|name| (*name).to_owned())
    }
}

/// True if a role's claim lists the group of the role, or is `true` if the role has no group.
fn has_role(claim: Option<&Value>, group: Option<&String>) -> bool {
    match group {
        Some(group) => strings(claim).contains(&group.as_str()),
        None => matches!(claim, Some(Value::Bool(true))) || strings(claim) == ["true"],
    }
}

/// Returns a claim by name or by JSON Pointer (RFC 6901), such as `/realm_access/roles`.
fn claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let within = || {
        let (first, rest) = name.strip_prefix('/')?.split_once('/')?;
        claims.get(first)?.pointer(&format!("/{rest}"))
    };
    claims.get(name).or_else(within)
}

/// Returns the strings of a claim that is a string or a list.
fn strings(claim: Option<&Value>) -> Vec<&str> {
    match claim {
        Some(Value::String(text)) => vec![text.as_str()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn context(settings: &[(&str, &str)], claims: &Value) -> Value {
        let mut env = Env::from_vars([&[("TOKEN_AUDIENCES", "api,web")], settings].concat());
        let names = ClaimNames::names(&mut env);
        let mapping = ClaimMapping::read(&mut env, names);
        env.finish().unwrap();
        let mut context = mapping.context(claims.as_object().unwrap());
        assert_eq!(context.remove("context_version"), Some(json!("1")));
        context.into()
    }

    #[test]
    fn only_configured_claims_are_passed_through() {
        let claims = json!({
            "sub": "ada", "name": "Ada", "custom:org": "acme", "custom:operator": true, "aud": ["other", "web"],
            "email": "ada@example.org", "exp": 5,
        });
        assert_eq!(
            context(&[], &claims),
            json!({"user": "ada", "user_name": "Ada", "org": "acme", "operator": "true", "aud": "web"})
        );
    }

    #[test]
    fn org_is_the_only_group_with_the_prefix() {
        let set = [("ORG_CLAIM", "groups"), ("ORG_GROUP_PREFIX", "org:")];
        let of = |groups: Value| context(&set, &json!({"groups": groups}))["org"].clone();
        assert_eq!(of(json!(["staff", "org:acme"])), "acme");
        assert_eq!(of(json!("org:acme")), "acme");
        assert_eq!(of(json!(["org:acme", "org:globex"])), Value::Null, "the tenant is ambiguous");
        let ambiguous = json!({"groups": ["org:acme", "org:globex"], "client_id": "ci"});
        assert_eq!(context(&set, &ambiguous)["client_without_org"], Value::Null);
        assert_eq!(of(json!(["acme"])), Value::Null);
        assert_eq!(of(json!({"org:acme": true})), Value::Null);
    }

    #[test]
    fn json_pointer_reads_nested_claims() {
        let set = [("OPERATOR_CLAIM", "/realm_access/roles"), ("OPERATOR_GROUP", "operators")];
        let of = |roles: Value| context(&set, &json!({"realm_access": {"roles": roles}}));
        assert_eq!(of(json!(["operators"]))["operator"], "true");
        assert_eq!(of(json!(["operators-of-nothing", true])), json!({}));
        // A name that starts with a slash still matches literally.
        assert_eq!(context(&[("ORG_CLAIM", "/org")], &json!({"/org": "acme"}))["org"], "acme");
    }

    #[test]
    fn machine_token_without_org_names_its_client() {
        let of = |claims: Value| {
            let context = context(&[], &claims);
            (context["org"].clone(), context["client_without_org"].clone())
        };
        for name in CLIENT_CLAIMS {
            assert_eq!(of(json!({name: "ci", "sub": "ci"})), (Value::Null, json!("ci")));
        }
        assert_eq!(of(json!({"sub": "ci"})), (Value::Null, Value::Null));
        let named = of(json!({"client_id": "ci", "custom:org": "globex"}));
        assert_eq!(named, (json!("globex"), Value::Null), "the token's claim wins");
    }

    #[test]
    fn left_out_groups_are_named_and_no_org_is_taken_instead() {
        let set = [("ORG_CLAIM", "groups"), ("OPERATOR_CLAIM", "roles"), ("OPERATOR_GROUP", "ops")];
        for marker in [json!({"_claim_names": {"groups": "src1"}}), json!({"hasgroups": true})] {
            let mut claims = json!({"sub": "ada", "azp": "web", "roles": ["ops"]});
            claims.as_object_mut().unwrap().extend(marker.as_object().unwrap().clone());
            assert_eq!(
                context(&set, &claims),
                json!({"user": "ada", "left_out_claim": "groups"}),
                "{marker}"
            );
        }
        let complete = json!({"sub": "ada", "groups": ["acme"], "hasgroups": false});
        assert_eq!(context(&set, &complete)["org"], "acme");
    }

    /// The parameters of each provider in the guide, with the claims of its tokens that concern the caller.
    #[test]
    fn providers_of_the_guide_name_org_user_and_operator() {
        let tokens = [
            (
                "Entra ID",
                json!({"tid": "acme", "oid": "ada", "sub": "other", "azp": "web", "roles": ["operators"]}),
            ),
            (
                "Okta",
                json!({"cid": "web", "uid": "ada", "sub": "ada@acme.org", "groups": ["org:acme", "operators"]}),
            ),
            (
                "Auth0",
                json!({"org_id": "acme", "sub": "ada", "azp": "web", "permissions": ["operate:aptix"]}),
            ),
            ("Google", json!({"hd": "acme", "sub": "ada", "azp": "web"})),
        ];
        let guide = include_str!("../../../docs/guides/deploying.md");
        for (provider, claims) in tokens {
            let line = guide
                .lines()
                .find(|line| line.starts_with(&format!("{provider} ")) && line.contains("OidcIssuer="));
            let parameters = line.unwrap_or_else(|| panic!("no parameters of {provider}")).split_whitespace();
            let set: Vec<(&str, &str)> = parameters
                .filter_map(|parameter| parameter.split_once('='))
                .filter_map(|(name, value)| {
                    let setting = match name {
                        "OrgClaim" => "ORG_CLAIM",
                        "OrgGroupPrefix" => "ORG_GROUP_PREFIX",
                        "UserClaim" => "USER_CLAIM",
                        "OperatorClaim" => "OPERATOR_CLAIM",
                        "OperatorGroup" => "OPERATOR_GROUP",
                        _ => return None,
                    };
                    Some((setting, value))
                })
                .collect();
            let read = context(&set, &claims);
            let operator = if provider == "Google" { Value::Null } else { json!("true") };
            assert_eq!(
                (&read["org"], &read["user"], &read["operator"]),
                (&json!("acme"), &json!("ada"), &operator)
            );
        }
    }

    #[test]
    fn operator_needs_the_group_or_the_value_true() {
        let claims = json!({"custom:operator": ["true", "x"]});
        assert_eq!(context(&[], &claims), json!({}));
        assert_eq!(context(&[], &json!({"custom:operator": "yes"})), json!({}));
        assert_eq!(context(&[("OPERATOR_GROUP", "ops")], &json!({"custom:operator": "true"})), json!({}));
    }

    #[test]
    fn agent_editor_has_its_own_claim_and_group() {
        let set = [("AGENT_EDITOR_CLAIM", "roles"), ("AGENT_EDITOR_GROUP", "editors")];
        assert_eq!(context(&set, &json!({"roles": ["ops", "editors"]})), json!({"agent_editor": "true"}));
        assert_eq!(context(&set, &json!({"roles": "ops"})), json!({}));
        assert_eq!(context(&[], &json!({"custom:agent_editor": true})), json!({"agent_editor": "true"}));
    }
}
