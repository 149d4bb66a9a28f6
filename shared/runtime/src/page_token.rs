//! Page tokens: the position at which a list continues, sealed for the caller and for the list.
//!
//! A token grants nothing: every read takes the tenant from the caller's own claims. The seal guarantees that a
//! position comes unchanged from a page of the same list, so the code behind it doesn't have to handle anything else.

use std::sync::Arc;

use aws_lc_rs::hmac;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use contracts::{Error, ErrorCode};
use protocol::Caller;
use settings::Env;

use crate::{Reply, query::ListScope};

/// The length of the seal in a token, in bytes.
const SEAL_BYTES: usize = 16;

/// Seals and opens tokens.
#[derive(Debug, Clone)]
pub struct PageTokens(Arc<hmac::Key>);

impl PageTokens {
    /// Reads the deployment's key from the settings.
    pub fn read(env: &mut Env) -> Self {
        Self::from_key(&env.read(&settings::PAGE_TOKEN_KEY))
    }

    fn from_key(key: &str) -> Self {
        Self(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes())))
    }

    /// Returns the token for a position in a caller's list.
    #[must_use]
    pub fn seal(&self, caller: &Caller, list: &ListScope, position: &str) -> String {
        let mut token = self.compute_seal(caller, list, position).to_vec();
        token.extend_from_slice(position.as_bytes());
        URL_SAFE_NO_PAD.encode(token)
    }

    /// Returns the position in a token.
    ///
    /// # Errors
    /// Fails unless a page of this list ended with this token for this caller.
    pub fn open(&self, caller: &Caller, list: &ListScope, token: &str) -> Result<String, Reply> {
        self.verify(caller, list, token).ok_or_else(|| {
            Reply::error(
                Error::new(
                    ErrorCode::ParameterInvalid,
                    "continuationToken must be one that the previous page of the same list returned to you. Leave it out \
                     to start over.",
                )
                .with_details("continuationToken"),
            )
        })
    }

    fn verify(&self, caller: &Caller, list: &ListScope, token: &str) -> Option<String> {
        let token = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (seal, position) = token.split_at_checked(SEAL_BYTES)?;
        let position = std::str::from_utf8(position).ok()?;
        let ours = self.compute_seal(caller, list, position);
        aws_lc_rs::constant_time::verify_slices_are_equal(&ours, seal).ok()?;
        Some(position.to_owned())
    }

    fn compute_seal(&self, caller: &Caller, ListScope(list): &ListScope, position: &str) -> [u8; SEAL_BYTES] {
        let mut seal = hmac::Context::with_key(&self.0);
        // Each part with its length, so that two lists never produce the same bytes.
        for part in [caller.org.as_str(), caller.user.id.as_str(), list, position] {
            seal.update(&(part.len() as u64).to_be_bytes());
            seal.update(part.as_bytes());
        }
        let mut truncated = [0; SEAL_BYTES];
        truncated.iter_mut().zip(seal.sign().as_ref()).for_each(|(truncated, byte)| *truncated = *byte);
        truncated
    }
}

#[cfg(test)]
mod tests {
    use protocol::caller::User;

    use super::*;

    fn caller(org: &str, user: &str) -> Caller {
        let user = User { id: user.parse().unwrap(), name: user.to_owned() };
        Caller { org: org.parse().unwrap(), org_name: None, user, operator: false }
    }

    #[test]
    fn token_is_bound_to_caller_list_and_deployment() {
        let (tokens, ada, list) =
            (PageTokens::from_key("k"), caller("acme", "ada"), ListScope("/a?b=c".to_owned()));
        let token = tokens.seal(&ada, &list, "position");
        assert_eq!(tokens.verify(&ada, &list, &token).as_deref(), Some("position"));
        for (tokens, caller, list) in [
            (PageTokens::from_key("other"), ada.clone(), list.clone()),
            (tokens.clone(), caller("acme", "bob"), list.clone()),
            (tokens.clone(), caller("rival", "ada"), list.clone()),
            (tokens.clone(), caller("acmead", "a"), list.clone()),
            (tokens.clone(), ada.clone(), ListScope("/a?b=d".to_owned())),
        ] {
            assert_eq!(tokens.verify(&caller, &list, &token), None);
        }
    }

    #[test]
    fn tampered_token_is_rejected() {
        let (tokens, ada, list) =
            (PageTokens::from_key("k"), caller("acme", "ada"), ListScope("/a?".to_owned()));
        let token = tokens.seal(&ada, &list, "42");
        for position in 0..token.len() {
            for other in ['A', 'B', 'z', '-', '!'] {
                let changed: String = token
                    .chars()
                    .enumerate()
                    .map(|(at, char)| if at == position { other } else { char })
                    .collect();
                // The last Base64 character may hold unused bits. The decoder rejects tokens that set them.
                assert!(changed == token || tokens.verify(&ada, &list, &changed).is_none(), "{changed}");
            }
        }
        for none in ["", "x", "42", "W10", &token[..20], &format!("{token}A")] {
            assert_eq!(tokens.verify(&ada, &list, none), None, "{none}");
        }
    }
}
