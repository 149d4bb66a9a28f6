//! What queries may say: the one place that reads them, for every route.
//!
//! Which members a request takes says the contract ([`paths::query`]). What is unknown or there twice is refused by
//! name before anything else is looked at; the values are parsed here into types that can't be wrong.

use std::{collections::BTreeSet, fmt::Display};

use axum::{
    extract::{FromRequestParts, MatchedPath, Query as Pairs, Request},
    middleware::Next,
    response::{IntoResponse, Response},
};
use contracts::{
    Error, ErrorCode, Timestamp,
    id::UserId,
    paths,
    read::TurnStatus,
    request::limits::{DEFAULT_PAGE_SIZE, MAX_MODE_CHARS, MAX_PAGE_SIZE},
};
use http::{Uri, request::Parts};
use percent_encoding::percent_decode_str;

use crate::Reply;

/// How much of a member's name is told back.
const MAX_TOLD_CHARS: usize = 64;

/// Refuses a query that holds what its method and path don't take.
pub async fn known(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    let takes = path.map(|path| paths::query(request.method().as_str(), path.as_str()));
    let faults = takes.map(|takes| faults(request.uri(), takes)).unwrap_or_default();
    match faults.is_empty() {
        true => next.run(request).await,
        false => Reply::errors(faults).into_response(),
    }
}

fn pairs(uri: &Uri) -> Vec<(String, String)> {
    // Any text is a list of pairs: what is malformed is taken as it is.
    Pairs::try_from_uri(uri).map(|Pairs(pairs)| pairs).unwrap_or_default()
}

fn faults(uri: &Uri, takes: &[&str]) -> Vec<Error> {
    let mut seen = BTreeSet::new();
    let fault = |(name, _): (String, String)| {
        let told: String = name.chars().filter(|char| !char.is_control()).take(MAX_TOLD_CHARS).collect();
        let unknown = !takes.contains(&name.as_str());
        let rule = match (unknown, takes) {
            (true, []) => "is no member of this request's query, which has none. Leave it out".to_owned(),
            (true, takes) => {
                format!("is no member of this request's query. It may hold {}", takes.join(", "))
            }
            (false, _) if !seen.insert(name) => "may be in the query only once".to_owned(),
            (false, _) => return None,
        };
        Some(invalid(&told, &rule))
    };
    pairs(uri).into_iter().filter_map(fault).collect()
}

fn invalid(name: &str, rule: &str) -> Error {
    Error::new(ErrorCode::ParameterInvalid, format!("{name} {rule}.")).with_details(name)
}

/// The members of a query, read one by one. An empty one counts as absent.
#[derive(Debug)]
pub struct Query {
    path: String,
    members: Vec<(String, String)>,
}

/// Which list is read: its path, and what it is narrowed by. Pages of different sizes are pages of one list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List(pub String);

impl List {
    /// The list of a path that is narrowed by nothing.
    #[must_use]
    pub fn whole(path: &str) -> Self {
        Self(format!("{path}?"))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Reply> {
        let path = percent_decode_str(parts.uri.path()).decode_utf8_lossy().into_owned();
        Ok(Self { path, members: pairs(&parts.uri) })
    }
}

/// Under which ids an import makes its sessions.
#[derive(Debug, Clone, Copy)]
pub struct ImportIds {
    /// New ones, and not their own.
    pub new: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for ImportIds {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Reply> {
        Ok(Self { new: Query::from_request_parts(parts, state).await?.new_ids()? })
    }
}

impl Query {
    fn member(&self, name: &str) -> Option<&str> {
        let found = self.members.iter().find(|(member, _)| member == name)?;
        Some(found.1.as_str()).filter(|value| !value.is_empty())
    }

    /// Which list this asks for a page of.
    #[must_use]
    pub fn list(&self) -> List {
        let narrows = |(name, value): &&(String, String)| {
            !value.is_empty() && !["pageSize", "continuationToken"].contains(&name.as_str())
        };
        let mut members: Vec<_> = self.members.iter().filter(narrows).collect();
        members.sort();
        // Lengths, so that no value can pass for another member.
        let members = members.iter().map(|(name, value)| format!("{name}={}:{value}", value.len()));
        List(format!("{}?{}", self.path, members.collect::<Vec<_>>().join("&")))
    }

    /// `status`.
    ///
    /// # Errors
    /// When there is no such status.
    pub fn status(&self) -> Result<Option<TurnStatus>, Reply> {
        self.word("status", TurnStatus::ALL.map(|status| (status.id(), status)))
    }

    /// `order`, oldest first where it is not said.
    ///
    /// # Errors
    /// When it is neither `asc` nor `desc`.
    pub fn newest_first(&self) -> Result<bool, Reply> {
        Ok(self.word("order", [("asc", false), ("desc", true)])?.unwrap_or_default())
    }

    fn word<T: Copy, const N: usize>(&self, name: &str, words: [(&str, T); N]) -> Result<Option<T>, Reply> {
        let Some(text) = self.member(name) else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, value)) => Ok(Some(*value)),
            None => {
                let rule = format!("must be one of {}", words.map(|(word, _)| word).join(", "));
                Err(Reply::error(invalid(name, &rule)))
            }
        }
    }

    /// `mode`.
    ///
    /// # Errors
    /// When it is longer than any mode's key.
    pub fn mode(&self) -> Result<Option<String>, Reply> {
        match self.member("mode") {
            Some(mode) if mode.chars().count() > MAX_MODE_CHARS => {
                let rule = format!("must have at most {MAX_MODE_CHARS} characters");
                Err(Reply::error(invalid("mode", &rule)))
            }
            mode => Ok(mode.map(str::to_owned)),
        }
    }

    /// `from` and `to`.
    ///
    /// # Errors
    /// When one is no instant, or the second comes before the first.
    pub fn from_to(&self) -> Result<(Option<Timestamp>, Option<Timestamp>), Reply> {
        let instant = |name: &str| {
            let parsed = self.member(name).map(str::parse::<Timestamp>).transpose();
            parsed.map_err(|rule| Reply::error(invalid(name, &rule.to_string())))
        };
        let (from, to) = (instant("from")?, instant("to")?);
        if from.zip(to).is_some_and(|(from, to)| to < from) {
            return Err(Reply::error(invalid("to", "must not come before from")));
        }
        Ok((from, to))
    }

    /// `userId`.
    ///
    /// # Errors
    /// When it can't be a user's id.
    pub fn user(&self) -> Result<Option<UserId>, Reply> {
        let user = self.member("userId").map(UserId::new).transpose();
        user.map_err(|fault| Reply::error(invalid("userId", &fault.to_string())))
    }

    /// `pageSize`, or how long a page is by default.
    ///
    /// # Errors
    /// When it is no number of items that a page may have.
    pub fn page_size(&self) -> Result<u32, Reply> {
        self.page_size_or(DEFAULT_PAGE_SIZE)
    }

    /// `pageSize`, or this.
    ///
    /// # Errors
    /// As [`Query::page_size`].
    pub fn page_size_or(&self, default: u32) -> Result<u32, Reply> {
        let Some(text) = self.member("pageSize") else { return Ok(default) };
        match text.parse() {
            Ok(size) if (1..=MAX_PAGE_SIZE).contains(&size) => Ok(size),
            _ => {
                let rule = format!("must be a whole number from 1 to {MAX_PAGE_SIZE}");
                Err(Reply::error(invalid("pageSize", &rule)))
            }
        }
    }

    /// `includeDeleted`, or false.
    ///
    /// # Errors
    /// When it is neither `true` nor `false`.
    pub fn include_deleted(&self) -> Result<bool, Reply> {
        self.flag("includeDeleted")
    }

    /// `inline`, or false.
    ///
    /// # Errors
    /// When it is neither `true` nor `false`.
    pub fn inline(&self) -> Result<bool, Reply> {
        self.flag("inline")
    }

    /// `payloads`: whether an export is to hold them as links.
    ///
    /// # Errors
    /// When it is neither `inline` nor `links`.
    pub fn links(&self) -> Result<bool, Reply> {
        Ok(self.word("payloads", [("inline", false), ("links", true)])?.unwrap_or_default())
    }

    /// `ids`: whether an import is to make new ones.
    ///
    /// # Errors
    /// When it is neither `keep` nor `new`.
    pub fn new_ids(&self) -> Result<bool, Reply> {
        Ok(self.word("ids", [("keep", false), ("new", true)])?.unwrap_or_default())
    }

    /// `round`.
    ///
    /// # Errors
    /// When it is no number from 1 on.
    pub fn round(&self) -> Result<Option<u32>, Reply> {
        let Some(text) = self.member("round") else { return Ok(None) };
        match text.parse() {
            Ok(round) if round > 0 => Ok(Some(round)),
            _ => Err(Reply::error(invalid("round", "must be a whole number from 1 on"))),
        }
    }

    /// `q`, as what it has to be.
    ///
    /// # Errors
    /// When it is not there, or is not what it has to be.
    pub fn asked_for<T, E: Display>(&self, parse: impl Fn(&str) -> Result<T, E>) -> Result<T, Reply> {
        parse(self.member("q").unwrap_or_default())
            .map_err(|rule| Reply::error(invalid("q", &rule.to_string())))
    }

    /// `purge`, or false.
    ///
    /// # Errors
    /// When it is neither `true` nor `false`.
    pub fn purge(&self) -> Result<bool, Reply> {
        self.flag("purge")
    }

    fn flag(&self, name: &str) -> Result<bool, Reply> {
        let flag = self.member(name).map_or(Ok(false), str::parse);
        flag.map_err(|_| Reply::error(invalid(name, "must be true or false")))
    }

    /// `continuationToken`.
    #[must_use]
    pub fn token(&self) -> Option<String> {
        self.member("continuationToken").map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(query: &str, takes: &[&str]) -> Vec<String> {
        let uri = format!("/x{query}").parse().unwrap();
        faults(&uri, takes).into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn what_a_path_does_not_take_is_refused_by_name() {
        assert!(told("", &[]).is_empty() && told("?", &[]).is_empty());
        assert!(told("?pageSize=2", &["pageSize"]).is_empty());
        assert_eq!(
            told("?banana=1&pageSize=2&PageSize=3", &["pageSize", "userId"]),
            [
                "banana is no member of this request's query. It may hold pageSize, userId.",
                "PageSize is no member of this request's query. It may hold pageSize, userId.",
            ]
        );
        assert_eq!(
            told("?b", &[]),
            ["b is no member of this request's query, which has none. Leave it out."]
        );
        assert_eq!(told("?a=1&a=1", &["a"]), ["a may be in the query only once."]);
        assert!(told(&format!("?{}=1", "x".repeat(5_000)), &[])[0].len() < 200);
    }

    #[test]
    fn values_are_what_they_must_be() {
        let of = |members: &[(&str, &str)]| Query {
            path: "/x".to_owned(),
            members: members.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        };
        let query = |name: &str, value: &str| of(&[(name, value)]);
        assert_eq!(query("pageSize", "7").page_size().unwrap(), 7);
        assert_eq!(query("pageSize", "").page_size().unwrap(), DEFAULT_PAGE_SIZE);
        for wrong in ["abc", "0", "-1", "1.5", "101", "99999999999"] {
            assert!(query("pageSize", wrong).page_size().is_err(), "{wrong}");
        }
        assert!(query("userId", "..").user().is_err());
        assert!(query("status", "done").status().is_err() && query("order", "up").newest_first().is_err());
        assert_eq!(query("status", "failed").status().unwrap(), Some(TurnStatus::Failed));
        assert!(query("from", "yesterday").from_to().is_err());
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        assert!(of(&[("from", early), ("to", late)]).from_to().is_ok());
        assert!(of(&[("from", late), ("to", early)]).from_to().is_err());
        let narrowed = of(&[("mode", "a"), ("userId", "b"), ("pageSize", "3")]).list();
        assert_eq!(narrowed, of(&[("continuationToken", "t"), ("userId", "b"), ("mode", "a")]).list());
        assert_ne!(narrowed, of(&[("mode", "a&userId=1:b")]).list());
        assert!(query("includeDeleted", "true").include_deleted().unwrap());
        assert!(!query("includeDeleted", "").include_deleted().unwrap());
        assert!(query("includeDeleted", "yes").include_deleted().is_err());
    }
}
