//! The receivers of webhooks, over the guard of connections, and the signatures of Standard Webhooks.

use std::time::Duration;

use aws_lc_rs::{hmac, rand};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use contracts::Timestamp;
use egress::{Bounds, Failure, Guard};
use http::{Method, Request, header};
use llm::retry::headers::retry_after;
use turns::ports::{Receivers, SigningSecrets, Unavailable, WebhookMessage, WebhookReply};

/// The prefix of a secret, as Standard Webhooks has it.
const SECRET_PREFIX: &str = "whsec_";
/// The random bytes of a secret.
const SECRET_BYTES: usize = 32;
/// The most bytes of a response. Its body is never used.
const MAX_RESPONSE_BYTES: usize = 256 * 1024;
/// The name of the sender, by which receivers recognize it in their logs.
const USER_AGENT: &str = "aptix-webhooks/1";

/// Sends events to receivers.
#[derive(Clone)]
pub struct WebhookClient {
    guard: Guard,
}

impl WebhookClient {
    pub(crate) fn new(guard: Guard) -> Self {
        Self { guard }
    }
}

impl Receivers for WebhookClient {
    async fn send(
        &self,
        message: WebhookMessage<'_>,
        timeout: Duration,
        may_send: &(dyn Fn() -> bool + Send + Sync),
    ) -> Result<WebhookReply, String> {
        let WebhookMessage { url, id, at, body, secrets } = message;
        let signature =
            signatures(secrets, id, at, body).ok_or("The secret of the webhook is unreadable.")?;
        let request = Request::builder()
            .method(Method::POST)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, USER_AGENT)
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds(at))
            .header("webhook-signature", signature)
            .body(Bytes::copy_from_slice(body.as_bytes()))
            .map_err(|_| "The event can't be sent as a request.")?;
        let bounds = Bounds { time: timeout, body_bytes: MAX_RESPONSE_BYTES };
        match self.guard.send(url, request, bounds, may_send).await {
            Ok(response) => Ok(WebhookReply {
                status: response.status.as_u16(),
                retry_after: retry_after(&response.headers),
            }),
            Err(Failure::NotAllowed) => Err("Another sender has taken over.".to_owned()),
            Err(failure) => Err(format!("No response: {failure}.")),
        }
    }

    fn new_secret(&self) -> Result<String, Unavailable> {
        let mut bytes = [0; SECRET_BYTES];
        rand::fill(&mut bytes)
            .map_err(|_| Unavailable { what: "random numbers", source: "the machine has none".into() })?;
        Ok(format!("{SECRET_PREFIX}{}", STANDARD.encode(bytes)))
    }
}

fn seconds(at: Timestamp) -> String {
    (at.as_millis() / 1_000).to_string()
}

/// Returns a signature for each secret that is valid now, separated by spaces. `None` if a secret is malformed.
fn signatures(secrets: &SigningSecrets, id: &str, at: Timestamp, body: &str) -> Option<String> {
    let signed = format!("{id}.{}.{body}", seconds(at));
    let sign = |secret: &str| {
        let key = STANDARD.decode(secret.strip_prefix(SECRET_PREFIX)?).ok()?;
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), signed.as_bytes());
        Some(format!("v1,{}", STANDARD.encode(tag)))
    };
    let signatures: Option<Vec<String>> = secrets.at(at).map(sign).collect();
    Some(signatures?.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification of Standard Webhooks.
    #[test]
    fn signature_is_that_of_the_published_example() {
        let secrets = SigningSecrets {
            current: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned(),
            created: Timestamp::from_millis(0),
            previous: None,
        };
        let at = Timestamp::from_millis(1_614_265_330_000);
        let signed = signatures(&secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, r#"{"test": 2432232314}"#);
        assert_eq!(signed.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn replaced_secret_signs_until_it_expires() {
        let secret = |text: &str| format!("whsec_{}", STANDARD.encode(text));
        let end = Timestamp::from_millis(10_000);
        let secrets = SigningSecrets {
            current: secret("new"),
            created: Timestamp::from_millis(0),
            previous: Some((secret("old"), end)),
        };
        let number = |at| signatures(&secrets, "m", at, "{}").unwrap().split(' ').count();
        assert_eq!((number(Timestamp::from_millis(9_999)), number(end)), (2, 1));
    }
}
