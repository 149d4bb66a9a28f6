//! Repeated requests: by their key, or by the SDKs' count of retries.

use axum::http::HeaderMap;
use futures::future::try_join_all;
use openai_api::{
    error::ApiError,
    id::ResponseId,
    retry::{IDEMPOTENCY_KEY, MAX_EQUAL, MAX_KEY_CHARS, MINUTES, RETRY_COUNT, Seed},
};
use service::respond::Work;
use turns::{refusal::Refusal, stream::ResponseStart};

use super::start::Start;

/// Starts the turn of a request, or finds the one that an earlier try started.
pub(super) async fn start(
    start: &Start<'_>,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(ResponseId, ResponseStart<Work>), ApiError> {
    let (user, minute) = (start.user(), start.context.now / 60);
    if let Some(key) = headers.get(IDEMPOTENCY_KEY) {
        let key = key.to_str().ok().filter(|key| !key.is_empty() && key.len() <= MAX_KEY_CHARS);
        let rule = "must have 1 to 255 ASCII characters";
        let key = key.ok_or_else(|| ApiError::value("Idempotency-Key", rule))?;
        return start.with_seed(&Seed::of_key(user, key), false).await;
    }
    match retry_count(headers)? {
        Some(0) => {
            for ordinal in 0..MAX_EQUAL {
                let started = start.with_seed(&Seed::of_body(user, body, minute, ordinal), true).await?;
                // A response that was deleted since keeps its ids.
                let is_taken = matches!(
                    started.1,
                    ResponseStart::Refused(Refusal::TurnIdConflict | Refusal::SessionDeleted)
                );
                if !is_taken {
                    return Ok(started);
                }
            }
            start.with_seed(&random(), true).await
        }
        Some(_) => {
            let seed = first_try(start, body, minute).await?;
            start.with_seed(&seed.unwrap_or_else(|| Seed::of_body(user, body, minute, 0)), false).await
        }
        None => start.with_seed(&random(), true).await,
    }
}

/// Returns the number of the retry, as OpenAI's SDKs count them. An unreadable number is refused: taken for absent, it
/// would make a retry a new request.
pub(super) fn retry_count(headers: &HeaderMap) -> Result<Option<u32>, ApiError> {
    let Some(count) = headers.get(RETRY_COUNT) else { return Ok(None) };
    let count = count.to_str().ok().and_then(|count| count.parse().ok());
    count.map(Some).ok_or_else(|| ApiError::value(RETRY_COUNT, "must be a number"))
}

/// Returns the seed of the latest equal request of the last minutes.
async fn first_try(start: &Start<'_>, body: &[u8], minute: u64) -> Result<Option<Seed>, ApiError> {
    let user = start.user();
    let minutes = (0..MINUTES).map(|ago| minute.saturating_sub(ago));
    let found = try_join_all(minutes.map(|minute| async move {
        let seed = Seed::of_body(user, body, minute, 0);
        Ok::<_, ApiError>(start.exists(&seed).await?.then_some((minute, seed)))
    }));
    let Some((minute, first)) = found.await?.into_iter().flatten().next() else { return Ok(None) };
    let mut latest = first;
    for ordinal in 1..MAX_EQUAL {
        let seed = Seed::of_body(user, body, minute, ordinal);
        if !start.exists(&seed).await? {
            break;
        }
        latest = seed;
    }
    Ok(Some(latest))
}

fn random() -> Seed {
    Seed::random(uuid::Uuid::new_v4().as_bytes())
}
