//! The provider's address and message about a failure, for the developer of a local cloud. A deployed function never shows
//! them, since a message may repeat the prompt (I14).

use reqwest::Url;

use crate::key::ApiKey;

/// The most characters of a message that are shown.
const MAX_CHARS: usize = 600;
/// The shortest part of a key that is recognized, in bytes. Shorter parts occur in ordinary words, which would be
/// redacted too.
const KEY_PART: usize = 8;
/// The start of the request that AWS repeats if a signature doesn't match. It includes the session token.
const REPEATED_REQUEST: &str = "The Canonical String";

/// Describes a failure: the address without its query, the status, and the message without the key.
#[must_use]
pub fn describe(url: &Url, status: Option<u16>, message: &str, key: &ApiKey) -> String {
    let address = format!("{}{}", url.origin().ascii_serialization(), url.path());
    let text = redact(message, key);
    match (status, text.is_empty()) {
        (Some(status), true) => format!("{address} answered {status}."),
        (Some(status), false) => format!("{address} answered {status}: {text}"),
        (None, _) => format!("{address}: {text}"),
    }
}

/// Returns the message on one line, without words that have a part of the key, masked keys included.
fn redact(message: &str, key: &ApiKey) -> String {
    // The rest may have secrets in encoded form, which the search below misses.
    let message = message.split(REPEATED_REQUEST).next().unwrap_or_default();
    let secrets = key.secrets();
    let has_part = |word: &str, secret: &str| {
        secret.as_bytes().windows(KEY_PART).any(|part| word.as_bytes().windows(KEY_PART).any(|it| it == part))
    };
    let is_secret = |word: &str| word.contains("**") || secrets.iter().any(|secret| has_part(word, secret));
    let words = message.split_whitespace().map(|word| if is_secret(word) { "…" } else { word });
    let text = words.collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use aws_credential_types::Credentials;

    use super::*;

    fn described(message: &str, key: &ApiKey) -> String {
        let url = "https://user:pass@h:1/v1/responses?api-key=marker".parse().unwrap();
        describe(&url, Some(400), message, key)
    }

    #[test]
    fn address_has_no_query_and_no_password() {
        let key = ApiKey::default();
        assert_eq!(
            described("Unsupported:\n  'x'", &key),
            "https://h:1/v1/responses answered 400: Unsupported: 'x'"
        );
        assert_eq!(described(" ", &key), "https://h:1/v1/responses answered 400.");
    }

    #[test]
    fn no_part_of_a_key_is_shown() {
        let key = ApiKey::new("sk-proj-marker0123456789");
        for message in [
            "Incorrect API key provided: sk-proj-marker0123456789.",
            "Incorrect API key provided: sk-proj-********6789.",
            "Incorrect API key provided: (marker0123)",
        ] {
            let shown = described(message, &key);
            assert!(shown.ends_with("provided: …"), "{shown}");
        }
        let credentials =
            Credentials::new("AKID", "marker-secret", Some("marker-token".to_owned()), None, "test");
        let message = "It does not match. The Canonical String is 'x-amz-security-token:marker-token'";
        assert!(described(message, &credentials.clone().into()).ends_with("It does not match."));
        assert!(described("token=marker-token", &credentials.into()).ends_with(": …"));
    }

    #[test]
    fn long_message_is_cut() {
        let shown = described(&"ü".repeat(MAX_CHARS + 1), &ApiKey::default());
        assert!(shown.ends_with("ü…") && shown.chars().count() < MAX_CHARS + 60);
    }
}
