//! Query parameters, parsed into validated types.

use axum::extract::FromRequestParts;
use contracts::{read::TurnStatus, request::limits::MAX_PAGE_SIZE};
use http::{HeaderMap, request::Parts};
use runtime::{
    IfNoneMatch, Reply,
    query::{ListScope, Query},
};
use turns::{
    flow::{PayloadMode, SessionFilter, TurnFilter},
    ports::{Order, TimeRange},
    text_search::SearchTerms,
};

/// A page of a list.
#[derive(Debug)]
pub(crate) struct PageRequest {
    pub(crate) list: ListScope,
    pub(crate) size: u32,
    pub(crate) token: Option<String>,
}

impl PageRequest {
    fn read(query: &Query) -> Result<Self, Reply> {
        Ok(Self { list: query.list(), size: query.page_size()?, token: query.token() })
    }
}

/// The parameters of a session list.
#[derive(Debug)]
pub(crate) struct SessionsQuery(pub(crate) SessionFilter, pub(crate) PageRequest);

/// The parameters of a session search.
#[derive(Debug)]
pub(crate) struct SearchQuery(pub(crate) SearchTerms, pub(crate) SessionFilter, pub(crate) PageRequest);

/// The parameters of a session export.
#[derive(Debug)]
pub(crate) struct ExportQuery(pub(crate) PayloadMode);

/// The parameters of an export of several sessions.
#[derive(Debug)]
pub(crate) struct ExportsQuery(pub(crate) PayloadMode, pub(crate) SessionFilter, pub(crate) PageRequest);

/// The parameters of a payload.
#[derive(Debug)]
pub(crate) struct PayloadQuery {
    /// Set to return the payload itself instead of a link.
    pub(crate) inline: bool,
    /// The round of the turn.
    pub(crate) round: Option<u32>,
    pub(crate) headers: HeaderMap,
    pub(crate) if_none_match: IfNoneMatch,
}

/// The parameters of a turn list.
#[derive(Debug)]
pub(crate) struct TurnsQuery(pub(crate) TurnFilter, pub(crate) PageRequest);

/// The parameters of a session with its turns.
#[derive(Debug)]
pub(crate) struct SessionQuery(pub(crate) Order, pub(crate) PageRequest);

/// The parameters of any other list.
#[derive(Debug)]
pub(crate) struct PageQuery(pub(crate) PageRequest);

/// The parameters of the last turn: the status that it must have.
#[derive(Debug)]
pub(crate) struct LastTurnQuery(pub(crate) Option<TurnStatus>);

fn time_range(query: &Query) -> Result<TimeRange, Reply> {
    query.from_to().map(|(from, to)| TimeRange { from, to })
}

fn order(query: &Query) -> Result<Order, Reply> {
    Ok(if query.newest_first()? { Order::NewestFirst } else { Order::OldestFirst })
}

impl<S: Send + Sync> FromRequestParts<S> for SessionsQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let query = Query::from_request_parts(parts, state).await?;
        Ok(Self(session_filter(&query)?, PageRequest::read(&query)?))
    }
}

fn session_filter(query: &Query) -> Result<SessionFilter, Reply> {
    Ok(SessionFilter {
        user: query.user()?,
        status: query.status()?,
        mode: query.mode()?,
        active: time_range(query)?,
        with_deleted: query.include_deleted()?,
    })
}

impl<S: Send + Sync> FromRequestParts<S> for SearchQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let query = Query::from_request_parts(parts, state).await?;
        Ok(Self(query.search_query(SearchTerms::parse)?, session_filter(&query)?, PageRequest::read(&query)?))
    }
}

fn values(query: &Query) -> Result<PayloadMode, Reply> {
    Ok(if query.links()? { PayloadMode::Links } else { PayloadMode::Inline })
}

impl<S: Send + Sync> FromRequestParts<S> for ExportQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        values(&Query::from_request_parts(parts, state).await?).map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ExportsQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let query = Query::from_request_parts(parts, state).await?;
        Ok(Self(values(&query)?, session_filter(&query)?, PageRequest::read(&query)?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PayloadQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let query = Query::from_request_parts(parts, state).await?;
        let (inline, round) = (query.inline()?, query.round()?);
        let Ok(if_none_match) = IfNoneMatch::from_request_parts(parts, state).await;
        Ok(Self { inline, round, headers: parts.headers.clone(), if_none_match })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for TurnsQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let query = Query::from_request_parts(parts, state).await?;
        let wanted = TurnFilter {
            order: order(&query)?,
            status: query.status()?,
            mode: query.mode()?,
            user: query.user()?,
            created: time_range(&query)?,
        };
        Ok(Self(wanted, PageRequest::read(&query)?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for SessionQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let query = Query::from_request_parts(parts, state).await?;
        let page = PageRequest {
            list: query.list(),
            size: query.page_size_or(MAX_PAGE_SIZE)?,
            token: query.token(),
        };
        Ok(Self(order(&query)?, page))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PageQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        PageRequest::read(&Query::from_request_parts(parts, state).await?).map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for LastTurnQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        Query::from_request_parts(parts, state).await?.status().map(Self)
    }
}
