//! A token's claims as the functions read them: each a text, under the name that the stack's settings give it.
//!
//! Providers put a tenant into a claim of its own, into a list of groups, or nowhere at all: a token that a program got
//! for itself often names its client alone.

use std::collections::BTreeMap;

use runtime::ClaimNames;
use serde_json::{Map, Value};
use settings::Env;

/// The claims that say whom a token is for, and which kind it is.
const AUDIENCE: &str = "aud";
const PASSED_ON: [&str; 2] = ["client_id", "token_use"];
/// The claims in which providers name the client that a token was issued to.
const CLIENT: [&str; 3] = ["client_id", "azp", "cid"];

/// How claims become a caller.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// The claims that the functions read.
    pub(crate) names: ClaimNames,
    org_prefix: Option<String>,
    operators: Option<String>,
    orgs_of_clients: BTreeMap<String, String>,
}

impl Mapping {
    pub(crate) fn read(env: &mut Env, names: ClaimNames) -> Self {
        let orgs_of_clients = env.read(&settings::CLIENT_ORGS).map(|text| serde_json::from_str(&text));
        Self {
            names,
            org_prefix: env.read(&settings::ORG_GROUP_PREFIX),
            operators: env.read(&settings::OPERATOR_GROUP),
            orgs_of_clients: orgs_of_clients.unwrap_or(Ok(BTreeMap::new())).unwrap_or_else(|_| {
                env.fault(format!("{} must be a JSON object of texts", settings::CLIENT_ORGS.name));
                BTreeMap::new()
            }),
        }
    }

    /// What the functions are told. A claim that is not there is left out: they say which one is missing.
    pub(crate) fn context(&self, claims: &Map<String, Value>) -> Map<String, Value> {
        let ClaimNames { org, user, user_name, org_name, operator, .. } = &self.names;
        let text = |name: &str| found(claims, name).and_then(Value::as_str).map(str::to_owned);
        let told = [
            (org.as_str(), self.org(claims)),
            (operator, self.is_operator(claims).then(|| "true".to_owned())),
            (user, text(user)),
            (user_name, text(user_name)),
            (org_name, text(org_name)),
            (AUDIENCE, self.audience(claims)),
        ];
        let told = told.into_iter().chain(PASSED_ON.map(|name| (name, text(name))));
        told.filter_map(|(name, value)| Some((name.to_owned(), Value::from(value?)))).collect()
    }

    /// The tenant: what the claim says, the one group with the prefix, or that of the client.
    fn org(&self, claims: &Map<String, Value>) -> Option<String> {
        let named = texts(found(claims, &self.names.org));
        let mut orgs = named.into_iter().filter_map(|name| match &self.org_prefix {
            Some(prefix) => name.strip_prefix(prefix.as_str()),
            None => Some(name),
        });
        match (orgs.next(), orgs.next()) {
            (Some(org), None) => Some(org.to_owned()),
            // Whoever is of several tenants must say which: nothing here may choose.
            (Some(_), Some(_)) => None,
            (None, _) => {
                let client = CLIENT.iter().find_map(|name| claims.get(*name)?.as_str());
                self.orgs_of_clients.get(client?).cloned()
            }
        }
    }

    fn is_operator(&self, claims: &Map<String, Value>) -> bool {
        let claim = found(claims, &self.names.operator);
        match &self.operators {
            Some(group) => texts(claim).contains(&group.as_str()),
            None => matches!(claim, Some(Value::Bool(true))) || texts(claim) == ["true"],
        }
    }

    /// One audience, since a text is all that can be handed on: ours, where it is among them.
    fn audience(&self, claims: &Map<String, Value>) -> Option<String> {
        let named = texts(claims.get(AUDIENCE));
        let ours = named.iter().find(|name| self.names.audiences.iter().any(|ours| ours == *name));
        ours.or(named.first()).map(|name| (*name).to_owned())
    }
}

/// A claim by its name, or where a JSON Pointer (RFC 6901) points: `/realm_access/roles`.
fn found<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let within = || {
        let (first, rest) = name.strip_prefix('/')?.split_once('/')?;
        claims.get(first)?.pointer(&format!("/{rest}"))
    };
    claims.get(name).or_else(within)
}

/// The texts of a claim that is one, or a list of them.
fn texts(claim: Option<&Value>) -> Vec<&str> {
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
        let mut env = Env::of([&[("TOKEN_AUDIENCES", "api,web")], settings].concat());
        let names = ClaimNames::names(&mut env);
        let mapping = Mapping::read(&mut env, names);
        env.finish().unwrap();
        mapping.context(claims.as_object().unwrap()).into()
    }

    #[test]
    fn claims_are_handed_on_by_their_names_and_nothing_else_is() {
        let claims = json!({
            "sub": "ada", "name": "Ada", "custom:org": "acme", "custom:operator": true, "aud": ["other", "web"],
            "email": "ada@example.org", "exp": 5,
        });
        assert_eq!(
            context(&[], &claims),
            json!({"sub": "ada", "name": "Ada", "custom:org": "acme", "custom:operator": "true", "aud": "web"})
        );
    }

    #[test]
    fn a_tenant_is_the_one_group_with_the_prefix() {
        let set = [("ORG_CLAIM", "groups"), ("ORG_GROUP_PREFIX", "org:")];
        let of = |groups: Value| context(&set, &json!({"groups": groups}))["groups"].clone();
        assert_eq!(of(json!(["staff", "org:acme"])), "acme");
        assert_eq!(of(json!("org:acme")), "acme");
        assert_eq!(of(json!(["org:acme", "org:globex"])), Value::Null, "nobody chooses between tenants");
        assert_eq!(of(json!(["acme"])), Value::Null);
        assert_eq!(of(json!({"org:acme": true})), Value::Null);
    }

    #[test]
    fn a_pointer_finds_what_stands_within_a_claim() {
        let set = [("OPERATOR_CLAIM", "/realm_access/roles"), ("OPERATOR_GROUP", "operators")];
        let of = |roles: Value| context(&set, &json!({"realm_access": {"roles": roles}}));
        assert_eq!(of(json!(["operators"]))["/realm_access/roles"], "true");
        assert_eq!(of(json!(["operators-of-nothing", true])), json!({}));
        // A name that begins like one is a name all the same.
        assert_eq!(context(&[("ORG_CLAIM", "/org")], &json!({"/org": "acme"}))["/org"], "acme");
    }

    #[test]
    fn a_program_that_has_a_token_for_itself_is_of_the_org_of_its_client() {
        let set = [("CLIENT_ORGS", "{\"ci\":\"acme\"}")];
        let of = |claims: Value| context(&set, &claims)["custom:org"].clone();
        for name in CLIENT {
            assert_eq!(of(json!({name: "ci", "sub": "ci"})), "acme");
        }
        assert_eq!(of(json!({"client_id": "other"})), Value::Null);
        assert_eq!(of(json!({"client_id": "ci", "custom:org": "globex"})), "globex", "the token's own word");
    }

    #[test]
    fn only_the_group_or_the_word_true_makes_an_operator() {
        let claims = json!({"custom:operator": ["true", "x"]});
        assert_eq!(context(&[], &claims), json!({}));
        assert_eq!(context(&[], &json!({"custom:operator": "yes"})), json!({}));
        assert_eq!(context(&[("OPERATOR_GROUP", "ops")], &json!({"custom:operator": "true"})), json!({}));
    }
}
