//! `aptix budgets`: the budgets of an org, and their use.

use clap::Subcommand;
use client::Request;
use contracts::{
    BudgetUse, BudgetUseReport, MeterUse, paths,
    request::{Budget, BudgetUnit, BudgetWindow},
};

use crate::api_args::AccessArgs;
use crate::documents_cli::{Single, run_single};
use crate::escape::escape_line;
use crate::failure::Failure;
use crate::output::aligned;

/// The parts of a unit of money in which limits are.
const MICROS: u64 = 1_000_000;

#[derive(Debug, Subcommand)]
pub(crate) enum Budgets {
    #[command(flatten)]
    Document(Single),
    /// Print the use of the org's budgets, or of your own budgets if you aren't an operator
    Use {
        /// Id of a user; another user's id requires the operator role
        #[arg(long, value_name = "ID")]
        user: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        access: AccessArgs,
    },
}

/// Runs the command, and returns its output.
pub(crate) async fn run(command: Budgets) -> Result<String, Failure> {
    match command {
        Budgets::Document(command) => run_single(paths::BUDGETS, command).await,
        Budgets::Use { user, json, access } => {
            let user: Vec<(&str, &str)> = user.iter().map(|user| ("userId", user.as_str())).collect();
            let request = Request::get(paths::BUDGET_USE).with_query(&user);
            let report = access.connect().await?.call(&request).await?;
            if json {
                return Ok(format!("{report:#}\n"));
            }
            Ok(table(&serde_json::from_value(report)?))
        }
    }
}

/// Formats a report for a terminal.
fn table(report: &BudgetUseReport) -> String {
    if report.budgets.is_empty() {
        return "No budget limits these turns.\n".to_owned();
    }
    let currency = report.currency.as_deref().unwrap_or_default();
    let mut rows =
        vec![["BUDGET", "WINDOW", "OF", "ENDS", "USED", "RESERVED", "LIMIT", "", ""].map(str::to_owned)];
    for used in &report.budgets {
        if used.meters.is_empty() {
            rows.push(row(used, "-".to_owned(), None, currency));
        }
        for meter in &used.meters {
            rows.push(row(used, subject(meter), Some(meter), currency));
        }
        if used.omitted_meters > 0 {
            rows.push(row(used, format!("and {} more", used.omitted_meters), None, currency));
        }
    }
    aligned(&rows, 4)
}

fn subject(meter: &MeterUse) -> String {
    meter.subject.as_deref().map_or_else(|| "org".to_owned(), escape_line)
}

/// Formats a meter of a budget. A budget without one has no figures.
fn row(used: &BudgetUse, subject: String, meter: Option<&MeterUse>, currency: &str) -> [String; 9] {
    let BudgetUse { budget, window_end_date, .. } = used;
    let figure = |value: Option<u64>| value.map(|value| amount(value, budget, currency)).unwrap_or_default();
    [
        escape_line(&budget.id),
        window(budget),
        subject,
        window_end_date.map(|end| end.to_string()).unwrap_or_default(),
        figure(meter.map(|meter| meter.used)),
        figure(meter.map(|meter| meter.reserved)),
        amount(budget.limit, budget, currency),
        meter.map(|meter| percentage(meter, budget)).unwrap_or_default(),
        unpriced(meter.and_then(|meter| meter.unpriced_turns).unwrap_or_default()),
    ]
}

/// Describes the turns that a budget of money doesn't count.
fn unpriced(turns: u64) -> String {
    match turns {
        0 => String::new(),
        1 => "1 turn unpriced".to_owned(),
        turns => format!("{turns} turns unpriced"),
    }
}

fn window(budget: &Budget) -> String {
    match budget.window {
        BudgetWindow::Concurrent => "at once".to_owned(),
        window => window.name().to_owned(),
    }
}

fn amount(value: u64, budget: &Budget, currency: &str) -> String {
    match budget.unit {
        BudgetUnit::Money => {
            let decimal = format!("{}.{:06}", value / MICROS, value % MICROS);
            format!("{} {currency}", decimal.trim_end_matches('0').trim_end_matches('.'))
        }
        unit => format!("{value} {}", unit.name()),
    }
}

/// Returns the share of the limit that is taken.
fn percentage(meter: &MeterUse, budget: &Budget) -> String {
    let taken = u128::from(meter.used) + u128::from(meter.reserved);
    format!("{} %", taken * 100 / u128::from(budget.limit.max(1)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn use_is_an_aligned_table_with_a_row_per_meter() {
        let report = json!({"Currency": "EUR", "Budgets": [
            {
                "Budget": {"Id": "monthly", "Scope": "org", "Window": "month", "Unit": "money", "Limit": 2_500_000},
                "WindowEndDate": "2026-02-01T00:00:00.000Z",
                "Meters": [{"Used": 1_250_000, "Reserved": 0, "UnpricedTurns": 2}], "OmittedMeters": 0,
            },
            {
                "Budget": {"Id": "daily", "Scope": "user", "Window": "day", "Unit": "tokens", "Limit": 100},
                "WindowEndDate": "2026-02-01T00:00:00.000Z",
                "Meters": [{"Subject": "ada\u{1b}[0m", "Used": 110, "Reserved": 1}], "OmittedMeters": 3,
            },
            {
                "Budget": {"Id": "loop", "Scope": "agent", "Window": "turn", "Unit": "tokens", "Limit": 9},
                "Meters": [], "OmittedMeters": 0,
            },
        ]});
        let text = table(&serde_json::from_value(report).unwrap());
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(!text.contains('\u{1b}'), "{text}");
        assert_eq!(lines[1][..3], ["monthly", "month", "org"]);
        assert_eq!(
            lines[1][4..],
            ["1.25", "EUR", "0", "EUR", "2.5", "EUR", "50", "%", "2", "turns", "unpriced"]
        );
        assert_eq!(lines[2][4..], ["110", "tokens", "1", "tokens", "100", "tokens", "111", "%"]);
        assert_eq!(lines[3][..5], ["daily", "day", "and", "3", "more"]);
        assert_eq!(lines[4], ["loop", "turn", "-", "9", "tokens"]);
    }
}
