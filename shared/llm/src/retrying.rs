//! Retrying: what is between two attempts at one call. A key that was refused is fetched anew once; otherwise the
//! policy says whether to go on, and what failed is told to operators either way.

use std::time::Duration;

use agent::model::Error;
use tokio::time::Instant;

use crate::config::Config;
use crate::key::{ApiKey, Keys};
use crate::retry::{Attempt, Policy};
use crate::wait::Wait;

/// A call under way.
#[derive(Debug)]
pub(crate) struct Retrying<'a, K, W> {
    /// The key that the next attempt uses.
    pub(crate) key: ApiKey,
    /// How many attempts came before it.
    pub(crate) before: u32,
    key_is_fresh: bool,
    keys: &'a K,
    wait: &'a W,
    policy: Policy,
    until: Instant,
    /// What the log says of an attempt that failed.
    message: &'static str,
}

impl<'a, K: Keys, W: Wait> Retrying<'a, K, W> {
    /// Before the first attempt.
    pub(crate) async fn begin(
        keys: &'a K,
        wait: &'a W,
        config: &Config,
        until: Instant,
        message: &'static str,
    ) -> Result<Self, Error> {
        let key = keys.key(None).await?;
        Ok(Self { key, before: 0, key_is_fresh: false, keys, wait, policy: config.retry, until, message })
    }

    /// After an attempt that failed: returns when it is time for the next one, and tells `paused` how long that is;
    /// the error where there is none.
    pub(crate) async fn after(
        &mut self,
        failed: Attempt,
        paused: impl FnOnce(Duration),
    ) -> Result<(), Error> {
        if failed.status == Some(401) && !self.key_is_fresh {
            self.key_is_fresh = true;
            let fresh = self.keys.key(Some(&self.key)).await?;
            if fresh != self.key {
                self.key = fresh;
                return Ok(());
            }
        }
        let left = self.until.saturating_duration_since(self.wait.now());
        let wait = self.policy.wait(&failed, left, self.wait.chance());
        tracing::warn!(
            attempts_before = self.before,
            status = failed.status,
            code = failed.told.code,
            param = failed.told.param,
            provider_request_id = failed.told.request_id,
            error = %failed.error,
            retry_in_ms = wait.and_then(|wait| u64::try_from(wait.as_millis()).ok()),
            "{}", self.message
        );
        let pause = wait.ok_or(failed.error)?;
        paused(pause);
        self.wait.sleep(pause).await;
        self.before += 1;
        Ok(())
    }
}
