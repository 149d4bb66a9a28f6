//! The benchmark: its options, its parts and their rounds.
//!
//! A client, the gateway, the services and the mock model are in this process. The functions are separate processes,
//! and the operating system reports their resource usage. With a baseline program, both are measured alternately, so
//! that a busy machine affects both alike.
//!
//! An *ordinary turn* is the second or a later turn of a session whose previous turn is finalized. It has 2 KB of
//! input, and 2 KB of output in 300 deltas.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::Failure;
use crate::load::Load;
use crate::metric::Metrics;
use crate::shape::Shape;
use crate::soak::{self, SoakOptions};
use crate::system::System;
use crate::{deployed, first_token, floor, fronts, history_growth, load, scaling, start, turn_calls};

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Turns under several loads: latency, CPU and memory.
    Turns,
    /// AWS calls of a turn and their cost.
    Calls,
    /// Time from the start of a function's process to its first poll, and to its first request to a model.
    Start,
    /// Late turns compared with early ones, and lists and reads over much data compared with little. Takes minutes.
    Scaling,
    /// Turns 2 to 500 of a session whose history the provider stores, and of one whose history the service replays. Takes
    /// minutes.
    History,
    /// Turns compared with the floor: a program that makes their calls and nothing else.
    Floor,
    /// Turns over the APIs of other vendors compared with turns over our own, turn by turn.
    Fronts,
    /// Time from a request's arrival at `execute` until the model has the turn's request.
    FirstToken,
    /// Many turns in few processes, whose memory must not grow.
    Soak,
}

/// Options of the benchmark.
#[derive(Debug, Clone)]
pub struct Options {
    /// Parts to run.
    pub parts: Vec<Part>,
    /// Turns per load and round; loads with model latency run a tenth of them. All turns of a soak.
    pub turns: usize,
    /// Number of rounds; the median is reported.
    pub rounds: usize,
    /// Program whose functions are measured.
    pub program: PathBuf,
    /// Another build of the program, as a baseline.
    pub baseline: Option<PathBuf>,
    /// Program of the floor (`infra/bench/floor`).
    pub floor: PathBuf,
    /// Options of the soak.
    pub soak: SoakOptions,
    /// Folder with the functions' own executables, in the layout of `cargo lambda`.
    pub functions: Option<PathBuf>,
}

/// Loads under which turns are measured.
const LOADS: [Load; 7] = [
    Load { shape: Shape::Buffered, concurrency: 1, model: Duration::ZERO },
    Load { shape: Shape::Streamed, concurrency: 1, model: Duration::ZERO },
    Load { shape: Shape::ToolRound, concurrency: 1, model: Duration::ZERO },
    Load { shape: Shape::Buffered, concurrency: 16, model: Duration::ZERO },
    Load { shape: Shape::Streamed, concurrency: 16, model: Duration::ZERO },
    Load { shape: Shape::Buffered, concurrency: 1, model: Duration::from_millis(500) },
    Load { shape: Shape::Buffered, concurrency: 16, model: Duration::from_millis(500) },
];

/// Runs the benchmark and reports progress through `report`.
///
/// # Errors
/// Fails if a cloud does not start, or if a turn fails.
pub async fn measure(options: &Options, report: impl Fn(&str)) -> Result<Metrics, Failure> {
    let bench = Bench {
        programs: std::iter::once(&options.program).chain(&options.baseline).collect(),
        turns: options.turns.max(1),
        rounds: options.rounds.max(1),
        floor: &options.floor,
        soak: options.soak,
        functions: options.functions.as_deref(),
        report,
    };
    let mut metrics = Metrics::default();
    for part in &options.parts {
        match part {
            Part::Turns => bench.turns(&mut metrics).await?,
            Part::Calls => bench.calls(&mut metrics).await?,
            Part::Start => bench.starts(&mut metrics).await?,
            Part::Scaling => bench.scaling(&mut metrics).await?,
            Part::History => bench.history(&mut metrics).await?,
            Part::Floor => bench.floor(&mut metrics).await?,
            Part::Fronts => bench.fronts(&mut metrics).await?,
            Part::FirstToken => bench.first_token(&mut metrics).await?,
            Part::Soak => bench.soak(&mut metrics).await?,
        }
    }
    Ok(metrics)
}

struct Bench<'a, T> {
    /// The program, and the baseline if there is one.
    programs: Vec<&'a PathBuf>,
    floor: &'a PathBuf,
    soak: SoakOptions,
    turns: usize,
    rounds: usize,
    functions: Option<&'a Path>,
    report: T,
}

impl<T: Fn(&str)> Bench<'_, T> {
    async fn turns(&self, metrics: &mut Metrics) -> Result<(), Failure> {
        let mut systems = Vec::new();
        for (number, program) in self.programs.iter().enumerate() {
            systems.push((number, System::start(program, number).await?));
        }
        for round in 1..=self.rounds {
            for load in &LOADS {
                self.report_round(round, load);
                let turns = if load.model.is_zero() { self.turns } else { self.turns.div_ceil(10) };
                for (number, system) in &systems {
                    metrics.add(*number, load::run(system, load, turns).await?);
                }
                // Alternate which program goes first.
                systems.reverse();
            }
        }
        (self.report)("largest body");
        for (number, system) in systems {
            metrics.add(number, load::largest_body(&system).await?);
            system.shutdown().await;
        }
        Ok(())
    }

    async fn calls(&self, metrics: &mut Metrics) -> Result<(), Failure> {
        (self.report)("AWS calls");
        for (number, program) in self.programs.iter().enumerate() {
            metrics.add(number, turn_calls::measure(program, number).await?);
        }
        Ok(())
    }

    async fn starts(&self, metrics: &mut Metrics) -> Result<(), Failure> {
        for round in 1..=self.rounds {
            self.report_round(round, "starts");
            for (number, program) in self.programs.iter().enumerate() {
                metrics.add(number, start::measure(program, number).await?);
            }
            if let Some(folder) = self.functions {
                metrics.add(0, deployed::starts(folder).await?);
            }
        }
        Ok(())
    }

    async fn scaling(&self, metrics: &mut Metrics) -> Result<(), Failure> {
        for (number, program) in self.programs.iter().enumerate() {
            metrics.add(number, scaling::measure(program, number, &self.report).await?);
        }
        Ok(())
    }

    async fn history(&self, metrics: &mut Metrics) -> Result<(), Failure> {
        for (number, program) in self.programs.iter().enumerate() {
            metrics.add(number, history_growth::measure(program, number, &self.report).await?);
        }
        Ok(())
    }

    /// Compares the program with the floor, which takes the place of the baseline.
    async fn floor(&self, metrics: &mut Metrics) -> Result<(), Failure> {
        let baseline = self.floor;
        let mut systems = Vec::new();
        for (number, program) in self.programs.iter().take(1).copied().chain([baseline]).enumerate() {
            systems.push((number, program, System::start(program, number).await?));
        }
        for round in 1..=self.rounds {
            for load in &floor::LOADS {
                self.report_round(round, load);
                for (number, _, system) in &systems {
                    metrics.add(*number, floor::run(system, load, self.turns).await?);
                }
                // Alternate which program goes first.
                systems.reverse();
            }
        }
        (self.report)("AWS calls");
        for (number, program, system) in systems {
            system.shutdown().await;
            metrics.add(number, turn_calls::measure(program, number).await?);
        }
        Ok(())
    }

    /// Compares the APIs of other vendors with our own, which takes the place of the baseline.
    async fn fronts(&self, metrics: &mut Metrics) -> Result<(), Failure> {
        for program in self.programs.iter().take(1) {
            let system = System::start(program, 0).await?;
            for round in 1..=self.rounds {
                for pair in &fronts::PAIRS {
                    self.report_round(round, pair);
                    let [front, own] = fronts::run(&system, pair, self.turns).await?;
                    metrics.add(0, front);
                    metrics.add(1, own);
                }
            }
            system.shutdown().await;
        }
        Ok(())
    }

    async fn first_token(&self, metrics: &mut Metrics) -> Result<(), Failure> {
        for round in 1..=self.rounds {
            self.report_round(round, "first token");
            for (number, program) in self.programs.iter().enumerate() {
                metrics.add(number, first_token::measure(program, number, self.turns, &self.report).await?);
            }
        }
        Ok(())
    }

    async fn soak(&self, metrics: &mut Metrics) -> Result<(), Failure> {
        for (number, program) in self.programs.iter().enumerate() {
            metrics.add(number, soak::measure(program, number, self.turns, self.soak, &self.report).await?);
        }
        Ok(())
    }

    fn report_round(&self, round: usize, what: impl fmt::Display) {
        (self.report)(&format!("round {round} of {}: {what}", self.rounds));
    }
}
