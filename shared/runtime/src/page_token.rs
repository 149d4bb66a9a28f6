//! Page tokens: the position at which a list continues, encrypted for the caller and for the list.
//!
//! A position is the last place that the server looked at, which may be a session that the caller can't see. So a token
//! tells nothing, not even the length of a position to within `BLOCK_BYTES`. It also grants nothing: every read takes
//! the tenant from the caller's own claims. A token that decrypts comes unchanged from a page of the same list, so the
//! code behind it doesn't have to handle anything else.
//!
//! The same position gives the same token, so that a page keeps its `ETag`. Therefore the nonce derives from the
//! position (a synthetic initialization vector), under a key of its own.
//!
//! A deployment may have several keys, so that a rotation leaves tokens valid: the first key seals, all of them open.

use std::sync::Arc;

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hmac,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use contracts::{Error, ErrorCode};
use protocol::Caller;
use settings::Env;

use crate::{Reply, query::ListScope};

/// The size to whose multiples positions are padded, in bytes.
const BLOCK_BYTES: usize = 64;

/// The padding. No UTF-8 text contains this byte.
const PADDING: u8 = 0xFF;

/// Separates the keys of the setting. No generated key contains it.
const SEPARATOR: char = ',';

/// Encrypts and decrypts tokens.
#[derive(Debug, Clone)]
pub struct PageTokens(Arc<[PageTokenKey]>);

/// A key of the deployment.
#[derive(Debug)]
struct PageTokenKey(hmac::Key);

impl PageTokens {
    /// Reads the deployment's keys from the settings.
    pub fn read(env: &mut Env) -> Self {
        Self::from_keys(&env.read(&settings::PAGE_TOKEN_KEY))
    }

    fn from_keys(keys: &str) -> Self {
        Self(deployment_keys(keys).map(PageTokenKey).collect())
    }

    /// Returns the token for a position in a caller's list.
    #[must_use]
    pub fn seal(&self, caller: &Caller, list: &ListScope, position: &str) -> String {
        // The key has the algorithm's length and a position is short, so this can't fail. An empty token is refused.
        self.0.first().and_then(|key| key.encrypt(caller, list, position)).unwrap_or_default()
    }

    /// Returns the position in a token.
    ///
    /// # Errors
    /// Fails unless a page of this list ended with this token for this caller.
    pub fn open(&self, caller: &Caller, list: &ListScope, token: &str) -> Result<String, Reply> {
        self.decrypt(caller, list, token).ok_or_else(|| {
            Reply::error(
                Error::new(
                    ErrorCode::ParameterInvalid,
                    "continuationToken must be a token from the previous page of the same list. Omit it to start from the \
                     first page.",
                )
                .with_details("continuationToken"),
            )
        })
    }

    fn decrypt(&self, caller: &Caller, list: &ListScope, token: &str) -> Option<String> {
        self.0.iter().find_map(|key| key.decrypt(caller, list, token))
    }
}

/// Parses the keys of the deployment, the current one first.
pub(crate) fn deployment_keys(setting: &str) -> impl Iterator<Item = hmac::Key> {
    let keys = setting.split(SEPARATOR).map(str::trim).filter(|key| !key.is_empty());
    keys.map(|key| hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()))
}

impl PageTokenKey {
    fn encrypt(&self, caller: &Caller, list: &ListScope, position: &str) -> Option<String> {
        let derived = self.derive("nonce", caller, list, position);
        let nonce: [u8; NONCE_LEN] = derived.as_ref().get(..NONCE_LEN)?.try_into().ok()?;
        let mut content = position.as_bytes().to_vec();
        content.resize(content.len().next_multiple_of(BLOCK_BYTES).max(BLOCK_BYTES), PADDING);
        let key = self.key(caller, list)?;
        let sealed = Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(sealed, Aad::empty(), &mut content).ok()?;
        Some(URL_SAFE_NO_PAD.encode([&nonce[..], &content].concat()))
    }

    fn decrypt(&self, caller: &Caller, list: &ListScope, token: &str) -> Option<String> {
        let token = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (nonce, content) = token.split_first_chunk::<NONCE_LEN>()?;
        let mut content = content.to_vec();
        let key = self.key(caller, list)?;
        let opened = Nonce::assume_unique_for_key(*nonce);
        let position = key.open_in_place(opened, Aad::empty(), &mut content).ok()?;
        let end = position.iter().position(|byte| *byte == PADDING).unwrap_or(position.len());
        std::str::from_utf8(position.get(..end)?).ok().map(str::to_owned)
    }

    /// Returns the key of a caller's list.
    fn key(&self, caller: &Caller, list: &ListScope) -> Option<LessSafeKey> {
        let key = self.derive("key", caller, list, "");
        UnboundKey::new(&AES_256_GCM, key.as_ref()).ok().map(LessSafeKey::new)
    }

    fn derive(
        &self,
        purpose: &str,
        caller: &Caller,
        ListScope(list): &ListScope,
        position: &str,
    ) -> hmac::Tag {
        let mut derived = hmac::Context::with_key(&self.0);
        // Each part with its length, so that two lists never produce the same bytes.
        for part in [purpose, caller.org.as_str(), caller.user.id.as_str(), list, position] {
            derived.update(&(part.len() as u64).to_be_bytes());
            derived.update(part.as_bytes());
        }
        derived.sign()
    }
}

#[cfg(test)]
mod tests {
    use protocol::caller::User;

    use super::*;

    fn caller(org: &str, user: &str) -> Caller {
        let user = User { id: user.parse().unwrap(), name: user.to_owned() };
        Caller {
            org: org.parse().unwrap(),
            org_name: None,
            user,
            operator: false,
            agent_editor: false,
            token: None,
        }
    }

    #[test]
    fn token_is_bound_to_caller_list_and_deployment() {
        let (tokens, ada, list) =
            (PageTokens::from_keys("k"), caller("acme", "ada"), ListScope("/a?b=c".to_owned()));
        let token = tokens.seal(&ada, &list, "position");
        assert_eq!(tokens.decrypt(&ada, &list, &token).as_deref(), Some("position"));
        for (tokens, caller, list) in [
            (PageTokens::from_keys("other"), ada.clone(), list.clone()),
            (tokens.clone(), caller("acme", "bob"), list.clone()),
            (tokens.clone(), caller("rival", "ada"), list.clone()),
            (tokens.clone(), caller("acmead", "a"), list.clone()),
            (tokens.clone(), ada.clone(), ListScope("/a?b=d".to_owned())),
        ] {
            assert_eq!(tokens.decrypt(&caller, &list, &token), None);
        }
    }

    #[test]
    fn token_outlives_one_rotation_of_the_key() {
        let (ada, list) = (caller("acme", "ada"), ListScope("/a".to_owned()));
        let [before, rotated, later] = ["old", "new,old", "newest, new"].map(PageTokens::from_keys);
        let token = before.seal(&ada, &list, "position");
        assert_eq!(rotated.decrypt(&ada, &list, &token).as_deref(), Some("position"));
        assert_eq!(later.decrypt(&ada, &list, &token), None);
        let token = rotated.seal(&ada, &list, "position");
        assert_eq!(later.decrypt(&ada, &list, &token).as_deref(), Some("position"));
        assert_eq!(before.decrypt(&ada, &list, &token), None);
    }

    #[test]
    fn token_names_no_session() {
        let (tokens, ada, list) =
            (PageTokens::from_keys("k"), caller("acme", "ada"), ListScope("/sessions?".to_owned()));
        let mut seen = std::collections::BTreeSet::new();
        for number in 0..500 {
            let session = format!("private-session-{number}");
            let position = format!("2026-01-01T00:00:00.000Z#acme#{session}");
            let token = tokens.seal(&ada, &list, &position);
            assert_eq!(tokens.decrypt(&ada, &list, &token), Some(position.clone()));
            assert_eq!(tokens.seal(&ada, &list, &position), token, "a page keeps its tag");
            let decoded = URL_SAFE_NO_PAD.decode(&token).unwrap();
            let text = String::from_utf8_lossy(&decoded);
            assert!(
                !token.contains(&session) && !text.contains("session") && !text.contains("acme"),
                "{text}"
            );
            seen.insert(token);
        }
        assert_eq!(seen.len(), 500);
        let lengths = ["", "1", &"x".repeat(63)].map(|position| tokens.seal(&ada, &list, position).len());
        assert!(lengths.windows(2).all(|pair| pair[0] == pair[1]), "{lengths:?}");
        for position in ["", "x", &"x".repeat(64), &"\u{e4}".repeat(100)] {
            let token = tokens.seal(&ada, &list, position);
            assert_eq!(tokens.decrypt(&ada, &list, &token).as_deref(), Some(position));
        }
    }

    #[test]
    fn tampered_token_is_rejected() {
        let (tokens, ada, list) =
            (PageTokens::from_keys("k"), caller("acme", "ada"), ListScope("/a?".to_owned()));
        let token = tokens.seal(&ada, &list, "42");
        for position in 0..token.len() {
            for other in ['A', 'B', 'z', '-', '!'] {
                let changed: String = token
                    .chars()
                    .enumerate()
                    .map(|(at, char)| if at == position { other } else { char })
                    .collect();
                // The last Base64 character may hold unused bits. The decoder rejects tokens that set them.
                assert!(changed == token || tokens.decrypt(&ada, &list, &changed).is_none(), "{changed}");
            }
        }
        for none in ["", "x", "42", "W10", &token[..20], &format!("{token}A")] {
            assert_eq!(tokens.decrypt(&ada, &list, none), None, "{none}");
        }
    }
}
