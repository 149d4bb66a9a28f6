//! What queries may say, parsed into types that can't be wrong.

use axum::extract::FromRequestParts;
use contracts::id::UserId;
use http::request::Parts;
use runtime::{Reply, query::Query};

/// Which page of the session list.
#[derive(Debug)]
pub(crate) struct ListQuery {
    pub(crate) user: Option<UserId>,
    pub(crate) page_size: u32,
    pub(crate) token: Option<String>,
}

/// Which page of another list.
#[derive(Debug)]
pub(crate) struct PageQuery {
    pub(crate) page_size: u32,
    pub(crate) token: Option<String>,
}

/// Where a session's turns go on.
#[derive(Debug)]
pub(crate) struct Continue(pub(crate) Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for ListQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let query = Query::from_request_parts(parts, state).await?;
        Ok(Self { user: query.user()?, page_size: query.page_size()?, token: query.token() })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PageQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let query = Query::from_request_parts(parts, state).await?;
        Ok(Self { page_size: query.page_size()?, token: query.token() })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Continue {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        Ok(Self(Query::from_request_parts(parts, state).await?.token()))
    }
}
