//! What paths name, parsed into ids. A name that can't be an id is unknown: the same 404.

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
pub struct OfSession(pub SessionId);

/// `{SessionId}` and `{TurnId}`.
#[derive(Debug)]
pub struct OfTurn(pub SessionId, pub TurnId);

#[derive(Deserialize)]
struct Names {
    #[serde(rename = "SessionId")]
    session: String,
    #[serde(rename = "TurnId")]
    turn: Option<String>,
}

impl Names {
    async fn of<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let path = Path::<Self>::from_request_parts(parts, state).await;
        path.map(|Path(names)| names).map_err(|_| Reply::error(ErrorCode::SessionNotFound.into()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for OfSession {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let names = Names::of(parts, state).await?;
        let session =
            SessionId::new(names.session).map_err(|_| Reply::error(ErrorCode::SessionNotFound.into()))?;
        span::about_session(&session);
        Ok(Self(session))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for OfTurn {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let names = Names::of(parts, state).await?;
        let not_found = || Reply::error(ErrorCode::TurnNotFound.into());
        let session = SessionId::new(names.session).map_err(|_| not_found())?;
        let turn = names.turn.and_then(|turn| TurnId::new(turn).ok()).ok_or_else(not_found)?;
        span::about_turn(&session, &turn);
        Ok(Self(session, turn))
    }
}
