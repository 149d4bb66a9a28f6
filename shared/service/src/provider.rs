//! How the model provider is reached, from the function's settings.
//!
//! | setting | meaning | bounds | default |
//! |---|---|---|---|
//! | `OPENAI_BASE_URL` | the API's base URL; `/responses` is added | http or https | `https://api.openai.com/v1` |
//! | `OPENAI_CONNECT_TIMEOUT_SECONDS` | patience for a connection | 0.1 to 60 | 5 |
//! | `OPENAI_FIRST_BYTE_TIMEOUT_SECONDS` | patience for a response, and until the model writes | 0.1 to 840 | 120 |
//! | `OPENAI_IDLE_TIMEOUT_SECONDS` | patience for each next byte once the model writes | 0.1 to 840 | 60 |
//! | `OPENAI_TOTAL_TIMEOUT_SECONDS` | patience for a whole call, retries included | 0.1 to 840 | 840 |
//! | `OPENAI_RETRIES` | further attempts while nothing of an answer was there | 0 to 10 | 2 |
//! | `OPENAI_BREAKER_FAILURES` | calls in a row that ended in an overload or outage before the provider is not asked for a while; 0 is never | 0 to 1000 | 10 |
//! | `OPENAI_BREAKER_PAUSE_SECONDS` | for so long | 0.1 to 600 | 10 |
//!
//! A turn's own deadline bounds all of it, and no function lives longer than 840 s.

use std::time::Duration;

use llm::{Config, breaker, client::Timeouts, retry::Policy};
use runtime::Env;

pub(crate) const LONGEST_CONNECT_SECONDS: f64 = 60.0;
pub(crate) const LONGEST_SECONDS: f64 = 840.0;
const SHORTEST_SECONDS: f64 = 0.1;
const MOST_RETRIES: u32 = 10;
const MOST_FAILURES: u32 = 1_000;
const LONGEST_PAUSE_SECONDS: f64 = 600.0;

/// Reads the settings; what is wrong is named when `env` finishes.
pub(crate) fn config(env: &mut Env) -> Config {
    let defaults = Config::default();
    let (timeouts, retry, breaker) = (defaults.timeouts, defaults.retry, defaults.breaker);
    let mut seconds = |name, longest, default| {
        let set = env.between(name, SHORTEST_SECONDS..=longest, "seconds");
        set.map_or(default, Duration::from_secs_f64)
    };
    let timeouts = Timeouts {
        connect: seconds("OPENAI_CONNECT_TIMEOUT_SECONDS", LONGEST_CONNECT_SECONDS, timeouts.connect),
        first_byte: seconds("OPENAI_FIRST_BYTE_TIMEOUT_SECONDS", LONGEST_SECONDS, timeouts.first_byte),
        idle: seconds("OPENAI_IDLE_TIMEOUT_SECONDS", LONGEST_SECONDS, timeouts.idle),
        total: seconds("OPENAI_TOTAL_TIMEOUT_SECONDS", LONGEST_SECONDS, timeouts.total),
    };
    let pause = seconds("OPENAI_BREAKER_PAUSE_SECONDS", LONGEST_PAUSE_SECONDS, breaker.pause);
    let failures =
        env.between("OPENAI_BREAKER_FAILURES", 0..=MOST_FAILURES, "calls").unwrap_or(breaker.failures);
    let retries = env.between("OPENAI_RETRIES", 0..=MOST_RETRIES, "times").unwrap_or(retry.retries);
    let base = env.or("OPENAI_BASE_URL", &defaults.base);
    let breaker = breaker::Policy { failures, pause };
    Config { base, timeouts, retry: Policy { retries, ..retry }, breaker, ..defaults }
}

/// So many seconds of patience.
///
/// # Errors
/// The bounds, when they are too few or too many.
pub(crate) fn seconds(count: f64, longest: f64) -> Result<Duration, String> {
    let bounds = SHORTEST_SECONDS..=longest;
    match bounds.contains(&count) {
        true => Ok(Duration::from_secs_f64(count)),
        false => Err(format!("{SHORTEST_SECONDS} to {longest}")),
    }
}
