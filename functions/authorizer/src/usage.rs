//! Chooses the API key that a request counts against. API Gateway limits the requests of each key (usage plans). Clients
//! don't know the keys, and they grant no access.

use std::collections::BTreeMap;

use runtime::context_key;
use serde_json::{Map, Value};
use settings::Env;

/// The API keys by caller.
#[derive(Debug, Default)]
pub(crate) struct UsageKeys {
    /// The key of callers without one of their own.
    shared: Option<String>,
    /// Keys of orgs, as `org`, and of users, as `org/user`.
    own: BTreeMap<String, String>,
}

impl UsageKeys {
    pub(crate) fn read(env: &mut Env) -> Self {
        let own = env.read(&settings::USAGE_KEYS).map_or(Some(BTreeMap::new()), |text| parse(&text));
        if own.is_none() {
            env.add_fault(format!(
                "{} must be such as acme=KEY,acme/ada=KEY, or a JSON object of strings",
                settings::USAGE_KEYS.name
            ));
        }
        Self { shared: env.read(&settings::SHARED_USAGE_KEY), own: own.unwrap_or_default() }
    }

    /// Returns the key for the caller in this context: the user's, the org's, or the shared one.
    pub(crate) fn find(&self, context: &Map<String, Value>) -> Option<&str> {
        let text = |key: &str| context.get(key).and_then(Value::as_str).unwrap_or_default();
        let (org, user) = (text(context_key::ORG), text(context_key::USER));
        let own = self.own.get(&format!("{org}/{user}")).or_else(|| self.own.get(org));
        own.or(self.shared.as_ref()).map(String::as_str)
    }
}

/// Reads `name=key` pairs with commas between them, or a JSON object. `None` for any other text. Pairs have no quotation
/// marks, which `sam deploy` takes for the end of a value.
fn parse(text: &str) -> Option<BTreeMap<String, String>> {
    if text.starts_with('{') {
        return serde_json::from_str(text).ok();
    }
    let pairs = text.split(',').map(|pair| pair.split_once('='));
    pairs.map(|pair| pair.map(|(name, key)| (name.to_owned(), key.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key<'a>(keys: &'a UsageKeys, org: &str, user: &str) -> Option<&'a str> {
        keys.find(json!({"org": org, "user": user}).as_object().unwrap())
    }

    #[test]
    fn user_key_precedes_org_key_and_shared_key() {
        for own in [r#"{"acme":"of-acme","acme/ada":"of-ada"}"#, "acme=of-acme,acme/ada=of-ada"] {
            let mut env = Env::from_vars([("USAGE_KEYS", own), ("SHARED_USAGE_KEY", "shared")]);
            let keys = UsageKeys::read(&mut env);
            assert_eq!(key(&keys, "acme", "ada"), Some("of-ada"));
            assert_eq!(key(&keys, "acme", "bob"), Some("of-acme"));
            assert_eq!(key(&keys, "globex", "ada"), Some("shared"));
        }
        assert_eq!(key(&UsageKeys::default(), "acme", "ada"), None);
    }

    #[test]
    fn invalid_usage_keys_are_a_fault() {
        for invalid in ["[1]", "{", "acme"] {
            let mut env = Env::from_vars([("USAGE_KEYS", invalid)]);
            UsageKeys::read(&mut env);
            let fault = "USAGE_KEYS must be such as acme=KEY,acme/ada=KEY, or a JSON object of strings";
            assert_eq!(env.finish().unwrap_err().faults(), [fault], "{invalid}");
        }
    }
}
