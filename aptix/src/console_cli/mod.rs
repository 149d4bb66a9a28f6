//! `aptix console`: serves the web console, prints the link to the console of a local cloud, or uploads a stack's console.

mod upload;

use clap::{Args, Subcommand};
use deployment::Store;

use crate::api_args::{self, ApiAccess, ApiToken, Target};
use crate::failure::{Failure, InvalidOption};
use crate::folder_args::FolderArgs;
use crate::output::print;
use crate::shutdown_signals::ShutdownSignals;
use crate::store_args;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Console {
    #[command(subcommand)]
    command: Option<ConsoleCommand>,
    /// URL of the API, from the stack output `ApiUrl` [default: print the link to a local cloud's console]
    #[arg(long, value_name = "URL")]
    api_url: Option<String>,
    /// Stack that you are signed in to
    #[arg(long, value_name = "NAME", conflicts_with = "api_url")]
    stack: Option<String>,
    /// A user token. Default: the token of `aptix sign-in`, or a token that the user types into the page. Read from the
    /// environment only, since others can see the command line.
    #[arg(skip = std::env::var("APTIX_TOKEN").ok())]
    token: Option<String>,
    /// Port of the console on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 9001)]
    port: u16,
    #[command(flatten)]
    folder: FolderArgs,
}

#[derive(Debug, Subcommand)]
enum ConsoleCommand {
    /// Upload the console to the bucket of a stack with `HostedConsole`, with your AWS credentials
    Upload(upload::UploadArgs),
}

pub(crate) async fn run(arguments: Console) -> Result<(), Failure> {
    let Console { command, api_url, stack, token, port, folder } = arguments;
    if let Some(ConsoleCommand::Upload(arguments)) = command {
        return upload::run(arguments).await;
    }
    let mut signals = ShutdownSignals::listen()?;
    let queues = stack.clone().map(store_args::queue_source);
    let Some((api_url, token)) = console_target(api_url, stack, token)? else {
        let cloud = folder.find()?;
        let key = local::data_folder::console_key(&cloud.data)?;
        return Ok(print(&format!("{}\n", local::console::page_url(&cloud.api_url, &key)))?);
    };
    let token = token.map(ApiToken::into_console);
    let server = match local::console::serve(&api_url, token, queues, port).await {
        Err(error @ local::console::Error::Url(_)) => return Err(InvalidOption::new(error).into()),
        served => served?,
    };
    let page = server.page_url();
    print(&format!("The console for {api_url} is running at {page}. Press Ctrl-C to stop it.\n"))?;
    signals.wait().await;
    Ok(())
}

/// Returns the URL of the API that a console is served for, with the caller's token, if any.
fn console_target(
    api_url: Option<String>,
    stack: Option<String>,
    token: Option<String>,
) -> Result<Option<(String, Option<ApiToken>)>, Failure> {
    let token = token.filter(|token| !token.is_empty());
    if api_url.as_deref().and_then(local::registry::at_url).is_some() && token.is_none() {
        return Ok(None);
    }
    let is_signed_in = match (&api_url, Store::open()) {
        (Some(url), Ok(store)) => store.find(url)?.is_some(),
        _ => false,
    };
    match api_url {
        // The user types the token into the page.
        Some(url) if token.is_none() && !is_signed_in => Ok(Some((url, None))),
        None if stack.is_none() => Ok(None),
        url => {
            let Target::Deployment(ApiAccess { url, token }) = api_args::resolve(url, stack, token)? else {
                return Ok(None);
            };
            Ok(Some((url, Some(token))))
        }
    }
}
