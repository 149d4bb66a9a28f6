//! What a local cloud's machine does: its function processes, its queues, the ends of its logs.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use aws_sdk_sqs::types::QueueAttributeName;
use serde::Serialize;

use crate::endpoints::Endpoints;
use crate::lambda::{self, Function, Lambda};

/// As much of a log's end is read, at most.
const MOST_LOG_BYTES: u64 = 64 * 1024;
/// As many of its lines are told, at most.
const MOST_LOG_LINES: usize = 200;

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
    /// Whether the scripted model is what answers.
    pub(crate) is_scripted: bool,
}

/// What it does right now.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Doing {
    functions: Vec<Processes>,
    queues: Vec<Depth>,
    services: Vec<Service>,
    data_folder: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Processes {
    name: &'static str,
    processes: usize,
}

/// How many messages a queue has; nothing where it does not say.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Depth {
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
    pub(super) async fn state(&self) -> Doing {
        let Endpoints { api, dynamodb, s3, sqs, model, qdrant, finalize_queue, dead_letter_queue } =
            &self.endpoints;
        let services = [
            ("API", api),
            ("DynamoDB", dynamodb),
            ("S3", s3),
            ("SQS", sqs),
            ("Model", model),
            ("Qdrant", qdrant),
        ];
        let functions = Function::ALL
            .map(|function| Processes { name: function.name(), processes: self.lambda.processes(function) });
        Doing {
            functions: functions.into(),
            queues: vec![
                self.depth("finalize", finalize_queue).await,
                self.depth("dead letters", dead_letter_queue).await,
            ],
            services: services.map(|(name, url)| Service { name, url: url.clone() }).into(),
            data_folder: self.data.display().to_string(),
        }
    }

    async fn depth(&self, name: &'static str, queue: &str) -> Depth {
        use QueueAttributeName::{
            ApproximateNumberOfMessages as Waiting, ApproximateNumberOfMessagesDelayed as Delayed,
            ApproximateNumberOfMessagesNotVisible as InFlight,
        };
        let asked = self.sqs.get_queue_attributes().queue_url(queue);
        let asked = asked.set_attribute_names(Some(vec![Waiting, Delayed, InFlight]));
        let told = asked.send().await.ok().and_then(|told| told.attributes).unwrap_or_default();
        let count = |name| told.get(&name).and_then(|count| count.parse().ok());
        Depth { name, waiting: count(Waiting), delayed: count(Delayed), in_flight: count(InFlight) }
    }

    /// The newest lines of a function's log; none where there is no such function.
    pub(super) fn log(&self, function: &str) -> Option<Log> {
        let function = Function::ALL.into_iter().find(|known| known.name() == function)?;
        let text = end(&lambda::log_path(&self.logs, function)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let first = lines.len().saturating_sub(MOST_LOG_LINES);
        Some(Log { lines: lines.iter().skip(first).map(|line| (*line).to_owned()).collect() })
    }
}

/// A file's last lines; the first of them may be cut.
fn end(path: &std::path::Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_LOG_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(MOST_LOG_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn only_the_end_of_a_file_is_read() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for n in 0..20_000 {
            writeln!(file, "line {n}").unwrap();
        }
        let text = end(file.path()).unwrap();
        assert!(u64::try_from(text.len()).unwrap() <= MOST_LOG_BYTES && text.ends_with("line 19999\n"));
    }
}
