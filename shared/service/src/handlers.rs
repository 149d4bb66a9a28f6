//! What handlers of several functions share: errors, the kinds of contexts, and the context that a request names.

use std::sync::Arc;

use agent::context::{ContextId, ContextKind};
use axum::{
    Extension, Router,
    extract::{FromRef, FromRequestParts},
};
use contracts::operations::contexts::{self as kinds, ContextOperations};
use http::request::Parts;
use protocol::Caller;
use runtime::{AuthenticatedCaller, ClaimNames, Reply, path::ContextPath};
use turns::{flow::context_id, refusal::Refusal};

/// Returns the error reply of a refused request.
#[must_use]
pub fn error_reply(refusal: Refusal) -> Reply {
    Reply::errors_with_cause(&refusal, refusal.errors())
}

/// Adds the routes of each kind of context to a router. [`NamedContext`] reads the kind.
pub fn for_each_kind<S: Clone + Send + Sync + 'static>(
    router: Router<S>,
    routes: impl Fn(&'static ContextOperations) -> Router<S>,
) -> Router<S> {
    let kinds = [
        (&kinds::AGENTS, ContextKind::Agent),
        (&kinds::CONVERSATION_CONTEXTS, ContextKind::Conversation),
        (&kinds::MODES, ContextKind::Mode),
        (&kinds::CONNECTIONS, ContextKind::Connection),
        (&kinds::WEBHOOKS, ContextKind::Webhook),
    ];
    kinds
        .into_iter()
        .fold(router, |router, (operations, kind)| router.merge(routes(operations).layer(Extension(kind))))
}

/// The context that a path names, and the caller, who may edit contexts.
#[derive(Debug)]
pub struct NamedContext {
    /// The caller.
    pub caller: Caller,
    /// The id of the context.
    pub id: ContextId,
    /// The number of the version, not validated. Empty if the path has none.
    pub version: String,
}

impl<S> FromRequestParts<S> for NamedContext
where
    Arc<ClaimNames>: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let AuthenticatedCaller(caller) = AuthenticatedCaller::from_request_parts(parts, state).await?;
        let path = ContextPath::from_request_parts(parts, state).await?;
        let Extension(kind) = Extension::<ContextKind>::from_request_parts(parts, state)
            .await
            .map_err(|_| Reply::error(contracts::ErrorCode::RouteNotFound.into()))?;
        let id = context_id(&caller, kind, &path.id).map_err(error_reply)?;
        Ok(Self { caller, id, version: path.version })
    }
}
