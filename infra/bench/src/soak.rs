//! A soak: many concurrent turns in one process of `execute`, whose memory must stay small and must not grow.
//!
//! The limit is checked against the peak of the resident memory that Linux counts, since a process can't be limited to
//! resident memory without privileges. The store is on disk, so the machine doesn't run out of memory either.

use std::path::Path;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use local::{Data, Options};

use crate::client::{Client, id};
use crate::failure::Failure;
use crate::metric::{Metric, count, mib};
use crate::shape::Shape;
use crate::system::System;
use crate::usage::Process;

/// Fewest turns of a soak. Its tenths would say nothing otherwise.
const MIN_TURNS: usize = 100;
/// Turns after which memory is read for the first time.
const FIRST_SAMPLE: usize = 1_000;
/// Turns of each session.
const TURNS_PER_SESSION: usize = 10;
/// Sessions after which the mock model forgets its requests.
const SESSIONS_PER_CLEARANCE: usize = 50;
/// Time after which the finalizer has handled the last turns.
const SETTLE_TIME: Duration = Duration::from_secs(3);
/// Pause before a turn that was refused for lack of a free slot.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Tries of a turn.
const MAX_TRIES: usize = 20;
/// Most memory of a process, in MiB: the smallest size of a function.
const MAX_MEMORY_MIB: f64 = 128.0;

/// Options of a soak.
#[derive(Debug, Clone, Copy)]
pub struct SoakOptions {
    /// Concurrent turns, all in one process of `execute`.
    pub concurrency: usize,
    /// Largest growth of a process between the second tenth of the turns and the last, in percent.
    pub max_growth: f64,
}

/// The memory of all processes after a number of turns.
struct Sample {
    turns: usize,
    processes: Vec<Process>,
}

/// Runs the turns and reports memory as they go on.
///
/// # Errors
/// Fails if a process needs more memory than a function may have, grows by more than its share, or exits.
pub(crate) async fn measure(
    program: &Path,
    number: usize,
    turns: usize,
    options: SoakOptions,
    report: &impl Fn(&str),
) -> Result<Vec<Metric>, Failure> {
    let folder = tempfile::tempdir()?;
    let cloud = Options {
        concurrency: 1,
        concurrency_per_process: options.concurrency,
        data: Data::Folder(folder.path().to_owned()),
        ..Options::default()
    };
    let system = System::with_options(program, number, cloud).await?;
    let result = soak(&system, turns.max(MIN_TURNS), options, report).await;
    system.shutdown().await;
    result
}

async fn soak(
    system: &System,
    turns: usize,
    options: SoakOptions,
    report: &impl Fn(&str),
) -> Result<Vec<Metric>, Failure> {
    let (mut took, mut done, mut samples) = (Duration::ZERO, 0, Vec::new());
    for target in targets(turns) {
        let began = Instant::now();
        done += run_turns(system, options.concurrency, target.saturating_sub(done)).await?;
        took += began.elapsed();
        tokio::time::sleep(SETTLE_TIME).await;
        let sample = Sample { turns: done, processes: system.processes() };
        if sample.processes.is_empty() {
            return Err("memory is measured only on Linux".into());
        }
        report(&sample.to_string());
        samples.push(sample);
    }
    let group = format!("soak, {} turns at once", options.concurrency);
    let rate = count(done) / took.as_secs_f64();
    let mut metrics = vec![Metric::new(&group, "turns per second", "", rate)];
    for Sample { turns, processes } in &samples {
        metrics.extend(processes.iter().map(|process| {
            let name = format!("{} after {turns} turns", process.function);
            Metric::new(&group, &name, "MiB", mib(process.usage.resident))
        }));
    }
    let second_tenth = samples.iter().find(|sample| sample.turns >= turns / 5);
    if let (Some(before), Some(after)) = (second_tenth, samples.last()) {
        check(&before.processes, &after.processes, options.max_growth)?;
    }
    Ok(metrics)
}

/// Returns the numbers of turns after which memory is read: the first one, and each tenth.
fn targets(turns: usize) -> Vec<usize> {
    let mut targets: Vec<usize> = (1..=10).map(|tenth| turns * tenth / 10).collect();
    targets.push(FIRST_SAMPLE.min(turns));
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// Runs at least so many turns. Returns their number.
async fn run_turns(system: &System, concurrency: usize, turns: usize) -> Result<usize, Failure> {
    let sessions = turns.div_ceil(TURNS_PER_SESSION);
    let run = stream::iter(0..sessions).map(|number| async move {
        if number.is_multiple_of(SESSIONS_PER_CLEARANCE) {
            system.clear_model_requests();
        }
        let session = id();
        for turn in 0..TURNS_PER_SESSION {
            let shape = if turn.is_multiple_of(2) { Shape::Buffered } else { Shape::Streamed };
            run_turn(&system.client, &session, shape).await?;
        }
        Ok::<_, Failure>(())
    });
    run.buffer_unordered(concurrency).try_collect::<()>().await?;
    Ok(sessions * TURNS_PER_SESSION)
}

/// Runs a turn. Tries again while the process has no free slot: it frees one slightly after its response was read.
async fn run_turn(client: &Client, session: &str, shape: Shape) -> Result<(), Failure> {
    let mut tries = 1;
    loop {
        match client.turn(session, shape, Duration::ZERO).await {
            Ok(_) => return Ok(()),
            Err(error) if tries < MAX_TRIES && error.to_string().contains("TooManyRequests") => {
                tries += 1;
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Checks the processes after the last tenth against those after the second.
fn check(before: &[Process], after: &[Process], max_growth: f64) -> Result<(), Failure> {
    for earlier in before {
        let (name, id) = (&earlier.function, earlier.id);
        let later = after.iter().find(|later| later.id == id);
        let later = later.ok_or_else(|| format!("the process {id} of {name} has exited"))?;
        let (first, last) = (mib(earlier.usage.resident), mib(later.usage.resident));
        if last > first * (1.0 + max_growth / 100.0) {
            return Err(format!(
                "the process {id} of {name} grew from {first:.1} to {last:.1} MiB, by more than {max_growth} %"
            )
            .into());
        }
    }
    for process in after {
        let (name, id, peak) = (&process.function, process.id, mib(process.usage.peak));
        if peak > MAX_MEMORY_MIB {
            return Err(format!(
                "the process {id} of {name} needed {peak:.1} MiB, more than {MAX_MEMORY_MIB} MiB"
            )
            .into());
        }
    }
    Ok(())
}

impl std::fmt::Display for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} turns:", self.turns)?;
        for process in &self.processes {
            let (now, peak) = (mib(process.usage.resident), mib(process.usage.peak));
            write!(f, " {} ({}) {now:.1} MiB, peak {peak:.1} MiB;", process.function, process.id)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Usage;

    fn process(id: u32, resident_mib: u64) -> Process {
        let resident = resident_mib << 20;
        let usage = Usage { resident, peak: resident, ..Usage::default() };
        Process { id, function: "execute".to_owned(), usage }
    }

    #[test]
    fn memory_is_read_at_the_start_and_after_each_tenth() {
        assert_eq!(targets(100_000)[..3], [1_000, 10_000, 20_000]);
        assert_eq!(targets(100), [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    }

    #[test]
    fn growth_beyond_the_share_fails() {
        assert!(check(&[process(1, 100)], &[process(1, 110)], 10.0).is_ok());
        let error = check(&[process(1, 100)], &[process(1, 111)], 10.0).unwrap_err().to_string();
        assert_eq!(error, "the process 1 of execute grew from 100.0 to 111.0 MiB, by more than 10 %");
    }

    #[test]
    fn exited_or_large_process_fails() {
        let error = check(&[process(1, 50)], &[process(2, 50)], 10.0).unwrap_err().to_string();
        assert_eq!(error, "the process 1 of execute has exited");
        let error = check(&[], &[process(2, 129)], 10.0).unwrap_err().to_string();
        assert_eq!(error, "the process 2 of execute needed 129.0 MiB, more than 128 MiB");
    }
}
