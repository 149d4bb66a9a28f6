//! The servers that a stack retrieves from: its vector database and its embedding provider, with their keys.

use deployment::doctor::read_secret;
use deployment::{Aws, Stack, Store};
use local::sources::Server;

use crate::failure::{Failure, InvalidOption};

/// Name of the claim with the org, unless a parameter of the stack names another one.
const ORG_CLAIM: &str = "custom:org";

/// The servers of a stack.
pub(crate) struct StackServers {
    pub(crate) qdrant: Server,
    pub(crate) provider: Server,
    pub(crate) collection: Option<String>,
    pub(crate) embedding_model: Option<String>,
    /// The org of the user who is signed in to the stack.
    pub(crate) org: Option<String>,
}

impl StackServers {
    /// Reads the servers from a stack's parameters, and their keys from its secrets.
    pub(crate) async fn read(name: &str) -> Result<Self, Failure> {
        let aws = Aws::load().await?;
        let stack = Stack::describe(&aws, name).await?;
        let parameter = |name: &str| stack.parameter(name).map(str::to_owned);
        let url = parameter("QdrantUrl").ok_or_else(|| {
            InvalidOption::new(format!(
                "The stack {name:?} has no vector database. Deploy it with QdrantUrl."
            ))
        })?;
        let qdrant = Server { url, key: secret(&aws, &stack, "QdrantApiKeySecretArn").await? };
        let provider = Server {
            url: parameter("OpenAiBaseUrl")
                .unwrap_or_else(|| settings::OPENAI_BASE_URL.presence.0.to_owned()),
            key: secret(&aws, &stack, "OpenAiApiKeySecretArn").await?,
        };
        let claim = stack.parameter("OrgClaim").unwrap_or(ORG_CLAIM);
        let sign_in = Store::open()?.find_stack(name)?;
        Ok(Self {
            qdrant,
            provider,
            collection: parameter("QdrantCollection"),
            embedding_model: parameter("EmbeddingModel"),
            org: sign_in.and_then(|sign_in| sign_in.claim(claim)),
        })
    }
}

/// Reads the secret that a parameter names, if it names one.
async fn secret(aws: &Aws, stack: &Stack, parameter: &str) -> Result<Option<String>, Failure> {
    let Some(arn) = stack.parameter(parameter) else { return Ok(None) };
    match read_secret(aws, parameter, arn).await {
        (_, Some(secret)) => Ok(Some(secret)),
        (finding, None) => Err(format!("The {}: {}", finding.subject, finding.text).into()),
    }
}
