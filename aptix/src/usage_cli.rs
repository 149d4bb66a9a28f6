//! `aptix usage`: reports what turns consumed.

use clap::{Args, ValueEnum};
use client::Request;
use contracts::{
    Day, paths,
    read::{Cost, ToolUsage, UsageGroup, UsageReport},
};

use crate::api_args::AccessArgs;
use crate::escape::escape_line;
use crate::failure::Failure;
use crate::output::{aligned, counted};

#[derive(Debug, Args)]
pub(crate) struct Usage {
    /// First day, in UTC [default: 29 days before the last one]
    #[arg(long, value_name = "DATE")]
    from: Option<Day>,
    /// Last day, in UTC [default: today]
    #[arg(long, value_name = "DATE")]
    to: Option<Day>,
    /// Property to group by
    #[arg(long, value_name = "PROPERTY", default_value = "day")]
    by: Grouping,
    /// Id of a user; others than your own need the operator role
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// Print CSV
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    access: AccessArgs,
}

/// A property of turns.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Grouping {
    Day,
    User,
    Agent,
    Model,
}

impl Grouping {
    fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::User => "user",
            Self::Agent => "agent",
            Self::Model => "model",
        }
    }
}

/// Returns the report as text.
pub(crate) async fn run(arguments: Usage) -> Result<String, Failure> {
    let Usage { from, to, by, user, csv, access } = arguments;
    let api = access.connect().await?;
    let start = |day: Option<Day>| day.map(|day| day.start().to_string());
    let parameters =
        [("by", Some(by.name().to_owned())), ("userId", user), ("from", start(from)), ("to", start(to))];
    let parameters: Vec<(&str, &str)> =
        parameters.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))).collect();
    let request = Request::get(paths::USAGE).with_query(&parameters);
    if csv {
        return Ok(api.fetch_text(&request, "text/csv").await?);
    }
    Ok(table(&serde_json::from_value(api.call(&request).await?)?))
}

/// Formats a report for a terminal.
fn table(report: &UsageReport) -> String {
    let key = |group: &UsageGroup| group.key.as_deref().map_or_else(|| "-".to_owned(), escape_line);
    let mut rows = vec![
        ["", "TURNS", "CALLS", "MODEL TIME", "INPUT", "OUTPUT", "TOTAL", "ESTIMATED", "COST", "UNPRICED"]
            .map(str::to_owned),
    ];
    rows.extend(report.groups.iter().map(|group| row(key(group), group)));
    if report.omitted_groups > 0 {
        rows.push(row(format!("and {} more", report.omitted_groups), &UsageGroup::default()));
    }
    rows.push(row("total".to_owned(), &report.total));
    let table = aligned(&rows, 1);
    format!("{} to {}, by {}\n{table}{}", report.from, report.to, grouping(report), tools(report))
}

/// Formats the calls of connections' tools. Empty without calls.
fn tools(report: &UsageReport) -> String {
    if report.tools.is_empty() {
        return String::new();
    }
    let mut rows = vec![["TOOL", "CALLS", "COST"].map(str::to_owned)];
    let row = |tool: &ToolUsage| [escape_line(&tool.tool), tool.calls.to_string(), costs(&tool.costs)];
    rows.extend(report.tools.iter().map(row));
    format!("\n{}", aligned(&rows, 1))
}

fn costs(costs: &[Cost]) -> String {
    let costs: Vec<String> = costs.iter().map(|cost| format!("{} {}", cost.amount, cost.currency)).collect();
    costs.join(", ")
}

fn grouping(report: &UsageReport) -> &'static str {
    report.by.name()
}

fn row(key: String, group: &UsageGroup) -> [String; 10] {
    let usage = &group.usage;
    // The mean of a turn.
    let model_ms = group.model_ms.checked_div(group.turns);
    [
        key,
        group.turns.to_string(),
        group.model_calls.to_string(),
        model_ms.map_or_else(|| "-".to_owned(), |millis| format!("{millis} ms")),
        usage.prompt_tokens.to_string(),
        usage.completion_tokens.to_string(),
        usage.total_tokens.to_string(),
        group.estimated_tokens.to_string(),
        costs(&group.costs),
        match group.unpriced_turns {
            0 => String::new(),
            turns => counted(turns, "turn"),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_is_an_aligned_table_with_a_total() {
        let group = |key: Option<&str>, turns: u64| UsageGroup {
            key: key.map(str::to_owned),
            turns,
            unpriced_turns: turns / 2,
            ..UsageGroup::default()
        };
        let day: Day = "2026-01-31".parse().unwrap();
        let report = UsageReport {
            from: day,
            to: day,
            by: contracts::read::UsageGrouping::Model,
            groups: vec![group(Some("a-model\u{1b}[0m"), 12), group(None, 1)],
            omitted_groups: 0,
            total: group(None, 13),
            tools: Vec::new(),
        };
        let text = table(&report);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "2026-01-31 to 2026-01-31, by model");
        assert!(!text.contains('\u{1b}') && lines[2].contains("     12"), "{text}");
        assert!(lines[2].ends_with("  6 turns") && lines[3].ends_with('0'), "{text}");
        assert!(lines[3].starts_with("- ") && lines[4].starts_with("total "), "{text}");
    }
}
