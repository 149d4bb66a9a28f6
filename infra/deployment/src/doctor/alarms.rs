//! Alarms: they exist, notify a topic, and somebody reads the topic.

use serde::Deserialize;
use serde_json::json;

use super::Finding;
use crate::aws::{Aws, Members};
use crate::stack::Stack;

/// Action of CloudWatch's API.
const DESCRIBE_ALARMS: &str = "GraniteServiceVersion20100801.DescribeAlarms";
/// Alarms read, at most. The template has fewer.
const MAX_ALARMS: u32 = 100;
/// Version of SNS's API.
const SNS_VERSION: &str = "2010-03-31";
/// State of an alarm that fires.
const FIRING: &str = "ALARM";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DescribeAlarmsResponse {
    #[serde(default)]
    metric_alarms: Vec<Alarm>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Alarm {
    alarm_name: String,
    #[serde(default)]
    state_value: String,
    #[serde(default)]
    actions_enabled: bool,
    #[serde(default)]
    alarm_actions: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListSubscriptionsByTopicResponse {
    list_subscriptions_by_topic_result: ListSubscriptionsByTopicResult,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListSubscriptionsByTopicResult {
    #[serde(default)]
    subscriptions: Members<Subscription>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Subscription {
    #[serde(default)]
    subscription_arn: String,
}

/// Checks the stack's alarms and their topic.
pub async fn check(aws: &Aws, stack: &Stack) -> Vec<Finding> {
    vec![check_alarms(aws, stack).await, check_topic(aws, stack).await]
}

async fn check_alarms(aws: &Aws, stack: &Stack) -> Finding {
    const SUBJECT: &str = "alarms";
    let request = json!({"AlarmNamePrefix": format!("{}-", stack.name), "MaxRecords": MAX_ALARMS});
    let alarms = match aws.json("monitoring", DESCRIBE_ALARMS, &request).await {
        Ok(response) => serde_json::from_value::<DescribeAlarmsResponse>(response),
        Err(error) => return Finding::of_error(SUBJECT, &error),
    };
    let Ok(DescribeAlarmsResponse { metric_alarms: alarms }) = alarms else {
        return Finding::skipped(SUBJECT, "CloudWatch's response can't be read");
    };
    if alarms.is_empty() {
        return Finding::warning(SUBJECT, "the stack has no alarms. Deploy the template again.");
    }
    let names = |wanted: &dyn Fn(&Alarm) -> bool| -> String {
        let names = alarms.iter().filter(|alarm| wanted(alarm)).map(|alarm| alarm.alarm_name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    let silent = names(&|alarm| !alarm.actions_enabled || alarm.alarm_actions.is_empty());
    if !silent.is_empty() {
        let text = format!(
            "these alarms notify nobody: {silent}. Enable them: `aws cloudwatch enable-alarm-actions`."
        );
        return Finding::warning(SUBJECT, text);
    }
    let firing = names(&|alarm| alarm.state_value == FIRING);
    if !firing.is_empty() {
        return Finding::warning(SUBJECT, format!("these fire: {firing}. See docs/guides/operating.md."));
    }
    Finding::ok(SUBJECT, format!("{} notify a topic, and none fires", alarms.len()))
}

async fn check_topic(aws: &Aws, stack: &Stack) -> Finding {
    const SUBJECT: &str = "alarm topic";
    let Some(topic) = stack.output("AlarmTopicArn") else {
        return Finding::skipped(SUBJECT, "the stack has no output AlarmTopicArn");
    };
    let response: Result<ListSubscriptionsByTopicResponse, _> =
        aws.query("sns", SNS_VERSION, "ListSubscriptionsByTopic", &[("TopicArn", topic)]).await;
    let subscriptions = match response {
        Ok(response) => response.list_subscriptions_by_topic_result.subscriptions.member,
        Err(error) => return Finding::of_error(SUBJECT, &error),
    };
    // A subscription without confirmation has the text `PendingConfirmation` in place of an ARN.
    let confirmed =
        subscriptions.iter().filter(|subscription| subscription.subscription_arn.starts_with("arn:"));
    match confirmed.count() {
        0 => {
            let fix = format!(
                "aws sns subscribe --topic-arn {topic} --protocol email --notification-endpoint EMAIL"
            );
            Finding::warning(SUBJECT, format!("the topic has no confirmed subscription. Subscribe: `{fix}`."))
        }
        count => Finding::ok(SUBJECT, format!("{count} confirmed subscriptions")),
    }
}
