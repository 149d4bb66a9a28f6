//! Turns of a session from the second to the 500th, with a provider that stores the conversation and without. Both run
//! alternately, so that a slower machine affects both alike.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::failure::Failure;
use crate::metric::{Metric, count, millis, percentile};
use crate::shape::Shape;
use crate::system::System;

/// Numbers of the first turn of each measured block.
const BLOCKS: [usize; 4] = [2, 41, 91, 481];
/// Turns per block. CPU time has a resolution of 10 ms.
const TURNS_PER_BLOCK: usize = 20;
/// Who keeps the conversation, and the setting for it.
const KEEPERS: [(&str, Option<&str>); 2] =
    [("stored by the provider", None), ("replayed by the service", Some("local"))];

/// A session whose turns are measured.
struct GrowingSession {
    group: String,
    system: System,
    session: String,
    turns: usize,
    /// The metrics of the first block, to compare with.
    first: Vec<f64>,
}

impl GrowingSession {
    async fn start(program: &Path, number: usize, keeper: (&str, Option<&str>)) -> Result<Self, Failure> {
        let (name, state) = keeper;
        let state = state.map(|state| ("CONVERSATION_STATE".to_owned(), state.to_owned()));
        let environment: BTreeMap<String, String> = state.into_iter().collect();
        let system = System::with_environment(program, number, environment).await?;
        let session = system.client.session(Shape::Buffered).await?;
        let group = format!("turns of a session, history {name}");
        Ok(Self { group, system, session, turns: 1, first: Vec::new() })
    }

    /// Runs turns until the next one has this number.
    async fn skip_to(&mut self, number: usize) -> Result<(), Failure> {
        while self.turns + 1 < number {
            self.system.client.next_turn(&self.session).await?;
            self.turns += 1;
        }
        self.system.clear_model_requests();
        Ok(())
    }

    async fn measure_block(&mut self) -> Result<Vec<Metric>, Failure> {
        let (first, mut took, mut cpu) = (self.turns + 1, Vec::new(), Duration::ZERO);
        for _ in 0..TURNS_PER_BLOCK {
            let before = self.system.cpu();
            took.push(millis(self.system.client.next_turn(&self.session).await?));
            cpu += self.system.cpu().saturating_sub(before);
        }
        self.turns += TURNS_PER_BLOCK;
        took.sort_unstable_by(f64::total_cmp);
        let requests = self.system.cloud.model().map(|model| model.texts()).unwrap_or_default();
        let bytes: usize = requests.iter().map(String::len).sum();
        let rows = [
            ("p50", "ms", percentile(&took, 50)),
            ("CPU per turn, all functions", "ms", millis(cpu) / count(TURNS_PER_BLOCK)),
            ("bytes to the model per turn", "", count(bytes / TURNS_PER_BLOCK)),
        ];
        let turns = format!("{first} to {}", self.turns);
        let mut metrics: Vec<Metric> = rows
            .iter()
            .map(|(name, unit, value)| Metric::new(&self.group, &format!("{turns}: {name}"), unit, *value))
            .collect();
        if self.first.is_empty() {
            self.first = rows.iter().map(|(_, _, value)| *value).collect();
        } else {
            metrics.extend(rows.iter().zip(&self.first).map(|((name, _, value), first)| {
                Metric::new(&self.group, &format!("{turns}: {name}, relative"), "×", value / first)
            }));
        }
        Ok(metrics)
    }
}

pub(crate) async fn measure(
    program: &Path,
    number: usize,
    report: &impl Fn(&str),
) -> Result<Vec<Metric>, Failure> {
    let mut sessions = Vec::new();
    for (at, keeper) in KEEPERS.into_iter().enumerate() {
        sessions.push(GrowingSession::start(program, number * KEEPERS.len() + at, keeper).await?);
    }
    let mut metrics = Vec::new();
    for block in BLOCKS {
        report(&format!("turn {block} of a session"));
        for session in &mut sessions {
            session.skip_to(block).await?;
        }
        for session in &mut sessions {
            metrics.extend(session.measure_block().await?);
        }
    }
    for session in sessions {
        session.system.shutdown().await;
    }
    Ok(metrics)
}
