//! Command line of the benchmarks. `scripts/bench` builds this program, `aptix` and the floor, and starts it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command reports to its terminal")]

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use bench::{Failure, Part, SoakOptions};
use clap::{Parser, ValueEnum};

/// Measure the overhead of a turn on top of the model: time, CPU, memory, AWS calls and cost
#[derive(Debug, Parser)]
#[command(name = "bench")]
struct Bench {
    /// Parts to run; `scaling` and `history` take minutes
    #[arg(long, value_delimiter = ',', value_name = "PART", default_values = ["turns", "calls", "start"])]
    only: Vec<BenchPart>,
    /// Turns per load and round; loads with model latency run a tenth of them. All turns of a soak
    #[arg(long, default_value_t = 200)]
    turns: usize,
    /// Number of rounds; the median is reported
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Program whose functions are measured [default: `aptix` beside this program]
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,
    /// Another build of that program to compare with; `floor`, `fronts` and `stream` ignore it
    #[arg(long, value_name = "PROGRAM")]
    baseline: Option<PathBuf>,
    /// File for the metrics as JSON Lines
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Program of the floor, for `floor` [default: `floor` beside this program]
    #[arg(long, value_name = "PROGRAM")]
    floor: Option<PathBuf>,
    /// Concurrent turns of a soak, all in one process of `execute`
    #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
    /// Largest growth of a process between the second tenth of a soak and the last, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0)]
    max_growth: f64,
    /// Folder with the functions' executables, to measure their start (`target/lambda` after
    /// `scripts/zips`)
    #[arg(long, value_name = "FOLDER")]
    functions: Option<PathBuf>,
}

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BenchPart {
    /// Turns under several loads: time, CPU and memory
    Turns,
    /// AWS calls of a turn and their cost
    Calls,
    /// Time from the start of a function to its first poll
    Start,
    /// Late turns compared with early turns, and reads over much data compared with reads over little
    Scaling,
    /// Turns 2 to 500 of a session, with its history at the provider and without
    History,
    /// Turns compared with a program that makes their calls and nothing else
    Floor,
    /// Turns over the APIs of other vendors compared with turns over our own, turn by turn
    Fronts,
    /// Time from a request's arrival at `execute` until the model has the turn's request
    FirstToken,
    /// Many turns in few processes, whose memory must not grow
    Soak,
    /// Time from the model's delta to the client, and the CPU time of long answers; prints lines of its own
    Stream,
}

impl BenchPart {
    /// Returns the part that yields metrics.
    fn measured(self) -> Option<Part> {
        Some(match self {
            Self::Turns => Part::Turns,
            Self::Calls => Part::Calls,
            Self::Start => Part::Start,
            Self::Scaling => Part::Scaling,
            Self::History => Part::History,
            Self::Floor => Part::Floor,
            Self::Fronts => Part::Fronts,
            Self::FirstToken => Part::FirstToken,
            Self::Soak => Part::Soak,
            Self::Stream => return None,
        })
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Bench::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the benchmark. The machine is named first, since metrics depend on it.
async fn run(arguments: Bench) -> Result<(), Failure> {
    let own = std::env::current_exe()?;
    let beside = |name: &str| own.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let is_streamed = arguments.only.contains(&BenchPart::Stream);
    let options = bench::Options {
        parts: arguments.only.into_iter().filter_map(BenchPart::measured).collect(),
        turns: arguments.turns,
        rounds: arguments.rounds,
        program: arguments.program.unwrap_or_else(|| beside("aptix")),
        baseline: arguments.baseline,
        floor: arguments.floor.unwrap_or_else(|| beside("floor")),
        soak: SoakOptions {
            concurrency: usize::from(arguments.concurrency),
            max_growth: arguments.max_growth,
        },
        functions: arguments.functions,
    };
    // The file is created first, so that an error shows before the benchmark has run for minutes.
    let create = |path: &PathBuf| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut json_file = arguments.json.as_ref().map(create).transpose()?;
    println!("{}", bench::machine());
    let metrics = bench::measure(&options, |what| eprintln!("… {what}")).await?;
    print!("{metrics}");
    if let Some(file) = &mut json_file {
        file.write_all(metrics.json_lines().as_bytes())?;
    }
    if is_streamed {
        bench::stream::measure(&options.program, options.turns).await?;
    }
    Ok(())
}
