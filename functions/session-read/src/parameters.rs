//! What queries may say, parsed into types that can't be wrong.

use axum::extract::{FromRequestParts, Query, rejection::QueryRejection};
use contracts::{
    Error, ErrorCode,
    id::UserId,
    request::limits::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE},
};
use http::request::Parts;
use runtime::Reply;
use serde::Deserialize;

/// `?userId=&pageSize=&continuationToken=`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Raw {
    user_id: Option<String>,
    page_size: Option<String>,
    continuation_token: Option<String>,
}

/// Which page of the session list.
#[derive(Debug)]
pub(crate) struct ListQuery {
    pub(crate) user: Option<UserId>,
    pub(crate) page_size: u32,
    pub(crate) token: Option<String>,
}

/// Where a session's turns go on.
#[derive(Debug)]
pub(crate) struct Continue(pub(crate) Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for ListQuery {
    type Rejection = Reply;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let raw = raw(parts, state).await?;
        let user = raw.user_id.filter(|id| !id.is_empty()).map(UserId::new).transpose();
        Ok(Self {
            user: user.map_err(|fault| invalid("userId", &fault.to_string()))?,
            page_size: page_size(raw.page_size.as_deref())?,
            token: raw.continuation_token.filter(|token| !token.is_empty()),
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Continue {
    type Rejection = Reply;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        Ok(Self(raw(parts, state).await?.continuation_token.filter(|token| !token.is_empty())))
    }
}

async fn raw<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<Raw, Reply> {
    let query: Result<Query<Raw>, QueryRejection> = Query::from_request_parts(parts, state).await;
    query.map(|Query(raw)| raw).map_err(|_| {
        Reply::error(Error::new(
            ErrorCode::ParameterInvalid,
            "The query may hold userId, pageSize and continuationToken, each at most once.",
        ))
    })
}

fn page_size(text: Option<&str>) -> Result<u32, Reply> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(DEFAULT_PAGE_SIZE);
    };
    match text.parse() {
        Ok(size) if (1..=MAX_PAGE_SIZE).contains(&size) => Ok(size),
        _ => Err(invalid("pageSize", &format!("must be a whole number from 1 to {MAX_PAGE_SIZE}"))),
    }
}

fn invalid(name: &str, rule: &str) -> Reply {
    Reply::error(Error::new(ErrorCode::ParameterInvalid, format!("{name} {rule}.")).with_details(name))
}
