//! The `authorizer` function: authenticates callers by tokens of any OpenID Connect provider.
//!
//! If the stack's `AuthMode` is `oidc`, API Gateway calls it before a request reaches another function, and caches the
//! answer as configured in `template.yaml`. It verifies the signature, the validity period and the audience of a token,
//! and passes on the claims that the other functions read, as strings. Those functions interpret them
//! (`runtime::ClaimNames`). A token without an org gets the org of its client application, which the table stores. Where
//! callers are limited, the answer names the API key that the request counts against, also from the table.
//!
//! Permissions, sessions and turns are out of scope.

mod app;
mod authorize;
mod keys;
mod mapping;
mod table;
mod token;
mod usage;

use std::{process::ExitCode, sync::Arc};

use lambda_runtime::{Error, LambdaEvent, service_fn};

pub use token::is_issued_by_now;

/// Serves invocations until the Lambda service stops the process. Logs a failure to start.
pub fn run() -> ExitCode {
    runtime::run("authorizer", serve)
}

async fn serve() -> Result<(), Error> {
    let authorizer = Arc::new(app::start()?);
    let serve = service_fn(move |event: LambdaEvent<authorize::AuthorizerRequest>| {
        let authorizer = Arc::clone(&authorizer);
        async move { authorizer.answer(event.payload).await }
    });
    lambda_runtime::run(serve).await
}
