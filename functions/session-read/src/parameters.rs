//! What queries may say, parsed into types that can't be wrong.

use axum::extract::FromRequestParts;
use contracts::{read::TurnStatus, request::limits::MAX_PAGE_SIZE};
use http::{HeaderMap, request::Parts};
use runtime::{
    IfNoneMatch, Reply,
    query::{List, Query},
};
use turns::{
    flow::{WantedSessions, WantedTurns, export::Values},
    ports::{Between, Order},
    words::Words,
};

/// Which page of which list.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) list: List,
    pub(crate) size: u32,
    pub(crate) token: Option<String>,
}

impl Page {
    fn read(query: &Query) -> Result<Self, Reply> {
        Ok(Self { list: query.list(), size: query.page_size()?, token: query.token() })
    }
}

/// Which sessions.
#[derive(Debug)]
pub(crate) struct SessionsQuery(pub(crate) WantedSessions, pub(crate) Page);

/// Which sessions that hold which words.
#[derive(Debug)]
pub(crate) struct SearchQuery(pub(crate) Words, pub(crate) WantedSessions, pub(crate) Page);

/// How a session is exported.
#[derive(Debug)]
pub(crate) struct ExportQuery(pub(crate) Values);

/// How which sessions are exported, and where that goes on.
#[derive(Debug)]
pub(crate) struct ExportsQuery(pub(crate) Values, pub(crate) WantedSessions, pub(crate) Page);

/// How a payload is wanted.
#[derive(Debug)]
pub(crate) struct How {
    /// In the answer itself.
    pub(crate) inline: bool,
    /// Of which of the turn's replies.
    pub(crate) round: Option<u32>,
    pub(crate) headers: HeaderMap,
    pub(crate) had: IfNoneMatch,
}

/// Which turns of a session.
#[derive(Debug)]
pub(crate) struct TurnsQuery(pub(crate) WantedTurns, pub(crate) Page);

/// Which of a session's turns are read with it.
#[derive(Debug)]
pub(crate) struct SessionQuery(pub(crate) Order, pub(crate) Page);

/// Which page of another list.
#[derive(Debug)]
pub(crate) struct PageQuery(pub(crate) Page);

/// Which turn counts as the last.
#[derive(Debug)]
pub(crate) struct LastQuery(pub(crate) Option<TurnStatus>);

fn between(query: &Query) -> Result<Between, Reply> {
    query.from_to().map(|(from, to)| Between { from, to })
}

fn order(query: &Query) -> Result<Order, Reply> {
    Ok(if query.newest_first()? { Order::NewestFirst } else { Order::OldestFirst })
}

impl<S: Send + Sync> FromRequestParts<S> for SessionsQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let query = Query::from_request_parts(parts, state).await?;
        Ok(Self(wanted(&query)?, Page::read(&query)?))
    }
}

fn wanted(query: &Query) -> Result<WantedSessions, Reply> {
    Ok(WantedSessions {
        user: query.user()?,
        status: query.status()?,
        mode: query.mode()?,
        active: between(query)?,
        with_deleted: query.include_deleted()?,
    })
}

impl<S: Send + Sync> FromRequestParts<S> for SearchQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let query = Query::from_request_parts(parts, state).await?;
        Ok(Self(query.asked_for(Words::parse)?, wanted(&query)?, Page::read(&query)?))
    }
}

fn values(query: &Query) -> Result<Values, Reply> {
    Ok(if query.links()? { Values::Links } else { Values::Inline })
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
        Ok(Self(values(&query)?, wanted(&query)?, Page::read(&query)?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for How {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let query = Query::from_request_parts(parts, state).await?;
        let (inline, round) = (query.inline()?, query.round()?);
        let Ok(had) = IfNoneMatch::from_request_parts(parts, state).await;
        Ok(Self { inline, round, headers: parts.headers.clone(), had })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for TurnsQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let query = Query::from_request_parts(parts, state).await?;
        let wanted = WantedTurns {
            order: order(&query)?,
            status: query.status()?,
            mode: query.mode()?,
            user: query.user()?,
            created: between(&query)?,
        };
        Ok(Self(wanted, Page::read(&query)?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for SessionQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        let query = Query::from_request_parts(parts, state).await?;
        let page =
            Page { list: query.list(), size: query.page_size_or(MAX_PAGE_SIZE)?, token: query.token() };
        Ok(Self(order(&query)?, page))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PageQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        Page::read(&Query::from_request_parts(parts, state).await?).map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for LastQuery {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        Query::from_request_parts(parts, state).await?.status().map(Self)
    }
}
