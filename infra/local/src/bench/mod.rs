//! What a turn costs on top of the model: time, CPU, memory, calls of AWS, units of the table, and money.
//!
//! A client, the gateway, the services and the scripted model are in this process; the functions are processes of
//! their own, and what they used is read from the system. With a second program all of it is measured of both, by turns,
//! so that a machine that is busy is busy for both.
//!
//! An *ordinary turn* is the second or a later one of a session whose turn before is finalized, with 2 KB in and 2 KB
//! out in 300 deltas.

mod calls;
mod client;
mod deployed;
mod figure;
mod growth;
mod hardware;
mod late;
mod load;
mod prices;
mod start;
mod system;
mod used;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use self::{
    figure::Figures,
    load::{Load, Shape},
    system::System,
};

pub use self::hardware::machine;

/// Whatever ends the measurement early, in one line.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Turns under several loads: time, CPU and memory.
    Turns,
    /// What a turn and a read ask of AWS, and what that costs.
    Calls,
    /// From the start of a function's process to its first poll, and to its first request for a model.
    Start,
    /// Late turns beside early ones, and lists and reads beside much and little. Takes minutes.
    Growth,
}

/// How it is measured.
#[derive(Debug, Clone)]
pub struct Options {
    /// What.
    pub parts: Vec<Part>,
    /// Turns of each load, in each round; a tenth of it where the model takes its time.
    pub turns: usize,
    /// Rounds, of which the median counts.
    pub rounds: usize,
    /// The program whose functions are measured.
    pub program: PathBuf,
    /// Another build of it, to compare with.
    pub baseline: Option<PathBuf>,
    /// A folder with the functions' own programs and zips, as `cargo lambda` leaves it.
    pub functions: Option<PathBuf>,
}

/// The loads that turns are measured under.
const LOADS: [Load; 7] = [
    Load { shape: Shape::Whole, at_once: 1, model: Duration::ZERO },
    Load { shape: Shape::Streamed, at_once: 1, model: Duration::ZERO },
    Load { shape: Shape::ToolRound, at_once: 1, model: Duration::ZERO },
    Load { shape: Shape::Whole, at_once: 16, model: Duration::ZERO },
    Load { shape: Shape::Streamed, at_once: 16, model: Duration::ZERO },
    Load { shape: Shape::Whole, at_once: 1, model: Duration::from_millis(500) },
    Load { shape: Shape::Whole, at_once: 16, model: Duration::from_millis(500) },
];

/// Measures, and says meanwhile what is under way.
///
/// # Errors
/// When a cloud does not start, or a turn does not come to what it has to.
pub async fn measure(options: &Options, tell: impl Fn(&str)) -> Result<Figures, Failure> {
    let bench = Bench {
        programs: std::iter::once(&options.program).chain(&options.baseline).collect(),
        turns: options.turns.max(1),
        rounds: options.rounds.max(1),
        functions: options.functions.as_deref(),
        tell,
    };
    let zips = options.functions.as_deref().map(deployed::sizes).transpose()?;
    let mut figures = Figures::default();
    for part in &options.parts {
        match part {
            Part::Turns => bench.turns(&mut figures).await?,
            Part::Calls => bench.calls(&mut figures).await?,
            Part::Start => bench.starts(&mut figures).await?,
            Part::Growth => bench.growth(&mut figures).await?,
        }
    }
    figures.add(0, zips.unwrap_or_default());
    Ok(figures)
}

struct Bench<'a, T> {
    /// The program, and the one that it is compared with.
    programs: Vec<&'a PathBuf>,
    turns: usize,
    rounds: usize,
    functions: Option<&'a Path>,
    tell: T,
}

impl<T: Fn(&str)> Bench<'_, T> {
    async fn turns(&self, figures: &mut Figures) -> Result<(), Failure> {
        let mut systems = Vec::new();
        for (number, program) in self.programs.iter().enumerate() {
            systems.push((number, System::start(program, number).await?));
        }
        for round in 1..=self.rounds {
            for load in &LOADS {
                self.tell_round(round, load);
                let turns = if load.model.is_zero() { self.turns } else { self.turns.div_ceil(10) };
                for (number, system) in &systems {
                    figures.add(*number, load::run(system, load, turns).await?);
                }
                // Who is first is not always the same.
                systems.reverse();
            }
        }
        (self.tell)("the largest body");
        for (number, system) in systems {
            figures.add(number, load::largest(&system).await?);
            system.shutdown().await;
        }
        Ok(())
    }

    async fn calls(&self, figures: &mut Figures) -> Result<(), Failure> {
        (self.tell)("calls of AWS");
        for (number, program) in self.programs.iter().enumerate() {
            figures.add(number, calls::count(program, number).await?);
        }
        Ok(())
    }

    async fn starts(&self, figures: &mut Figures) -> Result<(), Failure> {
        for round in 1..=self.rounds {
            self.tell_round(round, "starts");
            for (number, program) in self.programs.iter().enumerate() {
                figures.add(number, start::measure(program, number).await?);
            }
            if let Some(folder) = self.functions {
                figures.add(0, deployed::starts(folder).await?);
            }
        }
        Ok(())
    }

    async fn growth(&self, figures: &mut Figures) -> Result<(), Failure> {
        for (number, program) in self.programs.iter().enumerate() {
            figures.add(number, growth::measure(program, number, &self.tell).await?);
        }
        Ok(())
    }

    fn tell_round(&self, round: usize, what: impl fmt::Display) {
        (self.tell)(&format!("round {round} of {}: {what}", self.rounds));
    }
}
