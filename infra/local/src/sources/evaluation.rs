//! `local evaluate`: how often the file that answers a question is among what a turn would be told.

use std::fmt::Write;
use std::path::Path;

use contracts::id::OrgId;
use serde::Deserialize;

use super::question::Searcher;
use super::{Asked, Error, Index, Place, index};

/// Tokens enough for every chunk that is asked for.
const TOKENS: u32 = 1_000_000;

/// A question, and the file that answers it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Question {
    question: String,
    path: String,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The folder, and how to index it.
    pub index: Index,
    /// The questions: a JSON object a line, `{"Question", "Path"}`.
    pub questions: std::path::PathBuf,
    /// Among how many chunks the file has to be.
    pub chunks: u32,
}

/// How many were found, of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rate {
    /// Questions whose file was found.
    pub hits: usize,
    /// Questions.
    pub of: usize,
}

impl Rate {
    /// In percent.
    #[must_use]
    pub fn percent(self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "counts of questions")]
        let share = self.hits as f64 / self.of.max(1) as f64;
        100.0 * share
    }
}

/// Indexes the folder and asks every question, by the dense vectors alone and as a turn does. Returns the rate of the
/// latter, and all of it in words.
///
/// # Errors
/// [`Error`].
pub async fn evaluate(place: &Place, asked: &Evaluation) -> Result<(Rate, String), Error> {
    let questions = read(&asked.questions)?;
    let mut told = index(place, &leaving_out_questions(asked)).await?;
    told.push('\n');
    let searcher = Searcher::new(place, &asked.index.options.collection).await?;
    let mut rates = [Rate::default(); 2];
    let mut missed = String::new();
    for Question { question, path } in &questions {
        let asked = one(asked, question, asked.index.source.org.clone());
        let vector = searcher.vector(&asked.model, question).await?;
        for (rate, hybrid) in rates.iter_mut().zip([false, true]) {
            let found = searcher.find(&asked, &vector, hybrid).await?;
            rate.of += 1;
            if found.iter().any(|chunk| chunk.path == *path) {
                rate.hits += 1;
            } else if hybrid {
                let instead = found.first().map_or("nothing", |chunk| chunk.path.as_str());
                let _ = writeln!(missed, "  {question}\n    {path} is not among them; first is {instead}");
            }
        }
    }
    let [dense, hybrid] = rates;
    let _ = writeln!(
        told,
        "{} questions, the file among {} chunks: dense {:.1} % ({}), hybrid {:.1} % ({}), a gain of {:.1}.",
        hybrid.of,
        asked.chunks,
        dense.percent(),
        dense.hits,
        hybrid.percent(),
        hybrid.hits,
        hybrid.percent() - dense.percent(),
    );
    if !missed.is_empty() {
        let _ = write!(told, "Missed:\n{missed}");
    }
    Ok((hybrid, told))
}

/// The questions themselves would be the nearest to every question.
fn leaving_out_questions(asked: &Evaluation) -> Index {
    let mut index = asked.index.clone();
    let (folder, file) = (index.folder.canonicalize(), asked.questions.canonicalize());
    if let (Ok(folder), Ok(file)) = (folder, file)
        && let Ok(below) = file.strip_prefix(&folder)
    {
        index.options.rules.except.push(below.to_string_lossy().replace('\\', "/"));
    }
    index
}

fn one(asked: &Evaluation, question: &str, org: OrgId) -> Asked {
    Asked {
        question: question.to_owned(),
        org,
        collection: asked.index.options.collection.clone(),
        model: asked.index.options.model.clone(),
        chunks: asked.chunks,
        tokens: TOKENS,
    }
}

fn read(file: &Path) -> Result<Vec<Question>, Error> {
    let text = std::fs::read_to_string(file)?;
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    lines
        .map(|(line, number)| {
            serde_json::from_str(line).map_err(|error| {
                Error::Questions(format!(
                    "line {number} of {} is no {{\"Question\", \"Path\"}}: {error}",
                    file.display()
                ))
            })
        })
        .collect()
}
