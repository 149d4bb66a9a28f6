//! The times of a turn's life, from the settings.

use protocol::timing::Timing;
use settings::Env;

/// Reads them. What is wrong is named when `env` finishes.
pub fn timing(env: &mut Env) -> Timing {
    Timing {
        abandon_grace: env.read(&settings::ABANDON_GRACE_SECONDS),
        longest_tool_wait: env.read(&settings::TOOL_WAIT_SECONDS),
        purge_again: env.read(&settings::PURGE_AGAIN_SECONDS),
        retention: env.read(&settings::SESSION_RETENTION_DAYS),
        chain_life: env.read(&settings::CHAIN_LIFE_SECONDS),
        ..Timing::with_lease(env.read(&settings::LEASE_SECONDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_settings_the_times_are_the_usual_ones() {
        assert_eq!(timing(&mut Env::of::<String, String>([])), Timing::default());
    }
}
