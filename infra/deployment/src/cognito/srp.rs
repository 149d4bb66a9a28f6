//! Secure Remote Password (SRP-6a) as Cognito speaks it: the password is proven without being sent.
//!
//! The group is the 3072-bit one of RFC 5054 with generator 2. The big numbers are not computed in constant time, since they
//! never leave the user's own machine.

use aws_lc_rs::{digest, hmac, rand};
use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use num_bigint::BigUint;

/// The group's prime.
const PRIME: &str = concat!(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD",
    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED",
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F",
    "83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B",
    "E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510",
    "15728E5A8AAAC42DAD33170D04507A33A85521ABDF1CBA64ECFB850458DBEF0A8AEA71575D060C7DB3970F85A6E1E4C7",
    "ABF5AE8CDB0933D71E8C94E04A25619DCEE3D2261AD2EE6BF12FFA06D98A0864D87602733EC86A64521F2B18177B200C",
    "BBE117577A615D6C770988C0BAD946E208E24FA074E5AB3143DB5BFCE0FD108E4B82D120A93AD2CAFFFFFFFFFFFFFFFF",
);
/// The group's generator.
const GENERATOR: u32 = 2;
/// Length of the private value, in bytes. RFC 5054 asks for 256 bits at least.
const PRIVATE_BYTES: usize = 32;
/// Label of the key derivation.
const KEY_LABEL: &[u8] = b"Caldera Derived Key\x01";
/// Length of the derived key, in bytes.
const KEY_BYTES: usize = 16;

/// A challenge that no correct server sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Cognito sent an invalid SRP challenge")]
pub struct InvalidChallenge;

/// The private value of one sign-in.
pub(super) struct Exchange {
    private: BigUint,
    public: BigUint,
}

/// The challenge of the server, as it is on the wire.
pub(super) struct Challenge<'a> {
    /// The user's id in the pool, which the challenge names. It differs from the name that was typed.
    pub(super) user_id: &'a str,
    /// The salt, in hexadecimal digits.
    pub(super) salt: &'a str,
    /// The server's public value, in hexadecimal digits.
    pub(super) server_public: &'a str,
    /// Opaque data of the server, in Base64.
    pub(super) secret_block: &'a str,
}

impl Exchange {
    /// Starts an exchange with a random private value.
    pub(super) fn start() -> Result<Self, InvalidChallenge> {
        let mut bytes = [0; PRIVATE_BYTES];
        rand::fill(&mut bytes).map_err(|_| InvalidChallenge)?;
        Ok(Self::with_private(BigUint::from_bytes_be(&bytes)))
    }

    fn with_private(private: BigUint) -> Self {
        let public = BigUint::from(GENERATOR).modpow(&private, &prime());
        Self { private, public }
    }

    /// The public value, in hexadecimal digits.
    pub(super) fn public(&self) -> String {
        self.public.to_str_radix(16)
    }

    /// Proves the password. `pool` is the pool's id and `timestamp` the text that [`timestamp`] returns.
    pub(super) fn proof(
        &self,
        pool: &str,
        password: &str,
        challenge: &Challenge<'_>,
        timestamp: &str,
    ) -> Result<String, InvalidChallenge> {
        let pool_name = pool.split_once('_').map_or(pool, |(_, name)| name);
        let number = |text: &str| BigUint::parse_bytes(text.as_bytes(), 16).ok_or(InvalidChallenge);
        let secret_block = STANDARD.decode(challenge.secret_block).map_err(|_| InvalidChallenge)?;
        let (prime, zero) = (prime(), BigUint::ZERO);
        let server_public = number(challenge.server_public)? % &prime;
        let scramble = hash(&[&pad(&self.public), &pad(&number(challenge.server_public)?)]);
        if server_public == zero || scramble == zero {
            return Err(InvalidChallenge);
        }
        let credentials = format!("{pool_name}{}:{password}", challenge.user_id);
        let credentials = digest::digest(&digest::SHA256, credentials.as_bytes());
        let secret = hash(&[&pad(&number(challenge.salt)?), credentials.as_ref()]);
        let generator = BigUint::from(GENERATOR);
        let multiplier = hash(&[&pad(&prime), &pad(&generator)]);
        // (B - k·g^x)^(a + u·x), without a negative difference.
        let verifier = multiplier * generator.modpow(&secret, &prime) % &prime;
        let base = (server_public + &prime - verifier) % &prime;
        let shared = base.modpow(&(&self.private + &scramble * secret), &prime);

        let derived = authenticate(&pad(&scramble), &[&pad(&shared)]);
        let derived = authenticate(derived.as_ref(), &[KEY_LABEL]);
        let key = derived.as_ref().get(..KEY_BYTES).ok_or(InvalidChallenge)?;
        let message: [&[u8]; 4] =
            [pool_name.as_bytes(), challenge.user_id.as_bytes(), &secret_block, timestamp.as_bytes()];
        Ok(STANDARD.encode(authenticate(key, &message)))
    }
}

/// Formats a time as Cognito expects it in a proof, such as `Thu Nov 5 07:01:02 UTC 2026`.
pub(super) fn timestamp(now: Timestamp) -> String {
    now.strftime("%a %b %-d %H:%M:%S UTC %Y").to_string()
}

fn prime() -> BigUint {
    BigUint::parse_bytes(PRIME.as_bytes(), 16).unwrap_or_default()
}

/// Returns the big-endian bytes of a number, with a zero in front if the first bit is set.
fn pad(number: &BigUint) -> Vec<u8> {
    let mut bytes = number.to_bytes_be();
    if bytes.first().is_some_and(|first| first & 0x80 != 0) {
        bytes.insert(0, 0);
    }
    bytes
}

fn hash(parts: &[&[u8]]) -> BigUint {
    let mut context = digest::Context::new(&digest::SHA256);
    parts.iter().for_each(|part| context.update(part));
    BigUint::from_bytes_be(context.finish().as_ref())
}

fn authenticate(key: &[u8], parts: &[&[u8]]) -> hmac::Tag {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    parts.iter().for_each(|part| context.update(part));
    context.sign()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with an implementation in Python of the server's side, which verified it.
    #[test]
    fn proof_equals_that_of_another_implementation() {
        let exchange = Exchange::with_private(BigUint::from(0x1234_5678_9abc_def1_u64));
        assert!(exchange.public().starts_with("71571c4b9883a7e92bbbef44ba88dd48"), "{}", exchange.public());
        let challenge = Challenge {
            user_id: "ada-id",
            salt: "f1d2c3b4a5968778695a4b3c2d1e0f10",
            server_public: concat!(
                "7c428e835c14573c0f299792e5bc3e1261606f6a66811c7d39d94c5799a209cb376044d86823c82c5d73a0c9f593951f",
                "71f33d33c158abf62abfcdceff07743f88ec013b013051f0ddd0bb4e73023daf86f401a569384487d357b87591b5f05f",
                "0db9ad7a834dbf7f868e1ddae8d74d398a4fbfb9fc0ff6ee91203e1ddf7b9095ef31a3e1cf0b8cf6b4d1519f020c5c47",
                "ff17abce9281999169fa75a356b0a09cb24b9821a3410c3b0c6920d0bb31f48596608c2070a3151b6b28b40e24b16449",
                "a516b88cff7a62b55638a8de1ca49e3c872b622de39bb1729a2c4e67d95cacf8bdfa869e9b3b3bcfe93712edafe824ed",
                "3f5b968343a9d6481a1a138911220c58dd275ef95bf026ca0911c9c5e393989a5629b8edfe75199ddaea98cb228752a4",
                "b80c40cb1edff7ed7f0a15cb2cf339d01e16784fe820c96a5829b8eac904a679ded6bb1fd7682273e324a89378811dac",
                "1d40c86d8de5d060f395d65f1fbe5119a855454c65bbf35114e63c9b6d58126373f2e82a9870190ff333796042615f29",
            ),
            secret_block: "c2VjcmV0IGJsb2Nr",
        };
        let proof =
            exchange.proof("eu-west-1_Pool1", "Correct-Horse-7", &challenge, "Wed Nov 5 07:01:02 UTC 2026");
        assert_eq!(proof.unwrap(), "o3YWgYzNVyYp4g0yhXjuUoUvvVibtBTuieKJU6DmzlY=");
        let other =
            exchange.proof("eu-west-1_Pool1", "correct-horse-7", &challenge, "Wed Nov 5 07:01:02 UTC 2026");
        assert_ne!(other.unwrap(), "o3YWgYzNVyYp4g0yhXjuUoUvvVibtBTuieKJU6DmzlY=");
    }

    #[test]
    fn public_value_of_zero_is_refused() {
        let exchange = Exchange::start().unwrap();
        for server_public in ["0", PRIME, "no number"] {
            let challenge = Challenge { user_id: "ada", salt: "01", server_public, secret_block: "" };
            assert_eq!(
                exchange.proof("p_1", "password", &challenge, ""),
                Err(InvalidChallenge),
                "{server_public}"
            );
        }
    }

    #[test]
    fn timestamp_has_no_padded_day() {
        let at: Timestamp = "2026-11-05T07:01:02Z".parse().unwrap();
        assert_eq!(timestamp(at), "Thu Nov 5 07:01:02 UTC 2026");
    }
}
