//! Tokens of pages: where a list goes on, sealed for whoever asked and for what was asked.
//!
//! A token proves nothing and opens nothing: every read takes the tenant from the caller's own claims. The seal is there so
//! that a place comes from a page of the same list, to the byte, and no code behind it has to expect anything else.

use std::sync::Arc;

use aws_lc_rs::hmac;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use contracts::{Error, ErrorCode};
use protocol::Caller;
use settings::Env;

use crate::{Reply, query::List};

/// How much of the seal a token carries, in bytes.
const SEAL_BYTES: usize = 16;

/// Seals and opens tokens.
#[derive(Debug, Clone)]
pub struct PageTokens(Arc<hmac::Key>);

impl PageTokens {
    /// With the deployment's key.
    pub fn read(env: &mut Env) -> Self {
        Self::with(&env.read(&settings::PAGE_TOKEN_KEY))
    }

    fn with(key: &str) -> Self {
        Self(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes())))
    }

    /// The token for a place of a caller's list.
    #[must_use]
    pub fn seal(&self, caller: &Caller, list: &List, place: &str) -> String {
        let mut token = self.seal_of(caller, list, place).to_vec();
        token.extend_from_slice(place.as_bytes());
        URL_SAFE_NO_PAD.encode(token)
    }

    /// The place that a token stands for.
    ///
    /// # Errors
    /// When no page of this list ended with it for this caller.
    pub fn open(&self, caller: &Caller, list: &List, token: &str) -> Result<String, Reply> {
        self.opened(caller, list, token).ok_or_else(|| {
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

    fn opened(&self, caller: &Caller, list: &List, token: &str) -> Option<String> {
        let token = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (seal, place) = token.split_at_checked(SEAL_BYTES)?;
        let place = std::str::from_utf8(place).ok()?;
        let ours = self.seal_of(caller, list, place);
        aws_lc_rs::constant_time::verify_slices_are_equal(&ours, seal).ok()?;
        Some(place.to_owned())
    }

    fn seal_of(&self, caller: &Caller, List(list): &List, place: &str) -> [u8; SEAL_BYTES] {
        let mut seal = hmac::Context::with_key(&self.0);
        // Each part with its length, so that no two lists come to the same bytes.
        for part in [caller.org.as_str(), caller.user.id.as_str(), list, place] {
            seal.update(&(part.len() as u64).to_be_bytes());
            seal.update(part.as_bytes());
        }
        let mut cut = [0; SEAL_BYTES];
        cut.iter_mut().zip(seal.sign().as_ref()).for_each(|(cut, byte)| *cut = *byte);
        cut
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
    fn a_token_is_good_for_its_caller_list_and_deployment_alone() {
        let (tokens, ada, list) = (PageTokens::with("k"), caller("acme", "ada"), List("/a?b=c".to_owned()));
        let token = tokens.seal(&ada, &list, "place");
        assert_eq!(tokens.opened(&ada, &list, &token).as_deref(), Some("place"));
        for (tokens, caller, list) in [
            (PageTokens::with("other"), ada.clone(), list.clone()),
            (tokens.clone(), caller("acme", "bob"), list.clone()),
            (tokens.clone(), caller("rival", "ada"), list.clone()),
            (tokens.clone(), caller("acmead", "a"), list.clone()),
            (tokens.clone(), ada.clone(), List("/a?b=d".to_owned())),
        ] {
            assert_eq!(tokens.opened(&caller, &list, &token), None);
        }
    }

    #[test]
    fn a_token_that_was_changed_anywhere_is_none() {
        let (tokens, ada, list) = (PageTokens::with("k"), caller("acme", "ada"), List("/a?".to_owned()));
        let token = tokens.seal(&ada, &list, "42");
        for place in 0..token.len() {
            for other in ['A', 'B', 'z', '-', '!'] {
                let changed: String = token
                    .chars()
                    .enumerate()
                    .map(|(at, char)| if at == place { other } else { char })
                    .collect();
                // The last character of base64 may hold bits that count for nothing; a decoder refuses those.
                assert!(changed == token || tokens.opened(&ada, &list, &changed).is_none(), "{changed}");
            }
        }
        for none in ["", "x", "42", "W10", &token[..20], &format!("{token}A")] {
            assert_eq!(tokens.opened(&ada, &list, none), None, "{none}");
        }
    }
}
