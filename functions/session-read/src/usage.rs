//! `GET /api/ai/agent/usage`: the usage of an org or a user, as JSON or CSV. `GET /api/ai/agent/budgets/use`: the
//! part of the budgets that is used.

use std::future::ready;

use axum::{
    body::Bytes,
    extract::State,
    response::{IntoResponse, Response},
};
use contracts::{
    Day, Error, ErrorCode,
    read::{UsageGroup, UsageReport},
    request::limits::MAX_USAGE_DAYS,
};
use futures::stream;
use http::HeaderMap;
use runtime::{AuthenticatedCaller, Reply, download::Download, negotiation::first_accepted, query::Query};
use turns::{
    flow::UsageQuery,
    ports::{Host, TimeRange},
    system::System,
};

use crate::{
    app::{App, error_reply},
    parameters::{BudgetUseParameters, UsageParameters},
};

/// The number of days of a report that names no first day.
const DEFAULT_DAYS: i64 = 30;

const COLUMNS: &str = "Key,Turns,CompletedTurns,ModelCalls,ModelMs,PromptTokens,CompletionTokens,TotalTokens,CachedTokens,\
                       CacheWriteTokens,ReasoningTokens,Costs,UnpricedTurns,EstimatedTokens\r\n";

pub(crate) async fn report(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    headers: HeaderMap,
    Query(UsageParameters { by, user, ended }): Query<UsageParameters>,
) -> Result<Response, Reply> {
    let (from, to) = days(&ended, System::new().now().into()).map_err(Reply::error)?;
    let query = UsageQuery { from, to, by, user };
    let report = app.reader.usage(&caller, &query).await.map_err(error_reply)?;
    if !wants_csv(&headers) {
        return Ok(Reply::ok(report).into_response());
    }
    let text = Ok::<_, std::convert::Infallible>(Bytes::from(csv(&report)));
    let pieces = stream::once(ready(text));
    Ok(Download { pieces, media_type: "text/csv; charset=utf-8", name: "usage.csv".to_owned() }
        .into_response())
}

pub(crate) async fn budget_use(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Query(BudgetUseParameters { user }): Query<BudgetUseParameters>,
) -> Result<Reply, Reply> {
    let report = app.reader.budget_use(&caller, user.as_ref(), System::new().now()).await;
    report.map(Reply::ok).map_err(error_reply)
}

/// Returns the first and the last day of a range, whose ends may be missing.
fn days(range: &TimeRange, today: Day) -> Result<(Day, Day), Error> {
    let to = range.to.map_or(today, Day::from);
    let from = range.from.map_or(to.plus(1 - DEFAULT_DAYS), Day::from);
    // Both ends were compared if both were given.
    match from.until(to) {
        0..MAX_USAGE_DAYS => Ok((from, to)),
        _ => {
            let rule = format!("from must be one of the last {MAX_USAGE_DAYS} days if to is left out.");
            Err(Error::new(ErrorCode::ParameterInvalid, rule).with_details("from"))
        }
    }
}

/// True if the client lists CSV, and lists it before JSON.
fn wants_csv(headers: &HeaderMap) -> bool {
    first_accepted(headers, &["text/csv", "application/json"]) == Some("text/csv")
}

/// Formats the groups of a report as CSV (RFC 4180).
fn csv(report: &UsageReport) -> String {
    report.groups.iter().fold(COLUMNS.to_owned(), |text, group| text + &line(group))
}

fn line(group: &UsageGroup) -> String {
    let usage = &group.usage;
    let optional = |tokens: Option<u64>| tokens.map(|tokens| tokens.to_string()).unwrap_or_default();
    let costs: Vec<String> =
        group.costs.iter().map(|cost| format!("{} {}", cost.amount, cost.currency)).collect();
    let mut fields = vec![quoted(group.key.as_deref().unwrap_or_default())];
    let counts = [group.turns, group.completed_turns, group.model_calls, group.model_ms];
    let tokens = [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens];
    fields.extend(counts.into_iter().chain(tokens).map(|count| count.to_string()));
    fields.extend([usage.cached_tokens, usage.cache_write_tokens, usage.reasoning_tokens].map(optional));
    fields.push(quoted(&costs.join("; ")));
    fields.push(group.unpriced_turns.to_string());
    fields.push(group.estimated_tokens.to_string());
    fields.join(",") + "\r\n"
}

/// The characters that begin a formula in a spreadsheet, or a command of its data exchange: in ASCII, in the full width
/// and in the small form, which some spreadsheets read as the same.
const FORMULA_STARTS: &str = "=+-@|＝＋－＠｜﹦﹢﹣﹫";

/// Quotes a field. A text that a spreadsheet would run as a formula gets an apostrophe in front, which spreadsheets hide.
/// So does a text that begins with neither a letter, a digit nor ASCII punctuation: spreadsheets may remove a blank or
/// an invisible character.
fn quoted(text: &str) -> String {
    let is_unsafe = |c: char| !c.is_alphanumeric() && !c.is_ascii_graphic() || FORMULA_STARTS.contains(c);
    let guard = if text.starts_with(is_unsafe) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use contracts::{Usage, read::Cost};

    use super::*;

    #[test]
    fn csv_quotes_keys_and_leaves_unknown_counts_empty() {
        let group = UsageGroup {
            key: Some("=a\"b,c".to_owned()),
            turns: 2,
            unpriced_turns: 1,
            model_ms: 7,
            estimated_tokens: 1,
            usage: Usage { total_tokens: 3, cached_tokens: Some(0), ..Usage::default() },
            costs: vec![Cost { amount: "0.5".to_owned(), currency: "EUR".to_owned() }],
            ..UsageGroup::default()
        };
        assert_eq!(line(&group), "\"'=a\"\"b,c\",2,0,0,7,0,0,3,0,,,\"0.5 EUR\",1,1\r\n");
    }

    #[test]
    fn csv_guards_whatever_a_spreadsheet_may_run() {
        for start in
            FORMULA_STARTS.chars().chain(" \t\r\n\u{0}\u{a0}\u{3000}\u{200b}\u{feff}\u{202e}".chars())
        {
            let text = format!("{start}cmd|' /C calc'!A0");
            assert_eq!(quoted(&text), format!("\"'{text}\""), "{start:?}");
        }
        for text in ["", "a=b", "ada@acme", "1", "gpt-5", "(none)", "'x", "组织", "_x", "é"] {
            assert_eq!(quoted(text), format!("\"{text}\""));
        }
    }

    #[test]
    fn missing_ends_of_a_range_are_filled() {
        let day = |text: &str| text.parse::<Day>().unwrap();
        let today = day("2026-03-31");
        let range = |from: Option<&str>, to: Option<&str>| TimeRange {
            from: from.map(|from| day(from).start()),
            to: to.map(|to| day(to).start()),
        };
        assert_eq!(days(&range(None, None), today).unwrap(), (day("2026-03-02"), today));
        assert_eq!(
            days(&range(None, Some("2026-01-31")), today).unwrap(),
            (day("2026-01-02"), day("2026-01-31"))
        );
        assert_eq!(days(&range(Some("2026-03-31"), None), today).unwrap(), (today, today));
        for from in ["2026-04-01", "2025-03-30"] {
            assert_eq!(days(&range(Some(from), None), today).unwrap_err().details.as_deref(), Some("from"));
        }
    }

    #[test]
    fn csv_is_sent_to_clients_that_prefer_it() {
        for (accept, wanted) in [("text/csv", true), ("application/json, text/csv", false), ("*/*", false)] {
            let headers = HeaderMap::from_iter([(http::header::ACCEPT, accept.parse().unwrap())]);
            assert_eq!(wants_csv(&headers), wanted, "{accept}");
        }
    }
}
