//! One call of the model.

use std::time::Duration;

use agent::{
    attempt::{Totals, TurnSpec, millis},
    model::{CallMeter, Error, Model, Observer, RawPayloads, Reply, Request},
    tool::rounds::ModelCallInfo,
};
use contracts::{
    Timestamp,
    stream::{Phase, Reasoning},
};
use futures::future::join;
use protocol::{spent::MeteredUsage, turn::Turn};

use crate::flow::owned_turn::OwnedTurn;
use crate::{
    ports::{AgentDeps, Host, Timer},
    stream::{Writer, utf16_length},
};

/// The most bytes to keep of an answer that breaks off.
const MAX_PARTIAL_BYTES: usize = 1 << 20;

/// The measurements of a model call, and what it left if it failed.
pub(super) struct ModelCall {
    /// The text that was streamed.
    pub(super) written: String,
    /// True if there was any output.
    pub(super) has_output: bool,
    /// The provider's id of a reply that didn't complete, if known.
    pub(super) failed_response_id: Option<String>,
    /// The raw payloads, if they are captured.
    pub(super) raw_payloads: Option<RawPayloads>,
    /// The provider's address and message about a failure, on a developer's machine only.
    pub(super) failure: Option<String>,
    requested_at: Timestamp,
    duration: Duration,
    first_text: Option<Duration>,
    usage: Option<MeteredUsage>,
}

impl ModelCall {
    /// Calls the model and streams its text, while `beside` runs.
    pub(super) async fn run(
        deps: &impl AgentDeps,
        owned: &OwnedTurn,
        (request, captures_raw_payloads, meter): (&Request, bool, CallMeter),
        (stream, round): (&Writer, u32),
        beside: impl Future,
    ) -> (Result<Reply, Error>, Self) {
        let (turn, host) = (&owned.turn, deps.host());
        let (started, requested_at) = (host.monotonic(), host.now());
        let (mut first_text, mut written) = (None, String::new());
        let mut on_text = |delta: &str| {
            first_text.get_or_insert_with(|| host.monotonic().saturating_sub(started));
            if written.len() < MAX_PARTIAL_BYTES {
                written.push_str(delta);
            }
            stream.push_text(&turn.key, delta);
        };
        let mut on_pause = |pause: Option<Duration>| match pause {
            Some(pause) => stream.retrying(turn, round, pause),
            None => stream.status(turn, round, Phase::Thinking),
        };
        let mut index = 0;
        let mut on_reasoning = |piece: &str| {
            stream.push_reasoning(Reasoning { round, index, text: piece.to_owned() });
            index += utf16_length(piece);
        };
        let observer =
            Observer::new(&mut on_text).with_pauses(&mut on_pause).with_reasoning(&mut on_reasoning);
        let mut observer = observer.with_raw_payloads(captures_raw_payloads).with_meter(meter);
        let reply = deps.model().reply(request, owned.time_left(deps), &mut observer);
        let timed = async { (reply.await, host.monotonic().saturating_sub(started)) };
        let ((reply, duration), _) = join(timed, beside).await;
        let usage = observer.meter.usage();
        let Observer { has_output, failed_response_id, raw: raw_payloads, failure, .. } = observer;
        let call = Self {
            written,
            has_output,
            failed_response_id,
            raw_payloads,
            failure,
            requested_at,
            duration,
            first_text,
            usage,
        };
        (reply, call)
    }

    /// Adds the call to the turn's totals, and returns the record of it.
    pub(super) fn record(&self, turn: &Turn, spec: &TurnSpec, totals: &mut Totals) -> ModelCallInfo {
        totals.add_model_call(self.usage, self.duration, self.first_text);
        ModelCallInfo {
            attempt_id: turn.attempt.clone(),
            attempt_number: turn.takeovers.saturating_add(1),
            requested_at: self.requested_at,
            duration_ms: millis(self.duration),
            usage: self.usage.map(|metered| metered.usage),
            number: totals.model_calls,
            has_raw_payloads: spec.store_raw_payloads,
            has_long_values: true,
            recovery_point: 0,
        }
    }
}
