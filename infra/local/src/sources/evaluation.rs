//! `aptix evaluate`: measures how often the file that answers a question is among the retrieved chunks.

use std::fmt::Write;
use std::path::Path;

use contracts::id::OrgId;
use serde::Deserialize;

use crate::json_file;

use super::error::Error;
use super::index::{Index, index};
use super::search::{SearchRequest, Searcher};
use super::target::Target;

/// Token limit that never drops a requested chunk.
const MAX_TOKENS: u32 = 1_000_000;

/// A question and the file that answers it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Question {
    question: String,
    path: String,
}

/// Input of [`evaluate`].
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The folder, and the indexing options.
    pub index: Index,
    /// File with the questions, one JSON object per line: `{"Question", "Path"}`.
    pub questions: std::path::PathBuf,
    /// Number of retrieved chunks that must include the file.
    pub chunks: u32,
}

/// Hit rate of an evaluation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HitRate {
    /// Questions whose file was retrieved.
    pub hits: usize,
    /// Number of questions.
    pub questions: usize,
}

impl HitRate {
    /// Returns the rate in percent.
    #[must_use]
    pub fn percent(self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "counts of questions")]
        let share = self.hits as f64 / self.questions.max(1) as f64;
        100.0 * share
    }
}

/// Indexes the folder and searches for every question, once with dense vectors only and once as a turn does. Returns
/// the hit rate of the latter and a report of both.
///
/// # Errors
/// [`Error`].
pub async fn evaluate(target: &Target, evaluation: &Evaluation) -> Result<(HitRate, String), Error> {
    let questions = read_questions(&evaluation.questions)?;
    let mut output = index(target, &excluding_questions(evaluation)).await?;
    output.push('\n');
    let searcher = Searcher::new(target, &evaluation.index.options.collection).await?;
    let mut rates = [HitRate::default(); 2];
    let mut misses = String::new();
    for Question { question, path } in &questions {
        let request = search_request(evaluation, question, evaluation.index.source.org.clone());
        let vector = searcher.vector(&request.model, question).await?;
        for (rate, hybrid) in rates.iter_mut().zip([false, true]) {
            let found = searcher.find(&request, &vector, hybrid).await?;
            rate.questions += 1;
            if found.iter().any(|chunk| chunk.path == *path) {
                rate.hits += 1;
            } else if hybrid {
                let first_path = found.first().map_or("(none)", |chunk| chunk.path.as_str());
                let _ = writeln!(
                    misses,
                    "  {question}\n    {path} was not retrieved; the top result is {first_path}"
                );
            }
        }
    }
    let [dense, hybrid] = rates;
    let _ = writeln!(
        output,
        "Hit rate for {} questions at {} chunks: dense {:.1} % ({}), hybrid {:.1} % ({}), gain {:.1}.",
        hybrid.questions,
        evaluation.chunks,
        dense.percent(),
        dense.hits,
        hybrid.percent(),
        hybrid.hits,
        hybrid.percent() - dense.percent(),
    );
    if !misses.is_empty() {
        let _ = write!(output, "Not retrieved:\n{misses}");
    }
    Ok((hybrid, output))
}

/// Returns the indexing request without the questions file, whose chunks would match every question best.
fn excluding_questions(evaluation: &Evaluation) -> Index {
    let mut index = evaluation.index.clone();
    let (folder, file) = (index.folder.canonicalize(), evaluation.questions.canonicalize());
    if let (Ok(folder), Ok(file)) = (folder, file)
        && let Ok(below) = file.strip_prefix(&folder)
    {
        index.options.rules.exclude.push(below.to_string_lossy().replace('\\', "/"));
    }
    index
}

fn search_request(evaluation: &Evaluation, question: &str, org: OrgId) -> SearchRequest {
    SearchRequest {
        question: question.to_owned(),
        org,
        collection: evaluation.index.options.collection.clone(),
        model: evaluation.index.options.model.clone(),
        chunks: evaluation.chunks,
        tokens: MAX_TOKENS,
    }
}

fn read_questions(file: &Path) -> Result<Vec<Question>, Error> {
    let text = json_file::read_text(file)?;
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    lines
        .map(|(line, number)| {
            serde_json::from_str(line).map_err(|error| {
                Error::Questions(format!(
                    "line {number} of {} is not a {{\"Question\", \"Path\"}} object: {error}",
                    file.display()
                ))
            })
        })
        .collect()
}
