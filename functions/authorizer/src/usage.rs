//! Chooses the API key that a request counts against. API Gateway limits the requests of each key (usage plans). Clients
//! don't know the keys, and they grant no access.

use std::collections::BTreeMap;

use contracts::id::{OrgId, UserId};
use futures::future::try_join;
use runtime::context_key;
use serde_json::{Map, Value};
use settings::Env;
use turns::ports::{Unavailable, UsageKeyHolder};

use crate::table::LazyTable;

/// The API keys by caller: those of the table, and those of a setting, which held them before the table did.
#[derive(Debug, Default)]
pub(crate) struct UsageKeys {
    /// The key of callers without one of their own. If set, callers are limited, and the table is read.
    shared: Option<String>,
    /// Keys of orgs, as `org`, and of users, as `org/user`.
    setting: BTreeMap<String, String>,
}

impl UsageKeys {
    pub(crate) fn read(env: &mut Env) -> Self {
        let shared = env.read(&settings::SHARED_USAGE_KEY);
        let setting = env.read(&settings::USAGE_KEYS).map_or(Some(BTreeMap::new()), |text| parse(&text));
        if setting.is_none() {
            let fault = format!(
                "{} must be such as acme=KEY,acme/ada=KEY, or a JSON object of strings",
                settings::USAGE_KEYS.name
            );
            match shared {
                // An optional map must not lock everybody out. Its callers stay limited, by the shared key.
                Some(_) => tracing::error!(error = fault.as_str(), "{}", contracts::log::SETTING_INVALID),
                None => env.add_fault(fault),
            }
        }
        Self { shared, setting: setting.unwrap_or_default() }
    }

    /// Returns the key for the caller in this context: the user's, the org's, or the shared one. A key of the table precedes
    /// the setting's for the same holder.
    pub(crate) async fn find(
        &self,
        context: &Map<String, Value>,
        table: &LazyTable,
    ) -> Result<Option<String>, Unavailable> {
        let text = |key: &str| context.get(key).and_then(Value::as_str).unwrap_or_default();
        let (org, user) = (text(context_key::ORG), text(context_key::USER));
        let (mut of_user, mut of_org) = (None, None);
        // The functions refuse a caller without a valid org.
        if let (Some(_), Ok(org)) = (&self.shared, OrgId::new(org)) {
            let table = table.get().await;
            let holder = |user| UsageKeyHolder { org: org.clone(), user };
            let (all, one) = (holder(None), UserId::new(user).ok().map(|user| holder(Some(user))));
            let of_one = async {
                match &one {
                    Some(one) => table.usage_key(one).await,
                    None => Ok(None),
                }
            };
            (of_user, of_org) = try_join(of_one, table.usage_key(&all)).await?;
        }
        let own = |key: Option<turns::ports::UsageKey>, name: &str| {
            key.map(|key| key.as_str().to_owned()).or_else(|| self.setting.get(name).cloned())
        };
        let key = own(of_user, &format!("{org}/{user}")).or_else(|| own(of_org, org));
        Ok(key.or_else(|| self.shared.clone()))
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
    use super::*;

    #[test]
    fn both_forms_of_the_setting_name_the_same_keys() {
        let names = [("acme", "of-acme"), ("acme/ada", "of-ada")];
        let expected = BTreeMap::from(names.map(|(name, key)| (name.to_owned(), key.to_owned())));
        for own in [r#"{"acme":"of-acme","acme/ada":"of-ada"}"#, "acme=of-acme,acme/ada=of-ada"] {
            let mut env = Env::from_vars([("USAGE_KEYS", own), ("SHARED_USAGE_KEY", "shared")]);
            let keys = UsageKeys::read(&mut env);
            env.finish().unwrap();
            assert_eq!((&keys.setting, keys.shared.as_deref()), (&expected, Some("shared")));
        }
    }

    #[test]
    fn invalid_setting_stops_nothing_where_the_shared_key_limits_its_callers() {
        for invalid in ["[1]", "{", "acme"] {
            let mut env = Env::from_vars([("USAGE_KEYS", invalid)]);
            UsageKeys::read(&mut env);
            let fault = "USAGE_KEYS must be such as acme=KEY,acme/ada=KEY, or a JSON object of strings";
            assert_eq!(env.finish().unwrap_err().faults(), [fault], "{invalid}");
            let mut env = Env::from_vars([("USAGE_KEYS", invalid), ("SHARED_USAGE_KEY", "shared")]);
            let keys = UsageKeys::read(&mut env);
            assert_eq!((env.finish(), keys.shared.as_deref()), (Ok(()), Some("shared")), "{invalid}");
        }
    }
}
