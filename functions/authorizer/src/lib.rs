//! The `authorizer` function: says who calls, from the token of any OpenID Connect provider.
//!
//! API Gateway asks it before a request reaches another function, where the stack's `AuthMode` is `oidc`, and keeps its
//! answer for as long as `template.yaml` says. It checks who signed a token, when and for whom, and hands on the claims
//! that the other functions read, as text. What they mean is decided there (`runtime::ClaimNames`).
//!
//! Deliberately absent: a rule about what a caller may do, and anything of sessions and turns.

mod app;
mod authorize;
mod keys;
mod mapping;
mod token;

use std::{process::ExitCode, sync::Arc};

use lambda_runtime::{Error, LambdaEvent, service_fn};

/// Serves invocations until the Lambda service ends the process. Why it could not, if it could not, is in the log.
pub fn run() -> ExitCode {
    runtime::run("authorizer", serve)
}

async fn serve() -> Result<(), Error> {
    let authorizer = Arc::new(app::start()?);
    let serve = service_fn(move |event: LambdaEvent<authorize::Asked>| {
        let authorizer = Arc::clone(&authorizer);
        async move { authorizer.answer(event.payload).await }
    });
    lambda_runtime::run(serve).await
}
