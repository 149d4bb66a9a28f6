//! Metrics of the parts: all are there, and counts hold on any machine. The functions of the `aptix`
//! beside this program are measured, which `scripts/bench test` builds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::process::Command;

use serde_json::Value;

/// The figures of one measurement.
fn figures(arguments: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("figures.jsonl");
    let ran = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(arguments)
        .args(["--rounds", "1", "--json"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let lines = std::fs::read_to_string(file).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn value(figures: &[Value], of: &str, name: &str) -> f64 {
    let found = figures.iter().find(|figure| figure["group"] == of && figure["name"] == name);
    found.and_then(|figure| figure["value"].as_f64()).unwrap_or_else(|| panic!("{of}: {name}: {figures:?}"))
}

#[test]
fn ordinary_turn_waits_for_two_aws_calls_before_and_after_the_model() {
    let figures = figures(&["--only", "calls"]);
    let count = |name: &str| value(&figures, "AWS calls of an ordinary turn", name);
    assert_eq!(count("sequential calls before the model"), 2.0);
    assert_eq!(count("sequential calls after the model"), 2.0);
    assert!((8.0..=9.0).contains(&count("total")), "{figures:?}");
    assert!((15.0..=32.0).contains(&count("write units")), "{figures:?}");
    assert!((1.0..=5.0).contains(&count("read units")), "{figures:?}");
    // The sum has the turn's own time in it, which is longer on a busy machine.
    let dollars =
        |name: &str| value(&figures, "cost of a million ordinary turns, 10 s of model time each", name);
    assert_eq!((dollars("bucket, writes"), dollars("bucket, reads")), (10.0, 0.4));
    assert!(dollars("total with 128 MB") < dollars("total with 256 MB"), "{figures:?}");
}

#[test]
fn time_until_the_model_is_asked_is_measured() {
    let figures = figures(&["--only", "first-token", "--turns", "2"]);
    let of = "request to model call, with a whole core";
    for name in ["first turn of the process", "later turns, p50", "later turns, p99"] {
        assert!(value(&figures, of, name) > 0.0, "{figures:?}");
    }
    let of = "waterfall before the model call, medians";
    assert!(value(&figures, of, "transaction of the start") > 0.0, "{figures:?}");
}

#[test]
fn openai_api_is_compared_with_our_own() {
    let figures = figures(&["--only", "openai", "--turns", "2"]);
    for shape in ["buffered", "streamed"] {
        let of = format!("{shape} turns over the OpenAI-compatible API, baseline our own API");
        for name in ["added latency, p50", "added latency, p99"] {
            assert!(value(&figures, &of, name) > 0.0, "{figures:?}");
        }
        let figure = figures.iter().find(|figure| figure["group"] == *of).unwrap();
        assert!(figure["baseline"].as_f64().unwrap() > 0.0, "{figure}");
        assert_eq!(figure["goal"], 1.05, "{figure}");
    }
}

#[test]
fn every_load_is_compared_with_another_build() {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_bench")).with_file_name("aptix");
    let program = program.to_str().unwrap();
    let figures = figures(&["--only", "turns", "--turns", "2", "--baseline", program]);
    for load in ["buffered turns, 1 at once", "streamed turns, 16 at once", "tool-round turns, 1 at once"] {
        let of = format!("{load}, model latency 0 ms");
        assert!(value(&figures, &of, "added latency, p50") > 0.0);
        let figure = figures.iter().find(|figure| figure["group"] == *of).unwrap();
        assert!(figure["baseline"].as_f64().unwrap() > 0.0, "{figure}");
    }
    if cfg!(target_os = "linux") {
        assert!(value(&figures, "after a turn with the largest body", "peak memory, execute") > 1.0);
    }
}
