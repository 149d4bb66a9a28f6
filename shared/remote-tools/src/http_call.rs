//! A call of an HTTP tool.

use std::time::Duration;

use agent::{
    connection::{ConnectionSecrets, ConnectionTarget},
    tool::remote::{EffectClass, RemoteCall, RemoteOutcome},
};
use bytes::Bytes;
use egress::{Bounds, Failure, Guard, Response};
use http::{Request, StatusCode};

use crate::{
    access::{Access, AwsCredentials, Principal},
    authentication,
    outcome::{self, Answer},
    request,
    secrecy::Secrecy,
};

/// The most bytes of a response. A larger one isn't read to its end, so its outcome isn't known.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Sends a call once. A read that is refused with 401 is sent again with the current secret, if it has changed.
pub(crate) async fn call<S: ConnectionSecrets, C: AwsCredentials>(
    access: &Access<S, C>,
    target: &ConnectionTarget,
    call: RemoteCall<'_>,
    timeout: Duration,
    may_send: &(dyn Fn() -> bool + Send + Sync),
) -> Answer {
    let (url, request) = match request::build(target, call) {
        Ok(built) => built,
        Err(fault) => return RemoteOutcome::NotSent(fault.to_string()).into(),
    };
    let guard = &access.guard;
    let checked = match guard.check(&url) {
        Ok(checked) => checked,
        Err(refusal) => return outcome::of(Err(refusal.into()), &target.name, &Secrecy::of(None)).into(),
    };
    let mut used: Option<String> = None;
    let principal = Principal { org: call.org, connection: call.tool.connection.as_str(), token: call.token };
    for is_current in [false, true] {
        let credential =
            match authentication::credential(access, &target.authentication, &checked, principal, is_current)
                .await
            {
                Ok(credential) => credential,
                Err(fault) => return RemoteOutcome::NotSent(fault.to_string()).into(),
            };
        let secret = credential.as_ref().and_then(|credential| credential.secret.clone());
        let secrecy = Secrecy::of(secret.as_deref());
        if is_current && secret == used {
            break;
        }
        let mut request = request.clone();
        if let Some(credential) = credential
            && credential.proof.add_to(&mut request, &checked).is_err()
        {
            return outcome::unusable().into();
        }
        let exchanged = send(guard, &url, request, timeout, may_send).await;
        let is_stale = matches!(&exchanged, Ok(response) if response.status == StatusCode::UNAUTHORIZED);
        let is_outage = outcome::is_outage(&exchanged);
        let answer = Answer { outcome: outcome::of(exchanged, &target.name, &secrecy), is_outage };
        let has_secret = target.authentication.needs_secret();
        if !is_stale || is_current || call.tool.class != EffectClass::Read || !has_secret {
            return answer;
        }
        used = secret;
    }
    RemoteOutcome::Refused(
        "The target refused the connection's secret. Ask an operator to set it again.".to_owned(),
    )
    .into()
}

async fn send(
    guard: &Guard,
    url: &str,
    request: Request<Bytes>,
    time: Duration,
    may_send: &(dyn Fn() -> bool + Send + Sync),
) -> Result<Response, Failure> {
    guard.send(url, request, Bounds { time, body_bytes: MAX_BODY_BYTES }, may_send).await
}
