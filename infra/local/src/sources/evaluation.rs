//! `aptix evaluate`: measures how often the passage that answers a question is among the retrieved ones.

use std::fmt::Write;
use std::path::Path;

use agent::retrieval::Chunk;
use serde::Deserialize;

use crate::json_file;

use super::error::Error;
use super::index::{Index, index};
use super::search::{Baseline, SearchRequest, Searcher};
use super::target::Target;

/// Numbers of passages at which hits are counted, beside the number of the request.
const DEPTHS: [u32; 3] = [1, 8, 12];

/// A question and the passage that answers it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Question {
    question: String,
    path: String,
    /// First and last line of the passage; a hit has all of them.
    lines: Option<(u32, u32)>,
    /// A text of the passage. Whitespace is not compared.
    text: Option<String>,
}

impl Question {
    /// Returns true if a chunk has the passage; without lines and text, any chunk of the file has it.
    fn is_answered_by(&self, chunk: &Chunk) -> bool {
        let has_lines =
            self.lines.is_none_or(|(first, last)| chunk.start_line <= first && last <= chunk.end_line);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let has_text = self.text.as_ref().is_none_or(|text| words(&chunk.text).contains(&words(text)));
        chunk.path == self.path && has_lines && has_text
    }

    /// Returns true if the question names a passage, and not only a file.
    fn names_passage(&self) -> bool {
        self.lines.is_some() || self.text.is_some()
    }
}

/// Input of [`evaluate`].
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The folder, and the indexing options.
    pub index: Index,
    /// File with the questions, one JSON object per line: `{"Question", "Path", "Lines" or "Text"}`.
    pub questions: std::path::PathBuf,
    /// Number of retrieved passages that must include the answer.
    pub chunks: u32,
    /// Total tokens of the passages, at most.
    pub tokens: u32,
}

/// Hit rate of an evaluation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HitRate {
    /// Questions whose answer was retrieved.
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

/// Hits by the number of passages, as a row of the report.
struct Row {
    name: &'static str,
    baseline: Option<Baseline>,
    hits: Vec<usize>,
}

/// Indexes the folder and searches for every question as a turn does, by terms alone and by dense vectors alone. Returns
/// the hit rate of the first and a report of all.
///
/// # Errors
/// [`Error`].
pub async fn evaluate(target: &Target, evaluation: &Evaluation) -> Result<(HitRate, String), Error> {
    let questions = read_questions(&evaluation.questions)?;
    let mut output = index(target, &excluding_questions(evaluation)).await?;
    output.push('\n');
    let searcher = Searcher::new(target, &evaluation.index.options.collection).await?;
    let mut depths = DEPTHS.to_vec();
    depths.push(evaluation.chunks);
    depths.sort_unstable();
    depths.dedup();
    let row = |name, baseline| Row { name, baseline, hits: vec![0; depths.len()] };
    let mut rows =
        [row("turn", None), row("terms", Some(Baseline::Terms)), row("dense", Some(Baseline::Dense))];
    let mut misses = String::new();
    let mut rate = HitRate { hits: 0, questions: questions.len() };
    for question in &questions {
        let vector = searcher.vector(&evaluation.index.options.model, &question.question).await?;
        for row in &mut rows {
            for (depth, hits) in depths.iter().zip(&mut row.hits) {
                let request = search_request(evaluation, &question.question, *depth);
                let found = match row.baseline {
                    None => searcher.find(&request, &vector).await?.chunks,
                    Some(baseline) => searcher.rank(&request, &vector, baseline).await?,
                };
                let is_hit = found.iter().any(|chunk| question.is_answered_by(chunk));
                *hits += usize::from(is_hit);
                if row.baseline.is_none() && *depth == evaluation.chunks {
                    rate.hits += usize::from(is_hit);
                    if !is_hit {
                        write_miss(&mut misses, question, &found);
                    }
                }
            }
        }
    }
    write_table(&mut output, &questions, &depths, &rows);
    let _ = writeln!(output, "Hit rate at {} passages: {:.1} %.", evaluation.chunks, rate.percent());
    if !misses.is_empty() {
        let _ = write!(output, "Not retrieved:\n{misses}");
    }
    Ok((rate, output))
}

fn write_table(output: &mut String, questions: &[Question], depths: &[u32], rows: &[Row]) {
    let unit = if questions.iter().any(Question::names_passage) { "Passage" } else { "File" };
    let _ = write!(output, "{unit} hits for {} questions:\n{:<8}", questions.len(), "");
    depths.iter().for_each(|depth| _ = write!(output, "{:>6}", format!("@{depth}")));
    for Row { name, hits, .. } in rows {
        let _ = write!(output, "\n{name:<8}");
        hits.iter().for_each(|hits| _ = write!(output, "{hits:>6}"));
    }
    output.push('\n');
}

fn write_miss(misses: &mut String, question: &Question, found: &[Chunk]) {
    let first = found.first().map_or_else(
        || "(none)".to_owned(),
        |chunk| format!("{}:{}-{}", chunk.path, chunk.start_line, chunk.end_line),
    );
    let Question { question, path, .. } = question;
    let _ = writeln!(misses, "  {question}\n    {path} was not retrieved; the top result is {first}");
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

fn search_request(evaluation: &Evaluation, question: &str, chunks: u32) -> SearchRequest {
    SearchRequest {
        question: question.to_owned(),
        org: evaluation.index.source.org.clone(),
        collection: evaluation.index.options.collection.clone(),
        model: evaluation.index.options.model.clone(),
        chunks,
        tokens: evaluation.tokens,
        scope: Vec::new(),
        json: false,
    }
}

fn read_questions(file: &Path) -> Result<Vec<Question>, Error> {
    let text = json_file::read_text(file)?;
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    lines
        .map(|(line, number)| {
            serde_json::from_str(line).map_err(|error| {
                Error::Questions(format!(
                    "line {number} of {} is not a {{\"Question\", \"Path\", \"Lines\" or \"Text\"}} object: {error}",
                    file.display()
                ))
            })
        })
        .collect()
}
