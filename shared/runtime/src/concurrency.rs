//! The number of invocations that one process serves at a time.
//!
//! One, unless the function runs on Lambda Managed Instances. Lambda then tells the number, and `lambda_runtime` polls
//! for that many invocations (docs/internals/decisions/0036-many-turns-in-one-environment.md).

use settings::Env;

/// Returns the number of invocations that this process serves at a time.
#[must_use]
pub fn limit() -> u32 {
    read(&mut Env::from_process())
}

/// Reads the number from the settings. An invalid value counts as one.
pub(crate) fn read(env: &mut Env) -> u32 {
    env.read(&settings::AWS_LAMBDA_MAX_CONCURRENCY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_one_unless_lambda_tells_another() {
        let read = |value: &str| read(&mut Env::from_vars([("AWS_LAMBDA_MAX_CONCURRENCY", value)]));
        assert_eq!([read(""), read("1"), read("0"), read("many"), read("64")], [1, 1, 1, 1, 64]);
    }
}
