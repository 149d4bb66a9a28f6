//! How the model provider is reached, from the function's settings.
//!
//! | setting | meaning | bounds | default |
//! |---|---|---|---|
//! | `OPENAI_BASE_URL` | the API's base URL; `/responses` is added | http or https | `https://api.openai.com/v1` |
//! | `OPENAI_CONNECT_TIMEOUT_SECONDS` | patience for a connection | 0.1 to 60 | 5 |
//! | `OPENAI_FIRST_BYTE_TIMEOUT_SECONDS` | patience for a response, and until the model writes | 0.1 to 840 | 120 |
//! | `OPENAI_IDLE_TIMEOUT_SECONDS` | patience for each next byte once the model writes | 0.1 to 840 | 60 |
//! | `OPENAI_RETRIES` | further attempts while no response began | 0 to 10 | 2 |
//!
//! A turn's own deadline bounds all of it, and no function lives longer than 840 s.

use std::time::Duration;

use llm::{Config, client::Timeouts, retry::Policy};
use runtime::Env;

const LONGEST_CONNECT_SECONDS: f64 = 60.0;
const LONGEST_SECONDS: f64 = 840.0;
const SHORTEST_SECONDS: f64 = 0.1;
const MOST_RETRIES: u32 = 10;

/// Reads the settings; what is wrong is named when `env` finishes.
pub(crate) fn config(env: &mut Env) -> Config {
    let Config { base, timeouts, retry, limits } = Config::default();
    let mut seconds = |name, longest, default| {
        let set = env.between(name, SHORTEST_SECONDS..=longest, "seconds");
        set.map_or(default, Duration::from_secs_f64)
    };
    let timeouts = Timeouts {
        connect: seconds("OPENAI_CONNECT_TIMEOUT_SECONDS", LONGEST_CONNECT_SECONDS, timeouts.connect),
        first_byte: seconds("OPENAI_FIRST_BYTE_TIMEOUT_SECONDS", LONGEST_SECONDS, timeouts.first_byte),
        idle: seconds("OPENAI_IDLE_TIMEOUT_SECONDS", LONGEST_SECONDS, timeouts.idle),
    };
    let retries = env.between("OPENAI_RETRIES", 0..=MOST_RETRIES, "times").unwrap_or(retry.retries);
    let base = env.or("OPENAI_BASE_URL", &base);
    Config { base, timeouts, retry: Policy { retries, ..retry }, limits }
}
