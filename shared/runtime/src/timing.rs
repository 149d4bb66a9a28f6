//! Turn timing from the settings.

use protocol::timing::Timing;
use settings::Env;

/// Reads the timing. `env` reports invalid values when it finishes.
pub fn timing(env: &mut Env) -> Timing {
    Timing {
        abandon_grace: env.read(&settings::ABANDON_GRACE_SECONDS),
        max_tool_wait: env.read(&settings::TOOL_WAIT_SECONDS),
        purge_recheck: env.read(&settings::PURGE_RECHECK_SECONDS),
        retention: env.read(&settings::SESSION_RETENTION_DAYS),
        provider_response_ttl: env.read(&settings::PROVIDER_RESPONSE_TTL_SECONDS),
        ..Timing::with_lease(env.read(&settings::LEASE_SECONDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timing_without_settings_is_the_default() {
        assert_eq!(timing(&mut Env::from_vars::<String, String>([])), Timing::default());
    }
}
