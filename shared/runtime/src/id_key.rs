//! Keys of derived ids: ids of sessions and turns that follow from a request, so that a repeated request finds its turn.
//!
//! Without the key, nobody can compute the id of another user's request and create that session first. A key grants
//! nothing, because a start accepts no other user's session under a derived id.
//!
//! The keys derive from the deployment's keys, for this purpose alone. After a rotation the current key derives new
//! ids, and the previous one finds sessions from before.

use std::sync::Arc;

use aws_lc_rs::hmac;
use settings::Env;

use crate::page_token::deployment_keys;

/// Separates these keys from others that derive from the same key of the deployment.
const PURPOSE: &[u8] = b"aptix/derived-ids/v1";

/// The keys of derived ids.
#[derive(Debug, Clone)]
pub struct IdKeys {
    /// The key of new ids.
    pub current: IdKey,
    /// The keys before it, which only find sessions.
    pub previous: Arc<[IdKey]>,
}

/// A key of derived ids.
#[derive(Debug, Clone)]
pub struct IdKey(hmac::Key);

impl IdKeys {
    /// Reads the deployment's keys from the settings. A setting without a key is a fault.
    pub fn read(env: &mut Env) -> Self {
        let setting = env.read(&settings::PAGE_TOKEN_KEY);
        Self::from_keys(&setting).unwrap_or_else(|| {
            env.add_fault(format!("{} must hold a key", settings::PAGE_TOKEN_KEY.name));
            Self { current: IdKey::new(b""), previous: Arc::default() }
        })
    }

    /// Derives the keys from the deployment's keys, in the order of the setting. `None` if the setting is empty.
    #[must_use]
    pub fn from_keys(keys: &str) -> Option<Self> {
        let mut keys = deployment_keys(keys).map(|key| IdKey::new(hmac::sign(&key, PURPOSE).as_ref()));
        Some(Self { current: keys.next()?, previous: keys.collect() })
    }

    /// Returns the keys, the current one first.
    pub fn iter(&self) -> impl Iterator<Item = &IdKey> {
        std::iter::once(&self.current).chain(self.previous.iter())
    }
}

impl IdKey {
    fn new(key: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// Derives 64 hexadecimal digits from these parts.
    #[must_use]
    pub fn derive(&self, parts: &[&[u8]]) -> String {
        let mut derived = hmac::Context::with_key(&self.0);
        // Each part with its length, so that two lists never produce the same bytes.
        for part in parts {
            derived.update(&(part.len() as u64).to_be_bytes());
            derived.update(part);
        }
        derived.sign().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_depend_on_key_and_on_the_bounds_of_parts() {
        let derive = |keys: &str, parts: &[&[u8]]| IdKeys::from_keys(keys).unwrap().current.derive(parts);
        let id = derive("k", &[b"ab", b"c"]);
        assert_eq!((id.len(), &id), (64, &derive("k,old", &[b"ab", b"c"])));
        assert_ne!(id, derive("k", &[b"a", b"bc"]));
        assert_ne!(id, derive("other", &[b"ab", b"c"]));
    }

    #[test]
    fn previous_key_is_found_after_a_rotation() {
        let [before, after] = ["old", "new, old"].map(|keys| IdKeys::from_keys(keys).unwrap());
        let ids: Vec<String> = after.iter().map(|key| key.derive(&[b"x"])).collect();
        assert_eq!((ids.len(), &ids[1]), (2, &before.current.derive(&[b"x"])));
        assert!(IdKeys::from_keys(" ,").is_none());
    }
}
