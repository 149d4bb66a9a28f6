//! `aptix console upload`: writes the console of a stack to its bucket.

use clap::Args;
use deployment::browser::Provider;
use deployment::{Aws, Stack};
use local::console::{HostedPage, PageSignIn, hosted_files, upload};

use crate::failure::{Failure, InvalidOption};
use crate::output::print;
use crate::sign_in_cli::{ISSUER_SCOPE, IdentityProvider, POOL_SCOPE, provider_of};

#[derive(Debug, Args)]
pub(super) struct UploadArgs {
    /// Stack with `HostedConsole=true`; its outputs are read with your AWS credentials
    #[arg(long, value_name = "NAME")]
    stack: String,
    /// Public client that the page signs in with [default: the client of the stack's user pool]
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Scopes to request [default: `openid`, and `offline_access` except of a user pool]
    #[arg(long, value_name = "SCOPES")]
    scope: Option<String>,
}

/// Uploads the console of this program's version.
pub(super) async fn run(arguments: UploadArgs) -> Result<(), Failure> {
    let aws = Aws::load().await?;
    let stack = Stack::describe(&aws, &arguments.stack).await?;
    let hosted = stack.output("ConsoleBucketName").zip(stack.output("ConsoleUrl"));
    let (bucket, url) = hosted.ok_or_else(|| {
        let name = &stack.name;
        InvalidOption::new(format!("The stack {name:?} hosts no console. Deploy it with HostedConsole=true."))
    })?;
    let api_url = stack.require("ApiUrl")?;
    let api = api_url.parse().map_err(|_| InvalidOption::new(format!("ApiUrl {api_url:?} is no URL")))?;
    let sign_in = sign_in_of(&aws, &stack, arguments.client_id.as_deref(), arguments.scope, url).await?;
    let client = sign_in.client_id.clone();
    let is_registered = stack.output("UserPoolClientId") == Some(client.as_str());
    let files = hosted_files(&HostedPage { api, sign_in })?;
    upload(bucket, &files).await?;
    print(&format!("Uploaded {} files. The console is at {url}\n", files.len()))?;
    if !is_registered {
        print(&format!("Allow this URL as a redirect, and after sign-out, of the client {client}.\n"))?;
    }
    Ok(())
}

/// Returns the sign-in of the page, with the endpoints that the provider's discovery document names today.
async fn sign_in_of(
    aws: &Aws,
    stack: &Stack,
    client_id: Option<&str>,
    scope: Option<String>,
    redirect: &str,
) -> Result<PageSignIn, Failure> {
    let (provider, client_id, default_scope, is_pool) = match provider_of(aws, stack, client_id, redirect)? {
        IdentityProvider::Pool(pool) => {
            let provider = Provider::discover(&pool.discovery_url(), Some(&pool.issuer())).await?;
            (provider, pool.client_id().to_owned(), POOL_SCOPE, true)
        }
        IdentityProvider::Issuer { issuer, client_id, .. } => {
            (Provider::discover(&issuer, Some(&issuer)).await?, client_id, ISSUER_SCOPE, false)
        }
    };
    Ok(PageSignIn {
        provider: serde_json::to_value(provider)?,
        client_id,
        scope: scope.unwrap_or_else(|| default_scope.to_owned()),
        audiences: stack.token_audiences(),
        is_pool,
    })
}
