//! Reads query strings for every route.
//!
//! The contract lists the parameters of each route ([`paths::query_parameters`]). Unknown and repeated parameters are
//! rejected by name before anything else happens. The values are parsed here into types that are always valid.

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

/// The most characters of a parameter's name that an error repeats.
const MAX_NAME_CHARS: usize = 64;

/// Rejects a query with parameters that its method and path don't accept.
pub async fn reject_unknown_params(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    let takes = path.map(|path| paths::query_parameters(request.method().as_str(), path.as_str()));
    let faults = takes.map(|takes| faults(request.uri(), takes)).unwrap_or_default();
    match faults.is_empty() {
        true => next.run(request).await,
        false => Reply::errors(faults).into_response(),
    }
}

fn pairs(uri: &Uri) -> Vec<(String, String)> {
    // Any text is a list of pairs, so malformed pairs are taken as they are.
    Pairs::try_from_uri(uri).map(|Pairs(pairs)| pairs).unwrap_or_default()
}

fn faults(uri: &Uri, takes: &[&str]) -> Vec<Error> {
    let mut seen = BTreeSet::new();
    let fault = |(name, _): (String, String)| {
        let excerpt: String = name.chars().filter(|char| !char.is_control()).take(MAX_NAME_CHARS).collect();
        let unknown = !takes.contains(&name.as_str());
        let message = match (unknown, takes) {
            (true, []) => {
                format!("Unknown query parameter \"{excerpt}\". This request takes none. Leave it out.")
            }
            (true, takes) => {
                format!("Unknown query parameter \"{excerpt}\". This request takes {}.", takes.join(", "))
            }
            (false, _) if !seen.insert(name) => {
                format!("Query parameter \"{excerpt}\" may be given only once.")
            }
            (false, _) => return None,
        };
        Some(Error::new(ErrorCode::ParameterInvalid, message).with_details(&excerpt))
    };
    pairs(uri).into_iter().filter_map(fault).collect()
}

fn invalid(name: &str, rule: &str) -> Error {
    Error::new(ErrorCode::ParameterInvalid, format!("{name} {rule}.")).with_details(name)
}

/// The parameters of a query, read one by one. An empty one counts as absent.
#[derive(Debug)]
pub struct Query {
    path: String,
    members: Vec<(String, String)>,
}

/// The identity of a list: its path and its filters. Pages of different sizes belong to the same list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListScope(pub String);

impl ListScope {
    /// Returns the list at a path without filters.
    #[must_use]
    pub fn unfiltered(path: &str) -> Self {
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

/// The session ids that an import uses.
#[derive(Debug, Clone, Copy)]
pub struct ImportIds {
    /// True to create new ids instead of keeping the imported ones.
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

    /// Returns the list that this query asks for a page of.
    #[must_use]
    pub fn list(&self) -> ListScope {
        let narrows = |(name, value): &&(String, String)| {
            !value.is_empty() && !["pageSize", "continuationToken"].contains(&name.as_str())
        };
        let mut members: Vec<_> = self.members.iter().filter(narrows).collect();
        members.sort();
        // With lengths, so that no value can pass for another parameter.
        let members = members.iter().map(|(name, value)| format!("{name}={}:{value}", value.len()));
        ListScope(format!("{}?{}", self.path, members.collect::<Vec<_>>().join("&")))
    }

    /// Reads `status`.
    ///
    /// # Errors
    /// Fails if there is no such status.
    pub fn status(&self) -> Result<Option<TurnStatus>, Reply> {
        self.keyword("status", TurnStatus::ALL.map(|status| (status.id(), status)))
    }

    /// Reads `order`. The default is oldest first.
    ///
    /// # Errors
    /// Fails unless it is `asc` or `desc`.
    pub fn newest_first(&self) -> Result<bool, Reply> {
        Ok(self.keyword("order", [("asc", false), ("desc", true)])?.unwrap_or_default())
    }

    fn keyword<T: Copy, const N: usize>(
        &self,
        name: &str,
        words: [(&str, T); N],
    ) -> Result<Option<T>, Reply> {
        let Some(text) = self.member(name) else { return Ok(None) };
        match words.iter().find(|(keyword, _)| *keyword == text) {
            Some((_, value)) => Ok(Some(*value)),
            None => {
                let rule = format!("must be one of {}", words.map(|(keyword, _)| keyword).join(", "));
                Err(Reply::error(invalid(name, &rule)))
            }
        }
    }

    /// Reads `mode`.
    ///
    /// # Errors
    /// Fails if it is longer than any mode's key.
    pub fn mode(&self) -> Result<Option<String>, Reply> {
        match self.member("mode") {
            Some(mode) if mode.chars().count() > MAX_MODE_CHARS => {
                let rule = format!("must have at most {MAX_MODE_CHARS} characters");
                Err(Reply::error(invalid("mode", &rule)))
            }
            mode => Ok(mode.map(str::to_owned)),
        }
    }

    /// Reads `from` and `to`.
    ///
    /// # Errors
    /// Fails if one isn't a timestamp, or `to` precedes `from`.
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

    /// Reads `userId`.
    ///
    /// # Errors
    /// Fails if it isn't a valid user id.
    pub fn user(&self) -> Result<Option<UserId>, Reply> {
        let user = self.member("userId").map(UserId::new).transpose();
        user.map_err(|fault| Reply::error(invalid("userId", &fault.to_string())))
    }

    /// Reads `pageSize`, with the default of most lists.
    ///
    /// # Errors
    /// Fails if the size isn't allowed.
    pub fn page_size(&self) -> Result<u32, Reply> {
        self.page_size_or(DEFAULT_PAGE_SIZE)
    }

    /// Reads `pageSize`, with this default.
    ///
    /// # Errors
    /// See [`Query::page_size`].
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

    /// Reads `includeDeleted`. The default is false.
    ///
    /// # Errors
    /// Fails unless it is `true` or `false`.
    pub fn include_deleted(&self) -> Result<bool, Reply> {
        self.flag("includeDeleted")
    }

    /// Reads `inline`. The default is false.
    ///
    /// # Errors
    /// Fails unless it is `true` or `false`.
    pub fn inline(&self) -> Result<bool, Reply> {
        self.flag("inline")
    }

    /// Reads `payloads`. Returns true if an export contains links instead of the payloads.
    ///
    /// # Errors
    /// Fails unless it is `inline` or `links`.
    pub fn links(&self) -> Result<bool, Reply> {
        Ok(self.keyword("payloads", [("inline", false), ("links", true)])?.unwrap_or_default())
    }

    /// Reads `ids`. Returns true if an import creates new ids.
    ///
    /// # Errors
    /// Fails unless it is `keep` or `new`.
    pub fn new_ids(&self) -> Result<bool, Reply> {
        Ok(self.keyword("ids", [("keep", false), ("new", true)])?.unwrap_or_default())
    }

    /// Reads `round`.
    ///
    /// # Errors
    /// Fails unless it is a number from 1 on.
    pub fn round(&self) -> Result<Option<u32>, Reply> {
        let Some(text) = self.member("round") else { return Ok(None) };
        match text.parse() {
            Ok(round) if round > 0 => Ok(Some(round)),
            _ => Err(Reply::error(invalid("round", "must be a whole number from 1 on"))),
        }
    }

    /// Reads `q` and parses it.
    ///
    /// # Errors
    /// Fails if it is missing or invalid.
    pub fn search_query<T, E: Display>(&self, parse: impl Fn(&str) -> Result<T, E>) -> Result<T, Reply> {
        parse(self.member("q").unwrap_or_default())
            .map_err(|rule| Reply::error(invalid("q", &rule.to_string())))
    }

    /// Reads `purge`. The default is false.
    ///
    /// # Errors
    /// Fails unless it is `true` or `false`.
    pub fn purge(&self) -> Result<bool, Reply> {
        self.flag("purge")
    }

    fn flag(&self, name: &str) -> Result<bool, Reply> {
        let flag = self.member(name).map_or(Ok(false), str::parse);
        flag.map_err(|_| Reply::error(invalid(name, "must be true or false")))
    }

    /// Returns `continuationToken`.
    #[must_use]
    pub fn token(&self) -> Option<String> {
        self.member("continuationToken").map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(query: &str, takes: &[&str]) -> Vec<String> {
        let uri = format!("/x{query}").parse().unwrap();
        faults(&uri, takes).into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn unknown_parameter_is_rejected_by_name() {
        assert!(messages("", &[]).is_empty() && messages("?", &[]).is_empty());
        assert!(messages("?pageSize=2", &["pageSize"]).is_empty());
        assert_eq!(
            messages("?banana=1&pageSize=2&PageSize=3", &["pageSize", "userId"]),
            [
                "Unknown query parameter \"banana\". This request takes pageSize, userId.",
                "Unknown query parameter \"PageSize\". This request takes pageSize, userId.",
            ]
        );
        assert_eq!(
            messages("?b", &[]),
            ["Unknown query parameter \"b\". This request takes none. Leave it out."]
        );
        assert_eq!(messages("?a=1&a=1", &["a"]), ["Query parameter \"a\" may be given only once."]);
        assert!(messages(&format!("?{}=1", "x".repeat(5_000)), &[])[0].len() < 200);
    }

    #[test]
    fn parameter_values_are_validated() {
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
