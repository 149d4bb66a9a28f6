//! Metrics of the benchmark and their formatting.

use std::fmt;
use std::time::Duration;

use serde_json::json;

/// A metric of one round.
#[derive(Debug)]
pub(crate) struct Metric {
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) value: f64,
    /// The largest ratio to the baseline that is aimed at.
    pub(crate) goal: Option<f64>,
}

impl Metric {
    pub(crate) fn new(group: &str, name: &str, unit: &'static str, value: f64) -> Self {
        Self { group: group.to_owned(), name: name.to_owned(), unit, value, goal: None }
    }

    /// Sets the largest ratio to the baseline that is aimed at.
    pub(crate) fn with_goal(self, ratio: f64) -> Self {
        Self { goal: Some(ratio), ..self }
    }
}

/// Results of the benchmark: the metrics of every round and program, in the order of their first occurrence.
#[derive(Debug, Default)]
pub struct Metrics(Vec<Row>);

#[derive(Debug)]
struct Row {
    group: String,
    name: String,
    unit: &'static str,
    goal: Option<f64>,
    values: [Vec<f64>; 2],
}

impl Row {
    fn median(&self, program: usize) -> Option<f64> {
        let mut values = self.values.get(program)?.clone();
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len().checked_sub(1)? / 2).copied()
    }

    /// Returns the ratio of this program's median to the baseline's.
    fn ratio(&self) -> Option<f64> {
        Some(self.median(0)? / self.median(1).filter(|baseline| *baseline != 0.0)?)
    }
}

impl Metrics {
    /// Adds a round of a program: 0 is this one, 1 the baseline.
    pub(crate) fn add(&mut self, program: usize, metrics: Vec<Metric>) {
        for Metric { group, name, unit, value, goal } in metrics {
            let at = self.0.iter().position(|row| row.group == group && row.name == name);
            let at = at.unwrap_or_else(|| {
                self.0.push(Row { group, name, unit, goal, values: Default::default() });
                self.0.len() - 1
            });
            if let Some(values) = self.0.get_mut(at).and_then(|row| row.values.get_mut(program)) {
                values.push(value);
            }
        }
    }

    /// Returns a line of JSON for each metric: `group`, `name`, `unit`, `value`, and `baseline`, `ratio` and `goal`, which
    /// are null without a baseline. `rounds` and `baselineRounds` hold the values of every round.
    pub fn json_lines(&self) -> String {
        let line = |row: &Row| {
            let [rounds, baseline] = &row.values;
            let line = json!({"group": row.group, "name": row.name, "unit": row.unit, "value": row.median(0),
                              "rounds": rounds, "baseline": row.median(1), "baselineRounds": baseline,
                              "ratio": row.ratio(), "goal": row.goal});
            format!("{line}\n")
        };
        self.0.iter().map(line).collect()
    }
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, first) in self.0.iter().enumerate() {
            if self.0.iter().take(at).any(|row| row.group == first.group) {
                continue;
            }
            writeln!(f, "\n{}", first.group)?;
            self.0.iter().filter(|row| row.group == first.group).try_for_each(|row| writeln!(f, "{row}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |program| self.median(program).map_or_else(|| "-".to_owned(), format_value);
        write!(f, "  {:<44} {:>10} {:<8}", self.name, text(0), self.unit)?;
        match (self.ratio(), self.goal) {
            (Some(ratio), Some(goal)) => {
                let verdict = if ratio <= goal { "met" } else { "missed" };
                write!(f, " baseline {:>10}  × {ratio:.2} (goal × {goal}: {verdict})", text(1))
            }
            (Some(ratio), None) => write!(f, " baseline {:>10}  × {ratio:.2}", text(1)),
            (None, _) => Ok(()),
        }
    }
}

/// Formats a value with about three significant digits.
fn format_value(value: f64) -> String {
    match value.abs() {
        integer if integer.fract() == 0.0 => format!("{value:.0}"),
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Returns the given percentile of sorted values.
pub(crate) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let at = sorted.len().saturating_sub(1) * percent / 100;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// Converts a duration to milliseconds.
pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Converts bytes to MiB.
pub(crate) fn mib(bytes: u64) -> f64 {
    count(usize::try_from(bytes >> 10).unwrap_or(usize::MAX)) / 1024.0
}

/// Converts a count to a float. No count comes near the precision limit.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn median_is_shown_next_to_baseline() {
        let mut metrics = Metrics::default();
        let round = |value| vec![Metric::new("a load", "CPU", "ms", value)];
        for value in [3.0, 1.0, 2.0] {
            metrics.add(0, round(value));
        }
        metrics.add(1, round(4.0));
        assert!(metrics.to_string().contains("2 ms       baseline          4  × 0.50"), "{metrics}");
        let line: Value = serde_json::from_str(&metrics.json_lines()).unwrap();
        assert_eq!(line["rounds"], json!([3.0, 1.0, 2.0]));
        assert_eq!((&line["value"], &line["ratio"]), (&json!(2.0), &json!(0.5)));
    }

    #[test]
    fn goal_is_shown_with_its_verdict() {
        let mut metrics = Metrics::default();
        let round = |value| vec![Metric::new("a load", "CPU", "ms", value).with_goal(1.5)];
        metrics.add(0, round(6.0));
        metrics.add(1, round(3.0));
        assert!(metrics.to_string().ends_with("× 2.00 (goal × 1.5: missed)\n"), "{metrics}");
        metrics.add(1, round(4.0));
        metrics.add(1, round(4.0));
        assert!(metrics.to_string().ends_with("× 1.50 (goal × 1.5: met)\n"), "{metrics}");
    }

    #[test]
    fn percentile_is_an_observed_value() {
        let sorted: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!([0, 50, 99, 100].map(|percent| percentile(&sorted, percent)), [1.0, 50.0, 99.0, 100.0]);
        assert!(percentile(&[], 50).is_nan());
    }
}
