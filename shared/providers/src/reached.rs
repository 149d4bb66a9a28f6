//! How the model provider is reached, from the function's settings (`OPENAI_…` in docs/settings.md).
//!
//! A turn's own deadline bounds all of it, and no function lives longer than 840 s.

use std::time::Duration;

use llm::{Config, breaker, client::Timeouts, retry::Policy};
use settings::{Env, SHORTEST_SECONDS};

/// Reads the settings; what is wrong is named when `env` finishes.
pub(crate) fn config(env: &mut Env) -> Config {
    Config {
        base: env.read(&settings::OPENAI_BASE_URL),
        timeouts: Timeouts {
            connect: env.read(&settings::OPENAI_CONNECT_TIMEOUT_SECONDS),
            first_byte: env.read(&settings::OPENAI_FIRST_BYTE_TIMEOUT_SECONDS),
            idle: env.read(&settings::OPENAI_IDLE_TIMEOUT_SECONDS),
            total: env.read(&settings::OPENAI_TOTAL_TIMEOUT_SECONDS),
        },
        retry: Policy { retries: env.read(&settings::OPENAI_RETRIES), ..Policy::default() },
        breaker: breaker::Policy {
            failures: env.read(&settings::OPENAI_BREAKER_FAILURES),
            pause: env.read(&settings::OPENAI_BREAKER_PAUSE_SECONDS),
        },
        ..Config::default()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_settings_a_provider_is_reached_as_the_client_does_by_default() {
        let read = config(&mut Env::of::<String, String>([]));
        assert_eq!(format!("{read:?}"), format!("{:?}", Config::default()));
    }
}
