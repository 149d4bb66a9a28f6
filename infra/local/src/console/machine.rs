//! State of the machine that runs a local cloud: its function processes, its queues and the ends of its logs.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use aws_sdk_sqs::types::QueueAttributeName;
use serde::Serialize;

use crate::endpoints::Endpoints;
use crate::function::Function;
use crate::lambda::{self, Lambda};
use crate::options::ModelSetup;

/// Bytes read from the end of a log, at most.
const MAX_LOG_BYTES: u64 = 64 * 1024;
/// Log lines returned, at most.
const MAX_LOG_LINES: usize = 200;

/// The machine of a local cloud.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) lambda: Arc<Lambda>,
    pub(crate) sqs: aws_sdk_sqs::Client,
    pub(crate) endpoints: Endpoints,
    /// The folder that holds the state.
    pub(crate) data: PathBuf,
    /// The folder of the functions' logs.
    pub(crate) logs: PathBuf,
    /// True if the mock model answers.
    pub(crate) is_mock: bool,
    /// The way in which the console changes the model.
    pub(crate) model_setup: Option<ModelSetup>,
    /// Id of this start, by which a page notices a restart.
    pub(crate) start: String,
}

/// Snapshot of the machine's state.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct MachineState {
    functions: Vec<Processes>,
    queues: Vec<QueueDepth>,
    services: Vec<Service>,
    data_folder: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Processes {
    name: &'static str,
    processes: usize,
}

/// Message counts of a queue; absent if the queue does not report them.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct QueueDepth {
    name: &'static str,
    waiting: Option<u64>,
    delayed: Option<u64>,
    in_flight: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Service {
    name: &'static str,
    url: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Log {
    lines: Vec<String>,
}

impl Machine {
    pub(super) async fn state(&self) -> MachineState {
        let Endpoints {
            api,
            dynamodb,
            s3,
            sqs,
            secrets,
            model,
            qdrant,
            finalize_queue,
            dead_letter_queue,
            knowledge_queue,
            knowledge_dead_letter_queue,
            turn_queue,
            turn_dead_letter_queue,
            webhook_queue,
        } = &self.endpoints;
        let services = [
            ("API", api),
            ("DynamoDB", dynamodb),
            ("S3", s3),
            ("SQS", sqs),
            ("Secrets Manager", secrets),
            ("Model", model),
            ("Qdrant", qdrant),
        ];
        let functions = Function::ALL
            .map(|function| Processes { name: function.name(), processes: self.lambda.processes(function) });
        MachineState {
            functions: functions.into(),
            queues: vec![
                self.depth("finalize", finalize_queue).await,
                self.depth("dead letters", dead_letter_queue).await,
                self.depth("knowledge", knowledge_queue).await,
                self.depth("knowledge dead letters", knowledge_dead_letter_queue).await,
                self.depth("turns", turn_queue).await,
                self.depth("turns dead letters", turn_dead_letter_queue).await,
                self.depth("webhooks", webhook_queue).await,
            ],
            services: services.map(|(name, url)| Service { name, url: url.clone() }).into(),
            data_folder: self.data.display().to_string(),
        }
    }

    async fn depth(&self, name: &'static str, queue: &str) -> QueueDepth {
        use QueueAttributeName::{
            ApproximateNumberOfMessages as Waiting, ApproximateNumberOfMessagesDelayed as Delayed,
            ApproximateNumberOfMessagesNotVisible as InFlight,
        };
        let request = self.sqs.get_queue_attributes().queue_url(queue);
        let request = request.set_attribute_names(Some(vec![Waiting, Delayed, InFlight]));
        let attributes =
            request.send().await.ok().and_then(|response| response.attributes).unwrap_or_default();
        let count = |name| attributes.get(&name).and_then(|count| count.parse().ok());
        QueueDepth { name, waiting: count(Waiting), delayed: count(Delayed), in_flight: count(InFlight) }
    }

    /// Returns the newest lines of a function's log, or `None` if there is no such function.
    pub(super) fn log(&self, function: &str) -> Option<Log> {
        let function = Function::ALL.into_iter().find(|candidate| candidate.name() == function)?;
        let text = tail(&lambda::log_path(&self.logs, function)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let first = lines.len().saturating_sub(MAX_LOG_LINES);
        Some(Log { lines: lines.iter().skip(first).map(|line| (*line).to_owned()).collect() })
    }
}

/// Returns a file's last lines. The first of them may be truncated.
fn tail(path: &std::path::Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_LOG_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(MAX_LOG_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn log_tail_is_bounded() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for n in 0..20_000 {
            writeln!(file, "line {n}").unwrap();
        }
        let text = tail(file.path()).unwrap();
        assert!(u64::try_from(text.len()).unwrap() <= MAX_LOG_BYTES && text.ends_with("line 19999\n"));
    }
}
