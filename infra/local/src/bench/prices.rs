//! What a million turns cost on AWS, without the model.
//!
//! On-demand prices of us-east-1 without free tiers, as docs/deploying.md has them, with their date.

use std::time::Duration;

use yaml_serde::Value as Yaml;

use super::Failure;
use super::figure::Figure;

/// How long the model takes.
const MODEL: Duration = Duration::from_secs(10);
/// How long a message of the queue occupies the finalizer, at most.
const FINALIZER: Duration = Duration::from_millis(200);
/// How much a turn logs, in GB.
const LOGGED: f64 = 3e-6;

/// Dollars for a million.
const GATEWAY: f64 = 3.5;
const INVOCATIONS: f64 = 0.2;
const WRITE_UNITS: f64 = 0.625;
const READ_UNITS: f64 = 0.125;
const OBJECTS_WRITTEN: f64 = 5.0;
const OBJECTS_READ: f64 = 0.4;
const MESSAGES: f64 = 0.4;
/// Dollars for a GB-second, on arm64.
const GB_SECOND: f64 = 0.000_013_333_4;
/// Dollars for a GB of log.
const LOG: f64 = 0.5;

/// Sizes of `execute` to compare, in MB.
const SIZES: [f64; 3] = [128.0, 256.0, 512.0];

/// What a turn asks for.
pub(super) struct Asked {
    pub(super) write_units: f64,
    pub(super) read_units: f64,
    pub(super) objects_written: f64,
    pub(super) objects_read: f64,
    /// That functions send; each is received and deleted besides.
    pub(super) messages: f64,
    /// What the turn takes on top of the model.
    pub(super) added: Duration,
}

/// Dollars for a million such turns, item by item, and in all with as much memory as the template gives and with other
/// sizes.
pub(super) fn a_million(asked: &Asked) -> Result<Vec<Figure>, Failure> {
    let template: Yaml = yaml_serde::from_str(include_str!("../../../../template.yaml"))?;
    let at = |path: &[&str]| path.iter().try_fold(&template, |of, name| of.get(*name)).and_then(Yaml::as_f64);
    let execute =
        at(&["Parameters", "ExecuteMemory", "Default"]).ok_or("the template has no ExecuteMemory")?;
    let finalizer = at(&["Resources", "TurnFinalizerFunction", "Properties", "MemorySize"])
        .ok_or("TurnFinalizerFunction has no MemorySize in the template")?;
    let time = |mb: f64, took: Duration| mb / 1024.0 * took.as_secs_f64() * GB_SECOND * 1e6;
    let turn = MODEL + asked.added;
    let items = [
        ("API Gateway, REST".to_owned(), GATEWAY),
        ("execute, invocations".to_owned(), INVOCATIONS),
        (format!("execute, time with {execute} MB"), time(execute, turn)),
        ("turn-finalizer".to_owned(), INVOCATIONS + time(finalizer, FINALIZER)),
        ("table, writes".to_owned(), WRITE_UNITS * asked.write_units),
        ("table, reads".to_owned(), READ_UNITS * asked.read_units),
        ("bucket, writes".to_owned(), OBJECTS_WRITTEN * asked.objects_written),
        ("bucket, reads".to_owned(), OBJECTS_READ * asked.objects_read),
        ("queue: send, receive, delete".to_owned(), 3.0 * MESSAGES * asked.messages),
        ("logs".to_owned(), LOG * LOGGED * 1e6),
    ];
    let sum: f64 = items.iter().map(|(_, dollars)| dollars).sum();
    let sizes = SIZES.map(|mb| (format!("in all with {mb} MB"), sum - time(execute, turn) + time(mb, turn)));
    let figure = |(name, dollars): (String, f64)| {
        Figure::new("a million ordinary turns, the model taking 10 s each", &name, "$", dollars)
    };
    Ok(items.into_iter().chain(sizes).map(figure).collect())
}
