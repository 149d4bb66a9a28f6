//! Ids of turns that follow from their request, so that a repeated request finds its turn. They derive under a key of
//! the deployment, so that no other user can compute them.

use contracts::{
    Fingerprint,
    id::{SessionId, TurnId},
};
use runtime::id_key::IdKey;

/// The header in which OpenAI's SDKs count the retries of a request.
pub const RETRY_COUNT: &str = "x-stainless-retry-count";
/// The header in which a client names a request.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The longest idempotency key, in characters.
pub const MAX_KEY_CHARS: usize = 255;
/// The ids that one request may get. Equal requests of one minute use one each, as does a session that was deleted or is
/// another user's. A retry of a request beyond them isn't recognized.
pub const MAX_EQUAL: u32 = 8;
/// The minutes in which a retry looks for its request. The SDKs wait ten minutes for an answer.
pub const MINUTES: u64 = 15;

/// A caller of the API, as far as ids depend on one, and the key of the ids.
#[derive(Debug, Clone, Copy)]
pub struct RequestUser<'a> {
    /// The key.
    pub key: &'a IdKey,
    /// The org.
    pub org: &'a str,
    /// The user.
    pub user: &'a str,
}

impl RequestUser<'_> {
    /// Derives 64 hexadecimal digits from the user, a value of this kind, and numbers.
    pub(crate) fn derive(&self, kind: &str, value: &[u8], numbers: &[u64]) -> String {
        let Self { key, org, user } = self;
        let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        key.derive(&[kind.as_bytes(), org.as_bytes(), user.as_bytes(), value, &numbers])
    }
}

/// The value that the ids of a turn follow from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed(String);

impl Seed {
    /// Creates the seed of a request with an idempotency key. `ordinal` counts the ids that it may get.
    #[must_use]
    pub fn of_key(user: RequestUser<'_>, key: &str, ordinal: u32) -> Self {
        Self(user.derive("key", key.as_bytes(), &[ordinal.into()]))
    }

    /// Creates the seed of a request by its bytes. `minute` is the time of the first try, `ordinal` counts the ids that
    /// it may get.
    #[must_use]
    pub fn of_body(user: RequestUser<'_>, body: &[u8], minute: u64, ordinal: u32) -> Self {
        Self(user.derive("body", body, &[minute, ordinal.into()]))
    }

    /// Creates a seed from random bytes.
    #[must_use]
    pub fn random(bytes: &[u8]) -> Self {
        Self(Fingerprint::hash_bytes(bytes).to_string())
    }

    /// Returns the id of a new session.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        SessionId::new(self.id("session")).ok()
    }

    /// Returns the id of the turn.
    #[must_use]
    pub fn turn(&self) -> Option<TurnId> {
        TurnId::new(self.id("turn")).ok()
    }

    fn id(&self, kind: &str) -> String {
        let hash = Fingerprint::hash_bytes(format!("{kind}/{}", self.0).as_bytes()).to_string();
        hash.chars().take(32).collect()
    }
}

#[cfg(test)]
mod tests {
    use runtime::id_key::IdKeys;

    use super::*;

    fn key() -> IdKey {
        IdKeys::from_keys("k").unwrap().current
    }

    #[test]
    fn same_request_gets_same_ids() {
        let ada = RequestUser { key: &key(), org: "acme", user: "ada" };
        let seed = Seed::of_body(ada, b"{}", 7, 0);
        assert_eq!(seed, Seed::of_body(ada, b"{}", 7, 0));
        assert_ne!(seed.session().unwrap().as_str(), seed.turn().unwrap().as_str());
        assert_eq!(seed.turn().unwrap().as_str().len(), 32);
    }

    #[test]
    fn different_requests_get_different_ids() {
        let (key, other_key) = (key(), IdKeys::from_keys("other").unwrap().current);
        let ada = RequestUser { key: &key, org: "acme", user: "ada" };
        let seeds = [
            Seed::of_body(ada, b"{}", 7, 0),
            Seed::of_body(ada, b"{}", 7, 1),
            Seed::of_body(ada, b"{}", 8, 0),
            Seed::of_body(ada, b"[]", 7, 0),
            Seed::of_body(RequestUser { user: "bob", ..ada }, b"{}", 7, 0),
            Seed::of_body(RequestUser { org: "acm", user: "eada", ..ada }, b"{}", 7, 0),
            Seed::of_body(RequestUser { key: &other_key, ..ada }, b"{}", 7, 0),
            Seed::of_key(ada, "{}", 0),
            Seed::of_key(ada, "{}", 1),
        ];
        for (n, seed) in seeds.iter().enumerate() {
            assert!(seeds.iter().skip(n + 1).all(|other| other != seed), "{n}");
        }
    }
}
