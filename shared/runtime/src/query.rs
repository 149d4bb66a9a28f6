//! What queries may say: the one place that reads them, for every route.
//!
//! Which members a path takes says the contract ([`paths::query`]). What is unknown or there twice is refused by
//! name before anything else is looked at; the values are parsed here into types that can't be wrong.

use std::collections::BTreeSet;

use axum::{
    extract::{FromRequestParts, MatchedPath, Query as Pairs, Request},
    middleware::Next,
    response::{IntoResponse, Response},
};
use contracts::{
    Error, ErrorCode,
    id::UserId,
    paths,
    request::limits::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE},
};
use http::{Uri, request::Parts};

use crate::Reply;

/// How much of a member's name is told back.
const MAX_TOLD_CHARS: usize = 64;

/// Refuses a query that holds what its path doesn't take.
pub async fn known(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    let faults = path.map(|path| faults(request.uri(), paths::query(path.as_str()))).unwrap_or_default();
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
            (true, []) => "is no member of this path's query, which has none. Leave it out".to_owned(),
            (true, takes) => format!("is no member of this path's query. It may hold {}", takes.join(", ")),
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
pub struct Query(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Reply;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Reply> {
        Ok(Self(pairs(&parts.uri)))
    }
}

impl Query {
    fn member(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(member, _)| member == name)?;
        Some(found.1.as_str()).filter(|value| !value.is_empty())
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
        let Some(text) = self.member("pageSize") else {
            return Ok(DEFAULT_PAGE_SIZE);
        };
        match text.parse() {
            Ok(size) if (1..=MAX_PAGE_SIZE).contains(&size) => Ok(size),
            _ => {
                let rule = format!("must be a whole number from 1 to {MAX_PAGE_SIZE}");
                Err(Reply::error(invalid("pageSize", &rule)))
            }
        }
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
                "banana is no member of this path's query. It may hold pageSize, userId.",
                "PageSize is no member of this path's query. It may hold pageSize, userId.",
            ]
        );
        assert_eq!(told("?b", &[]), ["b is no member of this path's query, which has none. Leave it out."]);
        assert_eq!(told("?a=1&a=1", &["a"]), ["a may be in the query only once."]);
        assert!(told(&format!("?{}=1", "x".repeat(5_000)), &[])[0].len() < 200);
    }

    #[test]
    fn values_are_what_they_must_be() {
        let query = |name: &str, value: &str| Query(vec![(name.to_owned(), value.to_owned())]);
        assert_eq!(query("pageSize", "7").page_size().unwrap(), 7);
        assert_eq!(query("pageSize", "").page_size().unwrap(), DEFAULT_PAGE_SIZE);
        for wrong in ["abc", "0", "-1", "1.5", "101", "99999999999"] {
            assert!(query("pageSize", wrong).page_size().is_err(), "{wrong}");
        }
        assert!(query("userId", "..").user().is_err());
    }
}
