//! Repeated requests: by their key, or by the SDKs' count of retries.

use contracts::request::UserMessage;
use futures::future::try_join_all;
use http::HeaderMap;
use turns::{flow::DerivedSession, refusal::Refusal, stream::ResponseStart};

use super::{Started, Turns, turn::Start};
use crate::{
    error::{ApiError, refused},
    request::CreateResponse,
    retry::{IDEMPOTENCY_KEY, MAX_EQUAL, MAX_KEY_CHARS, MINUTES, RETRY_COUNT, RequestUser, Seed},
};

/// Starts the turn of a request, or finds the one that an earlier try started.
///
/// # Errors
/// If the headers name no valid repetition, or the turn to continue from can't be continued.
pub async fn start_response<T: Turns>(
    turns: &T,
    (request, message): (&CreateResponse, &UserMessage),
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Started<T::Work>, ApiError> {
    let start = &Start { turns, request, message };
    if let Some(key) = headers.get(IDEMPOTENCY_KEY) {
        let key = key.to_str().ok().filter(|key| !key.is_empty() && key.len() <= MAX_KEY_CHARS);
        let rule = "must have 1 to 255 ASCII characters";
        let key = key.ok_or_else(|| ApiError::value("Idempotency-Key", rule))?;
        return with_key(start, key).await;
    }
    let (user, minute) = (start.user(), turns.now() / 60);
    let is_new = match retry_count(headers)? {
        Some(0) => true,
        Some(_) => {
            if let Some(seed) = first_try(start, body, minute).await? {
                return start.with_seed(&seed, false).await;
            }
            false
        }
        None => return start.with_seed(&random(turns), true).await,
    };
    let seeds = (0..MAX_EQUAL).map(|ordinal| Seed::of_body(user, body, minute, ordinal));
    match first_usable(start, seeds, is_new).await? {
        Some(started) => Ok(started),
        None => start.with_seed(&random(turns), true).await,
    }
}

/// Starts the turn of a request with an idempotency key, or finds it.
async fn with_key<T: Turns>(start: &Start<'_, T>, key: &str) -> Result<Started<T::Work>, ApiError> {
    let seeds = |user| (0..MAX_EQUAL).map(move |ordinal| Seed::of_key(user, key, ordinal));
    for user in start.users().skip(1) {
        if let Some(seed) = latest(start, seeds(user)).await? {
            return start.with_seed(&seed, false).await;
        }
    }
    let started = first_usable(start, seeds(start.user()), false).await?;
    started.ok_or_else(|| refused(&Refusal::SessionIdConflict))
}

/// Returns the number of the retry, as OpenAI's SDKs count them. An unreadable number is refused: taken for absent, it
/// would make a retry a new request.
///
/// # Errors
/// If the header isn't a number.
pub fn retry_count(headers: &HeaderMap) -> Result<Option<u32>, ApiError> {
    let Some(count) = headers.get(RETRY_COUNT) else { return Ok(None) };
    let count = count.to_str().ok().and_then(|count| count.parse().ok());
    count.map(Some).ok_or_else(|| ApiError::value(RETRY_COUNT, "must be a number"))
}

/// Starts the turn of the first seed whose ids are usable. `None` if there is no such seed.
async fn first_usable<T: Turns>(
    start: &Start<'_, T>,
    seeds: impl Iterator<Item = Seed>,
    is_new: bool,
) -> Result<Option<Started<T::Work>>, ApiError> {
    for seed in seeds {
        let started = start.with_seed(&seed, is_new).await?;
        let is_in_use = match &started.1 {
            ResponseStart::Refused(Refusal::SessionIdConflict) => true,
            ResponseStart::Refused(Refusal::TurnIdConflict) => is_new,
            _ => false,
        };
        if !is_in_use {
            return Ok(Some(started));
        }
    }
    Ok(None)
}

/// Returns the seed of the latest equal request of the last minutes.
async fn first_try<T: Turns>(
    start: &Start<'_, T>,
    body: &[u8],
    minute: u64,
) -> Result<Option<Seed>, ApiError> {
    let minutes = (0..MINUTES).map(|ago| minute.saturating_sub(ago));
    let users: Vec<RequestUser<'_>> = start.users().collect();
    let tries = minutes.flat_map(|minute| users.iter().map(move |user| (*user, minute)));
    let found = try_join_all(tries.map(|(user, minute)| {
        latest(start, (0..MAX_EQUAL).map(move |ordinal| Seed::of_body(user, body, minute, ordinal)))
    }));
    Ok(found.await?.into_iter().flatten().next())
}

/// Returns the last of these seeds whose turn is there. Seeds are used in their order.
async fn latest<T: Turns>(
    start: &Start<'_, T>,
    seeds: impl Iterator<Item = Seed>,
) -> Result<Option<Seed>, ApiError> {
    let mut latest = None;
    for seed in seeds {
        match start.find(&seed).await? {
            DerivedSession::Free => break,
            DerivedSession::Own(Some(_)) => latest = Some(seed),
            DerivedSession::Own(None) | DerivedSession::Conflict => {}
        }
    }
    Ok(latest)
}

fn random(turns: &impl Turns) -> Seed {
    Seed::random(turns.random().as_bytes())
}
