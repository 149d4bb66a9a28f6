//! `aptix bench` and `aptix smoke`: measure a build, and test a deployment.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use bench::{Part, SoakOptions, smoke::Deployment};
use clap::{Args, ValueEnum};

use crate::api_args::{ApiAccess, ApiArgs};
use crate::failure::Failure;
use crate::output::print;

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Parts to run; `scaling` and `history` take minutes
    #[arg(long, value_delimiter = ',', value_name = "PART", default_values = ["turns", "calls", "start"])]
    only: Vec<BenchPart>,
    /// Turns per load and round; loads with model latency run a tenth of them. All turns of a soak
    #[arg(long, default_value_t = 200)]
    turns: usize,
    /// Number of rounds; the median is reported
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Another build of this program to compare with; `floor` and `openai` ignore it
    #[arg(long, value_name = "PROGRAM")]
    baseline: Option<PathBuf>,
    /// File for the metrics as JSON Lines
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Program of the floor, for `floor` (`target/release/floor`)
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

#[derive(Debug, Args)]
pub(crate) struct Smoke {
    #[command(flatten)]
    api: ApiArgs,
    /// Instruction of the turns
    #[arg(long, value_name = "TEXT", default_value = bench::smoke::DEFAULT_INSTRUCTION)]
    instruction: String,
}

/// Runs the benchmark. The machine is named first, since metrics depend on it.
pub(crate) async fn bench(arguments: Bench) -> Result<(), Failure> {
    let options = bench::Options {
        parts: arguments.only.into_iter().map(Into::into).collect(),
        turns: arguments.turns,
        rounds: arguments.rounds,
        program: std::env::current_exe()?,
        baseline: arguments.baseline,
        floor: arguments.floor,
        soak: SoakOptions {
            concurrency: usize::from(arguments.concurrency),
            max_growth: arguments.max_growth,
        },
        functions: arguments.functions,
    };
    // The file is created first, so that an error shows before the benchmark has run for minutes.
    let create = |path: &PathBuf| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut json_file = arguments.json.as_ref().map(create).transpose()?;
    print(&format!("{}\n", bench::machine()))?;
    let metrics = bench::measure(&options, |what| eprintln!("… {what}")).await?;
    print(&metrics.to_string())?;
    if let Some(file) = &mut json_file {
        file.write_all(metrics.json_lines().as_bytes())?;
    }
    Ok(())
}

pub(crate) async fn smoke(arguments: Smoke) -> Result<ExitCode, Failure> {
    let Smoke { api, instruction } = arguments;
    let ApiAccess { url, token } = api.require()?;
    let (api_url, token) = (url.trim_end_matches('/').to_owned(), token.fetch().await?);
    let report = bench::smoke::run(&Deployment { api_url, token, instruction }).await;
    print(&report.to_string())?;
    Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
