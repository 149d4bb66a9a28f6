//! CPU time of the functions for long answers in small deltas, streamed and not, and the time to the first delta.
//! Linux only, because the CPU time comes from `/proc`.

use std::time::Duration;

use local::Cloud;

use super::{Client, millis};
use crate::failure::Failure;

/// The texts to write: the repeated piece and its number of bytes.
const TEXTS: [(&str, &str, usize); 4] = [
    ("base64", "QUJD", 4),
    ("blanks", "    ", 4),
    ("CJK", "漢字仮名", 12),
    ("Markdown", "- a _b_ `c`\\n", 12),
];

/// The total size, and the characters of a delta.
const SIZES: [(&str, usize, usize); 2] = [("400 KB", 400_000, 4), ("3 MB", 3_000_000, 4_096)];

/// Repetitions of each measurement, because process clocks tick a hundred times a second.
const TURNS: u32 = 3;

pub(super) async fn measure(cloud: &Cloud, client: &Client) -> Result<(), Failure> {
    println!("long answers, {TURNS} turns each: CPU of the functions a turn");
    for (size, bytes, chunk) in SIZES {
        for (name, unit, length) in TEXTS {
            // It ends with a word, because an answer of blanks alone is empty and is retried.
            let script = format!("chunk {chunk}; repeat \"{unit}\" {}; say \".\"", bytes / length);
            let whole = computed(cloud, client, &script, false).await?;
            let streamed = computed(cloud, client, &script, true).await?;
            println!(
                "{size:6} {name:8} in deltas of {chunk:4}   whole {:7.1} ms   streamed {:7.1} ms   × {:.2}   first delta {} ms",
                millis(whole.cpu),
                millis(streamed.cpu),
                streamed.cpu.as_secs_f64() / whole.cpu.as_secs_f64(),
                streamed.first.map_or_else(|| "none".to_owned(), |first| format!("{:.1}", millis(first))),
            );
        }
    }
    Ok(())
}

struct Computed {
    cpu: Duration,
    /// From the request to the first delta, the longest of the turns.
    first: Option<Duration>,
}

async fn computed(
    cloud: &Cloud,
    client: &Client,
    script: &str,
    streaming: bool,
) -> Result<Computed, Failure> {
    let (mut cpu, mut first) = (Duration::ZERO, None);
    for _ in 0..TURNS {
        let model = cloud.model().ok_or("the cloud has no mock model")?;
        model.clear();
        let before = children();
        let read = client.read(script, streaming).await?;
        cpu += children().saturating_sub(before);
        first = first.max(read.deltas.first().map(|at| *at - read.sent));
        if model.count() != 1 {
            return Err("one turn is not one model call".into());
        }
    }
    Ok(Computed { cpu: cpu / TURNS, first })
}

/// Returns the CPU time of the functions' processes so far.
fn children() -> Duration {
    let own = std::process::id().to_string();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ticks: u64 = processes
        .filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok())
        .filter_map(|stat| {
            // The name, in parentheses, may hold blanks; the parent is the second field after it.
            let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
            let is_ours = *fields.get(1)? == own;
            let used: u64 = [11, 12].iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum();
            is_ours.then_some(used)
        })
        .sum();
    Duration::from_millis(ticks * 10)
}
