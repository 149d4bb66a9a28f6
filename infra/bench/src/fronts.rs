//! Turns over the APIs of other vendors compared with the same turns over our own.
//!
//! Both APIs alternate turn by turn on one local cloud, over one kept-alive client, so that a busy machine affects both
//! alike. Each measured turn is the second of its session: an API without sessions gets the first one in the request. It
//! is finalized before the next one starts.

use std::fmt;
use std::time::{Duration, Instant};

use histories::TurnRound;
use serde_json::{Value, json};

use crate::client::{Client, expect_contains, id, ordinary_instruction};
use crate::failure::Failure;
use crate::metric::{Metric, millis, percentile};
use crate::shape::Shape;
use crate::system::System;

/// The largest ratio to our own API that is aimed at.
const LATENCY_GOAL: f64 = 1.05;

/// An API of another vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Front {
    Responses,
    Chat,
    Messages,
}

impl Front {
    fn path(self) -> &'static str {
        match self {
            Self::Responses => "/v1/responses",
            Self::Chat => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
        }
    }

    /// Returns the prefix of the ids of its answers.
    fn id_prefix(self) -> &'static str {
        match self {
            Self::Responses => "\"resp_",
            Self::Chat => "\"chatcmpl-resp_",
            Self::Messages => "\"msg_",
        }
    }

    /// Returns what a complete answer contains.
    fn end_marker(self) -> &'static str {
        match self {
            Self::Responses => "\"status\":\"completed\"",
            Self::Chat => "\"finish_reason\":\"stop\"",
            Self::Messages => "\"stop_reason\":\"end_turn\"",
        }
    }
}

/// The same kind of turn over both APIs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    front: Front,
    own: Shape,
}

/// Kinds of turns that are compared.
pub(crate) const PAIRS: [Pair; 6] = [
    Pair { front: Front::Responses, own: Shape::Buffered },
    Pair { front: Front::Responses, own: Shape::Streamed },
    Pair { front: Front::Chat, own: Shape::Buffered },
    Pair { front: Front::Chat, own: Shape::Streamed },
    Pair { front: Front::Messages, own: Shape::Buffered },
    Pair { front: Front::Messages, own: Shape::Streamed },
];

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = if self.own.is_streamed() { "streamed" } else { "buffered" };
        write!(f, "{shape} turns over {}, baseline our own API", self.front.path())
    }
}

/// Runs turns over both APIs, one at a time. Returns the metrics of the other vendor's API, then those of our own.
pub(crate) async fn run(system: &System, pair: &Pair, turns: usize) -> Result<[Vec<Metric>; 2], Failure> {
    let client = &system.client;
    let (mut front, mut own) = (Vec::with_capacity(turns), Vec::with_capacity(turns));
    for number in 0..turns {
        // Alternate which API goes first.
        if number.is_multiple_of(2) {
            front.push(front_turn(client, pair).await?);
            own.push(own_turn(client, pair.own).await?);
        } else {
            own.push(own_turn(client, pair.own).await?);
            front.push(front_turn(client, pair).await?);
        }
        system.clear_model_requests();
    }
    Ok(compare(&pair.to_string(), front, own))
}

/// Runs and finalizes an ordinary turn. Returns its duration in milliseconds, without the finalization.
async fn own_turn(client: &Client, shape: Shape) -> Result<f64, Failure> {
    let session = client.session(shape).await?;
    let (turn, took) = client.turn(&session, shape, Duration::ZERO).await?;
    client.finalize(&session, &turn).await?;
    Ok(millis(took))
}

/// Does the same over the other vendor's API.
async fn front_turn(client: &Client, Pair { front, own }: &Pair) -> Result<f64, Failure> {
    let is_streamed = own.is_streamed();
    if *front == Front::Responses {
        let conversation = format!("conv_{}", client.session(*own).await?);
        let body = json!({
            "model": "agent/default", "conversation": conversation, "input": ordinary_instruction(), "stream": is_streamed,
        });
        return Ok(millis(answer(client, *front, &body).await?.1));
    }
    let body = |messages: Value, stream: bool| json!({ "model": "agent/default", "max_tokens": 4_096, "messages": messages, "stream": stream });
    // Chats that begin alike would be looked for among each other.
    let question = json!({ "role": "user", "content": format!("{}{}", ordinary_instruction(), id()) });
    let (first, _) = answer(client, *front, &body(json!([question]), false)).await?;
    let first: Value = serde_json::from_str(&first)?;
    let said = ["/choices/0/message/content", "/content/0/text"].iter().find_map(|at| first.pointer(at));
    let said = json!({ "role": "assistant", "content": said.ok_or("the answer has no text")? });
    Ok(millis(answer(client, *front, &body(json!([question, said, question]), is_streamed)).await?.1))
}

/// Posts a request and finalizes its turn. Returns the answer and the time that it took.
async fn answer(client: &Client, front: Front, body: &Value) -> Result<(String, Duration), Failure> {
    let body = body.to_string();
    let sent = Instant::now();
    let answer = client.post(front.path(), body).await?;
    let took = sent.elapsed();
    expect_contains(front.end_marker(), &answer)?;
    let encoded = answer.split_once(front.id_prefix()).and_then(|(_, rest)| rest.split('"').next());
    let (turn, _) = encoded.and_then(TurnRound::decode).ok_or("the answer has no id of a turn")?;
    client.finalize(turn.session.as_str(), turn.turn.as_str()).await?;
    Ok((answer, took))
}

/// Returns the metrics of both APIs. The durations at one position are those of a pair of turns.
fn compare(group: &str, front: Vec<f64>, own: Vec<f64>) -> [Vec<Metric>; 2] {
    let differences: Vec<f64> = front.iter().zip(&own).map(|(front, own)| front - own).collect();
    let metric = |name: &str, mut values: Vec<f64>, percent| {
        values.sort_unstable_by(f64::total_cmp);
        Metric::new(group, &format!("{name}, p{percent}"), "ms", percentile(&values, percent))
    };
    let [mut front, own] = [front, own].map(|took| {
        let name = "added latency";
        vec![metric(name, took.clone(), 50).with_goal(LATENCY_GOAL), metric(name, took, 99)]
    });
    front.push(metric("difference of a pair of turns", differences, 50));
    [front, own]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_is_that_of_paired_turns() {
        let [front, own] = compare("a pair", vec![9.0, 2.0, 4.0], vec![8.0, 1.5, 1.0]);
        let values = |metrics: &[Metric]| metrics.iter().map(|metric| metric.value).collect::<Vec<_>>();
        assert_eq!(values(&front), [4.0, 4.0, 1.0]);
        assert_eq!(values(&own), [1.5, 1.5]);
        let goals: Vec<_> = front.iter().map(|metric| metric.goal).collect();
        assert_eq!(goals, [Some(LATENCY_GOAL), None, None]);
    }
}
