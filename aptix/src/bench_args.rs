//! The arguments of `aptix bench`.

use std::path::PathBuf;

use bench::Part;
use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Parts to run; `scaling` and `history` take minutes
    #[arg(long, value_delimiter = ',', value_name = "PART", default_values = ["turns", "calls", "start"])]
    pub(crate) only: Vec<BenchPart>,
    /// Turns per load and round; loads with model latency run a tenth of them. All turns of a soak
    #[arg(long, default_value_t = 200)]
    pub(crate) turns: usize,
    /// Number of rounds; the median is reported
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,
    /// Another build of this program to compare with; `floor` and `openai` ignore it
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) baseline: Option<PathBuf>,
    /// File for the metrics as JSON Lines
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Program of the floor, for `floor` (`target/release/floor`)
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) floor: Option<PathBuf>,
    /// Concurrent turns of a soak, all in one process of `execute`
    #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) concurrency: u16,
    /// Largest growth of a process between the second tenth of a soak and the last, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0)]
    pub(crate) max_growth: f64,
    /// Folder with the functions' executables, to measure their start (`target/lambda` after
    /// `scripts/zips`)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) functions: Option<PathBuf>,
}

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum BenchPart {
    /// Turns under several loads: time, CPU and memory
    Turns,
    /// AWS calls of a turn and their cost
    Calls,
    /// Time from the start of a function to its first poll
    Start,
    /// Late turns compared with early ones, reads over much data compared with little
    Scaling,
    /// Turns 2 to 500 of a session, with its history at the provider and without
    History,
    /// Turns compared with a program that makes their calls and nothing else
    Floor,
    /// Turns over the OpenAI-compatible API compared with turns over our own, turn by turn
    #[value(name = "openai")]
    OpenAi,
    /// Time from a request's arrival at `execute` until the model has the turn's request
    FirstToken,
    /// Many turns in few processes, whose memory must not grow; `scripts/soak`
    Soak,
}

impl From<BenchPart> for Part {
    fn from(part: BenchPart) -> Self {
        match part {
            BenchPart::Turns => Self::Turns,
            BenchPart::Calls => Self::Calls,
            BenchPart::Start => Self::Start,
            BenchPart::Scaling => Self::Scaling,
            BenchPart::History => Self::History,
            BenchPart::Floor => Self::Floor,
            BenchPart::OpenAi => Self::OpenAi,
            BenchPart::FirstToken => Self::FirstToken,
            BenchPart::Soak => Self::Soak,
        }
    }
}
