//! Ids of turns that follow from their request, so that a repeated request finds its turn.

use contracts::{
    Fingerprint,
    id::{SessionId, TurnId},
};

/// The header in which OpenAI's SDKs count the retries of a request.
pub const RETRY_COUNT: &str = "x-stainless-retry-count";
/// The header in which a client names a request.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The longest idempotency key, in characters.
pub const MAX_KEY_CHARS: usize = 255;
/// The equal requests of one user in one minute that get ids of their own. A retry of one beyond them isn't recognized.
pub const MAX_EQUAL: u32 = 8;
/// The minutes in which a retry looks for its request. The SDKs wait ten minutes for an answer.
pub const MINUTES: u64 = 15;

/// A caller of the API, as far as ids depend on one.
#[derive(Debug, Clone, Copy)]
pub struct RequestUser<'a> {
    /// The org.
    pub org: &'a str,
    /// The user.
    pub user: &'a str,
}

/// The value that the ids of a turn follow from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed(Fingerprint);

impl Seed {
    /// Creates the seed of a request with an idempotency key.
    #[must_use]
    pub fn of_key(user: RequestUser<'_>, key: &str) -> Self {
        Self::hash(user, "key", key.as_bytes(), "")
    }

    /// Creates the seed of a request by its bytes. `minute` is the time of the first try, `ordinal` tells equal
    /// requests of that minute apart.
    #[must_use]
    pub fn of_body(user: RequestUser<'_>, body: &[u8], minute: u64, ordinal: u32) -> Self {
        Self::hash(user, "body", body, &format!("{minute}/{ordinal}"))
    }

    /// Creates a seed from random bytes.
    #[must_use]
    pub fn random(bytes: &[u8]) -> Self {
        Self(Fingerprint::hash_bytes(bytes))
    }

    fn hash(RequestUser { org, user }: RequestUser<'_>, kind: &str, what: &[u8], more: &str) -> Self {
        // The lengths keep the parts apart.
        let head = format!("{kind}/{}/{org}/{}/{user}/{more}/", org.len(), user.len());
        Self(Fingerprint::hash_bytes(&[head.as_bytes(), what].concat()))
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
    use super::*;

    const ADA: RequestUser<'_> = RequestUser { org: "acme", user: "ada" };

    #[test]
    fn same_request_gets_same_ids() {
        let seed = Seed::of_body(ADA, b"{}", 7, 0);
        assert_eq!(seed, Seed::of_body(ADA, b"{}", 7, 0));
        assert_ne!(seed.session().unwrap().as_str(), seed.turn().unwrap().as_str());
        assert_eq!(seed.turn().unwrap().as_str().len(), 32);
    }

    #[test]
    fn different_requests_get_different_ids() {
        let other_user = RequestUser { org: "acme", user: "bob" };
        let shifted = RequestUser { org: "acm", user: "e/ada" };
        let seeds = [
            Seed::of_body(ADA, b"{}", 7, 0),
            Seed::of_body(ADA, b"{}", 7, 1),
            Seed::of_body(ADA, b"{}", 8, 0),
            Seed::of_body(ADA, b"[]", 7, 0),
            Seed::of_body(other_user, b"{}", 7, 0),
            Seed::of_body(shifted, b"{}", 7, 0),
            Seed::of_key(ADA, "{}"),
        ];
        for (n, seed) in seeds.iter().enumerate() {
            assert!(seeds.iter().skip(n + 1).all(|other| other != seed), "{n}");
        }
    }
}
