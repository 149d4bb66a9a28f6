//! The client configuration of the default provider, from the function's settings (`OPENAI_…` in
//! docs/reference/settings.md).
//!
//! The turn's deadline bounds all timeouts, and no function runs longer than 840 s.

use std::time::Duration;

use llm::{Config, Wire, client::Timeouts, retry::Policy};
use settings::{Env, MIN_TIMEOUT_SECONDS};

/// Reads the settings. Invalid ones are reported when `env` finishes.
pub(crate) fn read(env: &mut Env) -> Config {
    Config {
        base_url: env.read(&settings::OPENAI_BASE_URL),
        shows_messages: env.read(&settings::PROVIDER_MESSAGES),
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
        ..Config::for_wire(wire(env))
    }
}

/// Reads the wire of the provider of the `OPENAI_…` settings.
pub(crate) fn wire(env: &mut Env) -> Wire {
    Wire::from_name(env.read(&settings::OPENAI_WIRE)).unwrap_or_default()
}

/// Converts a number of seconds into a timeout.
///
/// # Errors
/// The allowed range, if `count` is outside it.
pub(crate) fn parse_seconds(count: f64, longest: f64) -> Result<Duration, String> {
    let bounds = MIN_TIMEOUT_SECONDS..=longest;
    match bounds.contains(&count) {
        true => Ok(Duration::from_secs_f64(count)),
        false => Err(format!("{MIN_TIMEOUT_SECONDS} to {longest}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_settings_equal_the_client_defaults() {
        let config = read(&mut Env::from_vars::<String, String>([]));
        assert_eq!(format!("{config:?}"), format!("{:?}", Config::default()));
    }
}
