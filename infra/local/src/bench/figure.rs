//! Figures: what they are called, and how they are shown.

use std::fmt;

use serde_json::json;

/// One figure of one round.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) of: String,
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) value: f64,
}

impl Figure {
    pub(super) fn new(of: &str, name: &str, unit: &'static str, value: f64) -> Self {
        Self { of: of.to_owned(), name: name.to_owned(), unit, value }
    }
}

/// What was measured, in the order of its first figure: of each program the figures of all rounds.
#[derive(Debug, Default)]
pub struct Figures(Vec<Row>);

#[derive(Debug)]
struct Row {
    of: String,
    name: String,
    unit: &'static str,
    values: [Vec<f64>; 2],
}

impl Row {
    fn median(&self, program: usize) -> Option<f64> {
        let mut values = self.values.get(program)?.clone();
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len().checked_sub(1)? / 2).copied()
    }

    /// That of this program to that of the baseline.
    fn ratio(&self) -> Option<f64> {
        Some(self.median(0)? / self.median(1).filter(|baseline| *baseline != 0.0)?)
    }
}

impl Figures {
    /// Adds a round of a program: 0 is this one, 1 the baseline.
    pub(super) fn add(&mut self, program: usize, figures: Vec<Figure>) {
        for Figure { of, name, unit, value } in figures {
            let at = self.0.iter().position(|row| row.of == of && row.name == name);
            let at = at.unwrap_or_else(|| {
                self.0.push(Row { of, name, unit, values: Default::default() });
                self.0.len() - 1
            });
            if let Some(values) = self.0.get_mut(at).and_then(|row| row.values.get_mut(program)) {
                values.push(value);
            }
        }
    }

    /// A line of JSON for each figure: `of`, `name`, `unit`, `value`, and the baseline's value and the ratio, null where there
    /// is no baseline. `rounds` and `baselineRounds` have the values of every round.
    pub fn json_lines(&self) -> String {
        let line = |row: &Row| {
            let [rounds, baseline] = &row.values;
            let line = json!({"of": row.of, "name": row.name, "unit": row.unit, "value": row.median(0),
                              "rounds": rounds, "baseline": row.median(1), "baselineRounds": baseline,
                              "ratio": row.ratio()});
            format!("{line}\n")
        };
        self.0.iter().map(line).collect()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, first) in self.0.iter().enumerate() {
            if self.0.iter().take(at).any(|row| row.of == first.of) {
                continue;
            }
            writeln!(f, "\n{}", first.of)?;
            self.0.iter().filter(|row| row.of == first.of).try_for_each(|row| writeln!(f, "{row}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |program| self.median(program).map_or_else(|| "-".to_owned(), amount);
        write!(f, "  {:<44} {:>10} {:<8}", self.name, shown(0), self.unit)?;
        match self.ratio() {
            Some(ratio) => write!(f, " baseline {:>10}  × {ratio:.2}", shown(1)),
            None => Ok(()),
        }
    }
}

/// Three digits that count, and no more than it takes.
fn amount(value: f64) -> String {
    match value.abs() {
        whole if whole.fract() == 0.0 => format!("{value:.0}"),
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The value below which so many percent of the sorted ones are.
pub(super) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let at = sorted.len().saturating_sub(1) * percent / 100;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_median_of_the_rounds_is_shown_beside_that_of_the_baseline() {
        let mut figures = Figures::default();
        let round = |value| vec![Figure::new("a load", "CPU", "ms", value)];
        for value in [3.0, 1.0, 2.0] {
            figures.add(0, round(value));
        }
        figures.add(1, round(4.0));
        assert!(figures.to_string().contains("2 ms       baseline          4  × 0.50"), "{figures}");
        let line: Value = serde_json::from_str(&figures.json_lines()).unwrap();
        assert_eq!(line["rounds"], json!([3.0, 1.0, 2.0]));
        assert_eq!((&line["value"], &line["ratio"]), (&json!(2.0), &json!(0.5)));
    }

    #[test]
    fn a_percentile_is_a_value_that_was_seen() {
        let sorted: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!([0, 50, 99, 100].map(|percent| percentile(&sorted, percent)), [1.0, 50.0, 99.0, 100.0]);
        assert!(percentile(&[], 50).is_nan());
    }
}
