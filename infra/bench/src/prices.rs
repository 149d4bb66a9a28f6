//! Cost of a million turns on AWS, without the model.
//!
//! On-demand prices of us-east-1 without free tiers. docs/guides/deploying.md lists them with their date.

use std::time::Duration;

use yaml_serde::Value as Yaml;

use crate::failure::Failure;
use crate::metric::Metric;

/// Latency of the model.
const MODEL: Duration = Duration::from_secs(10);
/// Time that the finalizer spends on a message, at most.
const FINALIZER: Duration = Duration::from_millis(200);
/// Log volume of a turn, in GB.
const LOG_GB: f64 = 3e-6;
/// Volume of a line in the access log, in GB.
const ACCESS_LOG_GB: f64 = 0.7e-6;

/// Dollars per million requests or units.
const GATEWAY: f64 = 3.5;
const INVOCATIONS: f64 = 0.2;
const WRITE_UNITS: f64 = 0.625;
const READ_UNITS: f64 = 0.125;
const OBJECTS_WRITTEN: f64 = 5.0;
const OBJECTS_READ: f64 = 0.4;
const MESSAGES: f64 = 0.4;
/// Dollars per GB-second, on arm64.
const GB_SECOND: f64 = 0.000_013_333_4;
/// Dollars per GB of log.
const LOG: f64 = 0.5;

/// Memory sizes of `execute` to compare, in MB.
const SIZES: [f64; 3] = [128.0, 256.0, 512.0];

/// AWS usage of a turn.
pub(crate) struct TurnUsage {
    pub(crate) write_units: f64,
    pub(crate) read_units: f64,
    pub(crate) objects_written: f64,
    pub(crate) objects_read: f64,
    /// Messages sent by functions. Each is also received and deleted.
    pub(crate) messages: f64,
    /// Duration of the turn on top of the model.
    pub(crate) overhead: Duration,
}

/// Returns the dollars for a million such turns: each item, and totals for several memory sizes.
pub(crate) fn per_million(usage: &TurnUsage) -> Result<Vec<Metric>, Failure> {
    let template: Yaml = yaml_serde::from_str(include_str!("../../../template.yaml"))?;
    let at =
        |path: &[&str]| path.iter().try_fold(&template, |node, name| node.get(*name)).and_then(Yaml::as_f64);
    let execute =
        at(&["Parameters", "ExecuteMemory", "Default"]).ok_or("the template has no ExecuteMemory")?;
    let finalizer = at(&["Resources", "TurnFinalizerFunction", "Properties", "MemorySize"])
        .ok_or("TurnFinalizerFunction has no MemorySize in the template")?;
    let time = |mb: f64, took: Duration| mb / 1024.0 * took.as_secs_f64() * GB_SECOND * 1e6;
    let turn = MODEL + usage.overhead;
    let items = [
        ("API Gateway, REST".to_owned(), GATEWAY),
        ("execute, invocations".to_owned(), INVOCATIONS),
        (format!("execute, time with {execute} MB"), time(execute, turn)),
        ("turn-finalizer".to_owned(), INVOCATIONS + time(finalizer, FINALIZER)),
        ("table, writes".to_owned(), WRITE_UNITS * usage.write_units),
        ("table, reads".to_owned(), READ_UNITS * usage.read_units),
        ("bucket, writes".to_owned(), OBJECTS_WRITTEN * usage.objects_written),
        ("bucket, reads".to_owned(), OBJECTS_READ * usage.objects_read),
        ("queue: send, receive, delete".to_owned(), 3.0 * MESSAGES * usage.messages),
        ("logs".to_owned(), LOG * LOG_GB * 1e6),
        ("access log".to_owned(), LOG * ACCESS_LOG_GB * 1e6),
    ];
    let sum: f64 = items.iter().map(|(_, dollars)| dollars).sum();
    let sizes = SIZES.map(|mb| (format!("total with {mb} MB"), sum - time(execute, turn) + time(mb, turn)));
    let metric = |(name, dollars): (String, f64)| {
        Metric::new("cost of a million ordinary turns, 10 s of model time each", &name, "$", dollars)
    };
    Ok(items.into_iter().chain(sizes).map(metric).collect())
}
