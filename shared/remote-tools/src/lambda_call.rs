//! A call of a Lambda function: one request of the API operation `Invoke`, signed with the deployment's credentials.
//!
//! The event is the arguments alone, so that a function needs nothing of ours. What else it may want to know is in the
//! client context, which Lambda hands to it. Deliberately absent: the AWS SDK, which would send a request again, and
//! asynchronous invocation, which Lambda itself repeats and which hands no client context over.

use std::time::Duration;

use agent::{
    connection::{ConnectionSecrets, ConnectionTarget, FunctionArn},
    tool::remote::{RemoteCall, RemoteOutcome},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use egress::Bounds;
use http::{HeaderValue, Request, header};
use percent_encoding::utf8_percent_encode;
use serde_json::{Value, json};
use url::Url;

use crate::{
    access::{Access, AwsCredentials},
    authentication, lambda_outcome,
    outcome::{self, Answer},
    request::{ENCODED, declared},
};

/// The most bytes of a response. A larger one isn't read to its end, so its outcome isn't known.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// The header with the client context.
const CLIENT_CONTEXT: &str = "x-amz-client-context";
/// The header with the kind of invocation.
const INVOCATION_TYPE: &str = "x-amz-invocation-type";

/// Invokes the function of a connection once, and waits for its result.
pub(crate) async fn call<S: ConnectionSecrets, C: AwsCredentials>(
    access: &Access<S, C>,
    target: &ConnectionTarget,
    call: RemoteCall<'_>,
    time: Duration,
    may_send: &(dyn Fn() -> bool + Send + Sync),
) -> Answer {
    let connection = call.tool.connection.as_str();
    let Some(arn) = target.function_arn.as_deref().and_then(|arn| access.function(arn)) else {
        return RemoteOutcome::NotSent(format!(
            "Nothing was sent: the deployment doesn't invoke the function of the connection {connection}. Ask an operator \
             to allow it."
        ))
        .into();
    };
    let signer =
        authentication::aws_signer(access, "lambda".to_owned(), arn.parts().region.clone(), connection);
    let signer = match signer.await {
        Ok(signer) => signer,
        Err(fault) => return RemoteOutcome::NotSent(fault.to_string()).into(),
    };
    let built = url(access.aws.lambda_url.as_ref(), arn).zip(request(target, call));
    let Some((url, mut request)) = built else { return outcome::unusable().into() };
    if signer.sign(&mut request, &url).is_err() {
        return outcome::unusable().into();
    }
    let bounds = Bounds { time, body_bytes: MAX_BODY_BYTES };
    let exchanged = access.lambda.send(url.as_str(), request, bounds, may_send).await;
    let is_outage = outcome::is_outage(&exchanged);
    Answer { outcome: lambda_outcome::of(exchanged, &target.name), is_outage }
}

/// Returns the URL of `Invoke`, which has the ARN with its version or alias as a single segment.
fn url(api: Option<&Url>, arn: &FunctionArn) -> Option<Url> {
    let api = api.map_or_else(|| format!("https://{}", arn.parts().api_host()), Url::to_string);
    let name = utf8_percent_encode(arn.as_str(), ENCODED);
    Url::parse(&format!("{}/2015-03-31/functions/{name}/invocations", api.trim_end_matches('/'))).ok()
}

fn request(target: &ConnectionTarget, call: RemoteCall<'_>) -> Option<Request<Bytes>> {
    let context = json!({ "custom": {
        "aptixTool": target.name, "aptixKey": call.key, "aptixOrg": call.org, "aptixUser": call.user,
    } });
    let context = HeaderValue::try_from(BASE64_STANDARD.encode(context.to_string())).ok()?;
    let event = Value::from(declared(&call.tool.definition, call.arguments));
    Request::post("/")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, "aptix")
        .header(INVOCATION_TYPE, "RequestResponse")
        .header(CLIENT_CONTEXT, context)
        .body(Bytes::from(event.to_string()))
        .ok()
}
