//! The Lambda functions, as `template.yaml` declares them.

use std::time::Duration;

use contracts::operations;

/// One of the Lambda functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Function {
    /// Starts user turns and handles every other write.
    Execute,
    /// Continues a turn with tool results.
    ToolContinuation,
    /// Reads sessions, turns and payloads.
    SessionRead,
    /// Finalizes settled turns and sweeps.
    TurnFinalizer,
    /// Indexes documents for the agents of orgs.
    KnowledgeIndexer,
    /// Identifies the caller from the token of an OpenID Connect provider.
    Authorizer,
}

impl From<operations::Function> for Function {
    fn from(function: operations::Function) -> Self {
        match function {
            operations::Function::Execute => Self::Execute,
            operations::Function::ToolContinuation => Self::ToolContinuation,
            operations::Function::SessionRead => Self::SessionRead,
        }
    }
}

impl Function {
    /// Every function.
    pub const ALL: [Self; 6] = [
        Self::Execute,
        Self::ToolContinuation,
        Self::SessionRead,
        Self::TurnFinalizer,
        Self::KnowledgeIndexer,
        Self::Authorizer,
    ];

    /// Returns the function's name, which its package and its log share.
    pub fn name(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::ToolContinuation => "tool-continuation",
            Self::SessionRead => "session-read",
            Self::TurnFinalizer => "turn-finalizer",
            Self::KnowledgeIndexer => "knowledge-indexer",
            Self::Authorizer => "authorizer",
        }
    }

    /// Returns the name of its resource in `template.yaml`.
    pub(crate) fn resource(self) -> &'static str {
        match self {
            Self::Execute => "ExecuteFunction",
            Self::ToolContinuation => "ToolContinuationFunction",
            Self::SessionRead => "SessionReadFunction",
            Self::TurnFinalizer => "TurnFinalizerFunction",
            Self::KnowledgeIndexer => "KnowledgeIndexerFunction",
            Self::Authorizer => "AuthorizerFunction",
        }
    }

    /// Returns the access key that stands for its role, by which a service can identify the caller.
    pub(crate) fn access_key(self) -> String {
        format!("local-cloud-{}", self.name())
    }

    /// Returns the invocation timeout, after which the process is killed. That of the API functions is configurable.
    pub(crate) fn timeout(self, of_api: Option<Duration>) -> Duration {
        match self {
            Self::Execute | Self::ToolContinuation | Self::SessionRead => {
                of_api.unwrap_or(Duration::from_secs(840))
            }
            Self::TurnFinalizer => Duration::from_secs(60),
            Self::KnowledgeIndexer => Duration::from_secs(900),
            Self::Authorizer => Duration::from_secs(10),
        }
    }
}
