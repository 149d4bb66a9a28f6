//! Path parameters, parsed into ids. An invalid id gets the same 404 as an unknown one.

use axum::extract::{FromRequestParts, Path};
use contracts::{
    ErrorCode,
    id::{SessionId, TurnId},
};
use http::request::Parts;
use serde::Deserialize;

use crate::{Reply, span};

/// `{SessionId}`.
#[derive(Debug)]
pub struct SessionPath(pub SessionId);

/// `{SessionId}` and `{TurnId}`.
#[derive(Debug)]
pub struct TurnPath(pub SessionId, pub TurnId);

/// `{ContextId}` and, if the path has one, `{Version}`, as text.
#[derive(Debug, Deserialize)]
pub struct ContextPath {
    /// The id of the context, not validated.
    #[serde(rename = "ContextId", alias = "ModeKey")]
    pub id: String,
    /// The number of the version, not validated.
    #[serde(rename = "Version", default)]
    pub version: String,
}

/// `{KnowledgeId}`, as text.
#[derive(Debug, Deserialize)]
pub struct KnowledgePath {
    /// The id of the document, not validated.
    #[serde(rename = "KnowledgeId")]
    pub id: String,
}

/// `{ApprovalId}`, as text.
#[derive(Debug, Deserialize)]
pub struct ApprovalPath {
    /// The id of the approval, not validated.
    #[serde(rename = "ApprovalId")]
    pub id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for ApprovalPath {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let path = Path::<Self>::from_request_parts(parts, state).await;
        path.map(|Path(ids)| ids).map_err(|_| Reply::error(ErrorCode::ApprovalNotFound.into()))
    }
}

#[derive(Deserialize)]
struct PathIds {
    #[serde(rename = "SessionId")]
    session: String,
    #[serde(rename = "TurnId")]
    turn: Option<String>,
}

impl PathIds {
    async fn extract<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let path = Path::<Self>::from_request_parts(parts, state).await;
        path.map(|Path(ids)| ids).map_err(|_| Reply::error(ErrorCode::SessionNotFound.into()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for SessionPath {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let ids = PathIds::extract(parts, state).await?;
        let session =
            SessionId::new(ids.session).map_err(|_| Reply::error(ErrorCode::SessionNotFound.into()))?;
        span::record_session(&session);
        Ok(Self(session))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ContextPath {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let path = Path::<Self>::from_request_parts(parts, state).await;
        path.map(|Path(ids)| ids).map_err(|_| Reply::error(ErrorCode::RouteNotFound.into()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for KnowledgePath {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let path = Path::<Self>::from_request_parts(parts, state).await;
        path.map(|Path(ids)| ids).map_err(|_| Reply::error(ErrorCode::KnowledgeNotFound.into()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for TurnPath {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let ids = PathIds::extract(parts, state).await?;
        let not_found = || Reply::error(ErrorCode::TurnNotFound.into());
        let session = SessionId::new(ids.session).map_err(|_| not_found())?;
        let turn = ids.turn.and_then(|turn| TurnId::new(turn).ok()).ok_or_else(not_found)?;
        span::record_turn(&session, &turn);
        Ok(Self(session, turn))
    }
}
