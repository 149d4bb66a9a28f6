//! The query parameters of each route.

use std::fmt::Display;

use contracts::{
    Day, Timestamp,
    id::UserId,
    read::{TurnStatus, UsageGrouping},
    request::limits::{DEFAULT_PAGE_SIZE, MAX_CATEGORY_CHARS, MAX_MODE_CHARS, MAX_PAGE_SIZE, MAX_USAGE_DAYS},
};
use serde::{Deserialize, Deserializer, de::Error};
use turns::{
    flow::{PayloadMode, SessionFilter, TurnFilter},
    ports::{Order, TimeRange},
    text_search::SearchTerms,
};

/// The parameters of a session list.
#[derive(Debug, Deserialize)]
pub(crate) struct SessionsQuery {
    #[serde(with = "SessionParameters")]
    pub(crate) filter: SessionFilter,
    pub(crate) page: Page,
}

/// The parameters of a session search.
#[derive(Debug, Deserialize)]
pub(crate) struct SearchQuery {
    #[serde(deserialize_with = "search_terms")]
    pub(crate) q: SearchTerms,
    #[serde(with = "SessionParameters")]
    pub(crate) filter: SessionFilter,
    pub(crate) page: Page,
}

/// The parameters of an export of several sessions.
#[derive(Debug, Deserialize)]
pub(crate) struct ExportsQuery {
    #[serde(with = "PayloadsParameter")]
    pub(crate) payloads: PayloadMode,
    #[serde(with = "SessionParameters")]
    pub(crate) filter: SessionFilter,
    pub(crate) page: Page,
}

/// The parameters of a session export.
#[derive(Debug, Deserialize)]
pub(crate) struct ExportQuery {
    #[serde(with = "PayloadsParameter")]
    pub(crate) payloads: PayloadMode,
}

/// The parameters of a session with its turns.
#[derive(Debug, Deserialize)]
pub(crate) struct SessionQuery {
    #[serde(with = "OrderParameter")]
    pub(crate) order: Order,
    pub(crate) page: Page,
}

/// The parameters of a turn list.
#[derive(Debug, Deserialize)]
pub(crate) struct TurnsQuery {
    #[serde(with = "TurnParameters")]
    pub(crate) filter: TurnFilter,
    pub(crate) page: Page,
}

/// The parameters of the last turn: the status that it must have.
#[derive(Debug, Deserialize)]
pub(crate) struct LastTurnQuery {
    pub(crate) status: Option<TurnStatus>,
}

/// The parameters of a usage report.
#[derive(Debug, Deserialize)]
pub(crate) struct UsageParameters {
    pub(crate) by: UsageGrouping,
    #[serde(rename = "userId")]
    pub(crate) user: Option<UserId>,
    #[serde(rename = "to", deserialize_with = "usage_range")]
    pub(crate) ended: TimeRange,
}

/// The parameters of a report of budgets.
#[derive(Debug, Deserialize)]
pub(crate) struct BudgetUseParameters {
    #[serde(rename = "userId")]
    pub(crate) user: Option<UserId>,
}

/// The parameters of a payload.
#[derive(Debug, Deserialize)]
pub(crate) struct PayloadQuery {
    /// Set to return the payload itself instead of a link.
    pub(crate) inline: bool,
    /// The round of the turn.
    #[serde(deserialize_with = "round")]
    pub(crate) round: Option<u32>,
}

/// The parameters of a list of approvals.
#[derive(Debug, Deserialize)]
pub(crate) struct ApprovalsQuery {
    pub(crate) scope: ApprovalScope,
    pub(crate) page: Page,
}

/// The approvals of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApprovalScope {
    /// Those that the caller may answer.
    Mine,
    /// Those of the org.
    All,
}

/// A page of a list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Page {
    #[serde(deserialize_with = "page_size")]
    page_size: Option<u32>,
    continuation_token: Option<String>,
}

impl Page {
    pub(crate) fn size(&self) -> u32 {
        self.size_or(DEFAULT_PAGE_SIZE)
    }

    pub(crate) fn size_or(&self, default: u32) -> u32 {
        self.page_size.unwrap_or(default)
    }

    pub(crate) fn token(&self) -> Option<&str> {
        self.continuation_token.as_deref()
    }
}

/// The filter of sessions. A reversed time range is an error of `to`.
#[derive(Deserialize)]
#[serde(remote = "SessionFilter")]
struct SessionParameters {
    #[serde(rename = "userId")]
    user: Option<UserId>,
    status: Option<TurnStatus>,
    #[serde(deserialize_with = "mode")]
    mode: Option<String>,
    #[serde(deserialize_with = "category")]
    category: Option<String>,
    #[serde(rename = "includeDeleted")]
    with_deleted: bool,
    #[serde(rename = "to", deserialize_with = "time_range")]
    active: TimeRange,
}

/// The filter and order of turns. A reversed time range is an error of `to`.
#[derive(Deserialize)]
#[serde(remote = "TurnFilter")]
struct TurnParameters {
    #[serde(with = "OrderParameter")]
    order: Order,
    status: Option<TurnStatus>,
    #[serde(deserialize_with = "mode")]
    mode: Option<String>,
    #[serde(rename = "userId")]
    user: Option<UserId>,
    #[serde(rename = "to", deserialize_with = "time_range")]
    created: TimeRange,
}

#[derive(Deserialize)]
#[serde(remote = "Order")]
enum OrderParameter {
    #[serde(rename = "asc")]
    OldestFirst,
    #[serde(rename = "desc")]
    NewestFirst,
}

#[derive(Deserialize)]
#[serde(remote = "PayloadMode", rename_all = "lowercase")]
enum PayloadsParameter {
    Inline,
    Links,
}

fn time_range<'de, D: Deserializer<'de>>(from: D) -> Result<TimeRange, D::Error> {
    #[derive(Deserialize)]
    struct Bounds {
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    }
    let Bounds { from, to } = Bounds::deserialize(from)?;
    match from.zip(to) {
        Some((from, to)) if to < from => Err(D::Error::custom("must not come before from")),
        _ => Ok(TimeRange { from, to }),
    }
}

/// Reads a range of at most [`MAX_USAGE_DAYS`] days. A missing end is today's, which isn't known here.
fn usage_range<'de, D: Deserializer<'de>>(from: D) -> Result<TimeRange, D::Error> {
    let range = time_range(from)?;
    match range.from.zip(range.to) {
        Some((from, to)) if Day::from(from).until(to.into()) >= MAX_USAGE_DAYS => {
            Err(D::Error::custom(format!("must be within {MAX_USAGE_DAYS} days of from")))
        }
        _ => Ok(range),
    }
}

fn search_terms<'de, D: Deserializer<'de>>(from: D) -> Result<SearchTerms, D::Error> {
    SearchTerms::parse(&String::deserialize(from)?).map_err(D::Error::custom)
}

fn page_size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let rule = format!("must be a whole number from 1 to {MAX_PAGE_SIZE}");
    parse(from, |text| text.parse().ok().filter(|size| (1..=MAX_PAGE_SIZE).contains(size)), rule)
}

fn round<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let rule = "must be a whole number from 1 on";
    parse(from, |text| text.parse().ok().filter(|round| *round > 0), rule)
}

fn mode<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    short_text(from, MAX_MODE_CHARS)
}

fn category<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    short_text(from, MAX_CATEGORY_CHARS)
}

fn short_text<'de, D: Deserializer<'de>>(from: D, max_chars: usize) -> Result<Option<String>, D::Error> {
    let rule = format!("must have at most {max_chars} characters");
    parse(from, |text| Some(text).filter(|text| text.chars().count() <= max_chars), rule)
}

fn parse<'de, D: Deserializer<'de>, T>(
    from: D,
    parse: impl FnOnce(String) -> Option<T>,
    rule: impl Display,
) -> Result<Option<T>, D::Error> {
    let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
    parse(text).map(Some).ok_or_else(|| D::Error::custom(rule))
}

#[cfg(test)]
mod tests {
    use runtime::query::Query;
    use serde::de::DeserializeOwned;

    use super::*;

    fn parse<T: DeserializeOwned>(query: &str) -> Result<T, contracts::Error> {
        Query::from_uri(&format!("/x?{query}").parse().unwrap()).map(|Query(query)| query)
    }

    fn message<T: DeserializeOwned + std::fmt::Debug>(query: &str) -> String {
        parse::<T>(query).unwrap_err().message
    }

    #[test]
    fn parameter_values_are_validated() {
        assert_eq!(parse::<SessionsQuery>("pageSize=7").unwrap().page.size(), 7);
        assert_eq!(parse::<SessionsQuery>("pageSize=").unwrap().page.size(), DEFAULT_PAGE_SIZE);
        assert_eq!(parse::<LastTurnQuery>("status=failed").unwrap().status, Some(TurnStatus::Failed));
        assert!(parse::<SessionsQuery>("includeDeleted=true").unwrap().filter.with_deleted);
        assert!(!parse::<SessionsQuery>("includeDeleted=").unwrap().filter.with_deleted);
        assert_eq!(parse::<TurnsQuery>("order=desc").unwrap().filter.order, Order::NewestFirst);
        assert_eq!(parse::<TurnsQuery>("order=").unwrap().filter.order, Order::OldestFirst);
        assert_eq!(parse::<ExportQuery>("payloads=links").unwrap().payloads, PayloadMode::Links);
        assert_eq!(parse::<ExportQuery>("").unwrap().payloads, PayloadMode::Inline);
        let filter = parse::<SessionsQuery>("category=billing").unwrap().filter;
        assert_eq!(filter.category.as_deref(), Some("billing"));
        assert_eq!(parse::<SessionsQuery>("category=").unwrap().filter.category, None);
        let long = format!("mode={}", "x".repeat(MAX_MODE_CHARS + 1));
        let long_category = format!("category={}", "x".repeat(MAX_CATEGORY_CHARS + 1));
        for (invalid, message) in [
            ("userId=..", "userId is a reserved word."),
            ("status=done", "status must be one of pending, completed, failed."),
            ("from=yesterday", "from must be an ISO-8601 UTC timestamp such as 2026-01-31T23:59:59.000Z."),
            ("pageSize=abc", "pageSize must be a whole number from 1 to 100."),
            ("includeDeleted=yes", "includeDeleted must be true or false."),
            (&long, "mode must have at most 128 characters."),
            (&long_category, "category must have at most 128 characters."),
        ] {
            assert_eq!(self::message::<SessionsQuery>(invalid), message);
        }
        for invalid in ["0", "-1", "1.5", "101", "99999999999"] {
            assert!(parse::<Page>(&format!("pageSize={invalid}")).is_err(), "{invalid}");
        }
        assert_eq!(message::<TurnsQuery>("order=up"), "order must be one of asc, desc.");
        assert_eq!(message::<ExportQuery>("payloads=none"), "payloads must be one of inline, links.");
        assert_eq!(message::<PayloadQuery>("round=0"), "round must be a whole number from 1 on.");
        for without_word in ["", "q=", "q=!"] {
            let expected = "q must hold at least one word of letters or digits.";
            assert_eq!(message::<SearchQuery>(without_word), expected);
        }
    }

    #[test]
    fn reversed_time_range_is_rejected() {
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        let parse = |from, to| parse::<SessionsQuery>(&format!("from={from}&to={to}"));
        assert!(parse(early, late).is_ok() && parse(late, "").is_ok());
        let error = parse(late, early).unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.details.as_deref()),
            ("to must not come before from.", Some("to"))
        );
    }
}
