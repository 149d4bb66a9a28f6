//! The age of a queue's oldest message, which only CloudWatch knows.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::json;

use crate::aws::{Aws, AwsError};

/// Action of CloudWatch's API.
const GET_METRIC_STATISTICS: &str = "GraniteServiceVersion20100801.GetMetricStatistics";
/// Period of a data point.
const PERIOD_SECONDS: u64 = 60;
/// Age up to which a data point counts. SQS reports a metric with some minutes' delay, and none of an idle queue.
const WINDOW: Duration = Duration::from_secs(15 * 60);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GetMetricStatisticsResponse {
    #[serde(default)]
    datapoints: Vec<Datapoint>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Datapoint {
    timestamp: f64,
    maximum: f64,
}

/// Returns the age of the oldest message in seconds, as of the newest data point. `None` without recent data.
///
/// # Errors
/// Fails if CloudWatch can't be asked.
pub async fn oldest_message_seconds(aws: &Aws, queue_url: &str) -> Result<Option<u64>, AwsError> {
    let queue = queue_url.rsplit('/').next().unwrap_or_default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let request = json!({
        "Namespace": "AWS/SQS",
        "MetricName": "ApproximateAgeOfOldestMessage",
        "Dimensions": [{"Name": "QueueName", "Value": queue}],
        "StartTime": now.saturating_sub(WINDOW).as_secs(),
        "EndTime": now.as_secs(),
        "Period": PERIOD_SECONDS,
        "Statistics": ["Maximum"],
    });
    let response = aws.json("monitoring", GET_METRIC_STATISTICS, &request).await?;
    let response: GetMetricStatisticsResponse = serde_json::from_value(response)
        .map_err(|error| AwsError::unreadable("monitoring", "GetMetricStatistics", error))?;
    let newest =
        response.datapoints.into_iter().max_by(|one, other| one.timestamp.total_cmp(&other.timestamp));
    // An age is a whole number of seconds.
    Ok(newest.map(|newest| Duration::try_from_secs_f64(newest.maximum).unwrap_or_default().as_secs()))
}
