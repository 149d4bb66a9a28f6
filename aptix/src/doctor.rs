//! `aptix doctor`: diagnoses a deployment from outside, and says how to fix what it finds.

use std::process::ExitCode;

use clap::Args;
use client::Request;
use deployment::doctor::{
    Finding, Severity, check_alarms, check_concurrency, check_identity, check_stack, read_secret,
};
use deployment::{Aws, Stack, Store, TokenSource};
use llm::Wire;
use local::preflight::{self, Credential};
use local::sources::{Server, has_collection};

use crate::api_args::ApiToken;
use crate::failure::{Failure, with_sources};
use crate::output::print;

/// A request that every caller may send.
const CHEAP_READ: &str = "/api/ai/agent/sessions?pageSize=1";

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Stack to diagnose, with your AWS credentials
    #[arg(long, value_name = "NAME")]
    stack: String,
}

/// Prints each finding as it is made. Fails if requests to the deployment fail.
pub(crate) async fn run(arguments: Doctor) -> Result<ExitCode, Failure> {
    let aws = Aws::load().await?;
    let stack = Stack::describe(&aws, &arguments.stack).await?;
    let mut report = Report { has_failed: false };
    report.add(&check_stack(&stack))?;
    check_model(&aws, &stack, &mut report).await?;
    check_vectors(&aws, &stack, &mut report).await?;
    check_callers(&aws, &stack, &mut report).await?;
    report.add(&check_concurrency(&aws).await)?;
    for finding in check_alarms(&aws, &stack).await {
        report.add(&finding)?;
    }
    Ok(if report.has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The findings so far.
struct Report {
    has_failed: bool,
}

impl Report {
    fn add(&mut self, finding: &Finding) -> std::io::Result<()> {
        self.has_failed |= finding.severity == Severity::Failed;
        print(&format!("{finding}\n"))
    }
}

/// Checks the keys of the model providers, and the default provider with its key.
async fn check_model(aws: &Aws, stack: &Stack, report: &mut Report) -> std::io::Result<()> {
    const SUBJECT: &str = "model";
    const KEY: &str = "OpenAiApiKeySecretArn";
    let key = match stack.parameter(KEY) {
        Some(arn) => {
            let (finding, key) = read_secret(aws, KEY, arn).await;
            report.add(&finding)?;
            key
        }
        None => None,
    };
    for arn in stack.parameter("ProviderKeySecretArns").into_iter().flat_map(|arns| arns.split(',')) {
        let (finding, _) = read_secret(aws, "ProviderKeySecretArns", arn.trim()).await;
        report.add(&finding)?;
    }
    let Some(key) = key else {
        return report.add(&Finding::skipped(SUBJECT, "there is no key to try it with"));
    };
    let url = stack.parameter("OpenAiBaseUrl").unwrap_or(settings::OPENAI_BASE_URL.presence.0);
    let named = stack.parameter("ModelName");
    let model = named.unwrap_or(settings::OPENAI_MODEL.presence.0);
    let key = Credential::Key(key);
    report.add(&match preflight::check_provider(Wire::Responses, url, &key, model, named.is_some()).await {
        Ok(()) => Finding::ok(SUBJECT, format!("{url} accepts the key and knows {model}")),
        Err(preflight::Error::RejectedKey { status, code, .. }) => Finding::failed(
            SUBJECT,
            format!("{url} rejected the key ({status} {code}). Store a valid one in the secret of {KEY}."),
        ),
        Err(preflight::Error::UnknownModel { base_url, model, available }) => Finding::failed(
            SUBJECT,
            format!("{base_url} has no model {model:?}. Deploy with ModelName set to one of: {available}"),
        ),
        Err(preflight::Error::RejectedModel { model, .. }) => Finding::failed(
            SUBJECT,
            format!("{url} has no model {model:?}. Deploy with ModelName set to one that it has."),
        ),
        Err(preflight::Error::Unreachable(_)) => {
            Finding::failed(SUBJECT, format!("can't reach {url} from here. Check OpenAiBaseUrl."))
        }
        Err(preflight::Error::NoScheme(_) | preflight::Error::InvalidUrl(_)) => {
            Finding::failed(SUBJECT, format!("{url} is not an http or https URL. Check OpenAiBaseUrl."))
        }
        Err(error) => Finding::failed(SUBJECT, error.to_string()),
    })
}

/// Checks the vector database and its key.
async fn check_vectors(aws: &Aws, stack: &Stack, report: &mut Report) -> std::io::Result<()> {
    const SUBJECT: &str = "Qdrant";
    const KEY: &str = "QdrantApiKeySecretArn";
    let Some(url) = stack.parameter("QdrantUrl") else {
        return report.add(&Finding::ok(SUBJECT, "not used: QdrantUrl is empty"));
    };
    let mut key = None;
    if let Some(arn) = stack.parameter(KEY) {
        let (finding, secret) = read_secret(aws, KEY, arn).await;
        report.add(&finding)?;
        key = secret;
    }
    let collection = stack.parameter("QdrantCollection").unwrap_or("sources");
    let server = Server { url: url.to_owned(), key };
    report.add(&match has_collection(&server, collection).await {
        Ok(true) => Finding::ok(SUBJECT, format!("{url} has the collection {collection}")),
        Ok(false) => {
            let text = format!("{url} has no collection {collection} yet. Index sources with `aptix index`.");
            Finding::warning(SUBJECT, text)
        }
        Err(error) => {
            let error = with_sources(&error);
            Finding::failed(
                SUBJECT,
                format!("can't use {url} from here: {error}. Check QdrantUrl and {KEY}."),
            )
        }
    })
}

/// Checks issuer, audience and, with a sign-in, a request to the API.
async fn check_callers(aws: &Aws, stack: &Stack, report: &mut Report) -> Result<(), Failure> {
    const SUBJECT: &str = "API";
    let store = Store::open()?;
    let sign_in = store.find_stack(&stack.name)?;
    for finding in check_identity(aws, stack, sign_in.as_ref()).await {
        report.add(&finding)?;
    }
    let Some(sign_in) = sign_in else {
        let text = format!("you are not signed in. Run `aptix sign-in --stack {}`.", stack.name);
        report.add(&Finding::skipped(SUBJECT, text))?;
        return Ok(());
    };
    let url = sign_in.api_url.clone();
    let token = ApiToken::SignedIn(TokenSource::new(store, sign_in).into());
    let api = client::Api::new(&url, token.into_client())?;
    report.add(&match api.call(&Request::get(CHEAP_READ)).await {
        Ok(_) => Finding::ok(SUBJECT, format!("{url} answers your request")),
        Err(error) => Finding::failed(SUBJECT, with_sources(&error)),
    })?;
    Ok(())
}
