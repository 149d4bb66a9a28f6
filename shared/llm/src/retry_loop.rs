//! The retry loop of a call. Refreshes a rejected key once, and otherwise waits as the policy says. Logs every failed
//! attempt.

use std::time::Duration;

use agent::model::Error;
use reqwest::Url;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::config::Config;
use crate::key::{ApiKey, KeySource};
use crate::provider_message::describe;
use crate::retry::{FailedAttempt, Policy};

/// The state of a call between its attempts.
#[derive(Debug)]
pub(crate) struct RetryLoop<'a, K, W> {
    /// The key for the next attempt.
    pub(crate) key: ApiKey,
    /// The number of attempts so far.
    pub(crate) prior_attempts: u32,
    key_is_fresh: bool,
    /// The description of the last failure, for developers.
    description: Option<String>,
    shows_messages: bool,
    keys: &'a K,
    clock: &'a W,
    policy: Policy,
    deadline: Instant,
    /// The log message of a failed attempt.
    message: &'static str,
}

impl<'a, K: KeySource, W: Clock> RetryLoop<'a, K, W> {
    /// Fetches the key for the first attempt.
    pub(crate) async fn start(
        keys: &'a K,
        clock: &'a W,
        config: &Config,
        deadline: Instant,
        message: &'static str,
    ) -> Result<Self, Error> {
        let key = keys.key(None).await?;
        Ok(Self {
            key,
            prior_attempts: 0,
            key_is_fresh: false,
            description: None,
            shows_messages: config.shows_messages,
            keys,
            clock,
            policy: config.retry,
            deadline,
            message,
        })
    }

    /// Describes a failed attempt for the developer, and in the next log line. `None` unless the configuration shows
    /// messages.
    pub(crate) fn describe(&mut self, failed: &FailedAttempt, url: &Url) -> Option<String> {
        let message = failed.message.as_ref().filter(|_| self.shows_messages);
        self.description = message.map(|message| describe(url, failed.status, message, &self.key));
        self.description.clone()
    }

    /// Waits until the next attempt is due, after passing the delay to `on_pause`. Returns the error of `failed` if
    /// there is no next attempt.
    pub(crate) async fn wait_for_next(
        &mut self,
        failed: FailedAttempt,
        on_pause: impl FnOnce(Duration),
    ) -> Result<(), Error> {
        if failed.is_key_rejected() && !self.key_is_fresh {
            self.key_is_fresh = true;
            let fresh = self.keys.key(Some(&self.key)).await?;
            if fresh != self.key {
                self.key = fresh;
                return Ok(());
            }
        }
        let remaining = self.deadline.saturating_duration_since(self.clock.now());
        let delay = self.policy.next_delay(&failed, remaining, self.clock.jitter());
        let description = self.description.take();
        tracing::warn!(
            attempts_before = self.prior_attempts,
            status = failed.status,
            code = failed.info.code,
            param = failed.info.param,
            provider_request_id = failed.info.request_id,
            error = %failed.error,
            description,
            retry_in_ms = delay.and_then(|delay| u64::try_from(delay.as_millis()).ok()),
            "{}", self.message
        );
        let pause = delay.ok_or(failed.error)?;
        on_pause(pause);
        self.clock.sleep(pause).await;
        self.prior_attempts += 1;
        Ok(())
    }
}
