//! Indexes a document, or removes it from the index. A document is a repository of one file.

use std::{io::Write, sync::Arc};

use bytes::Bytes;
use contracts::{
    error::causes,
    id::OrgId,
    request::{KnowledgeAttribute, RagValue, limits::MAX_KNOWLEDGE_BYTES},
};
use indexing::{
    document_text::NoText,
    run::{Error, Indexer, KNOWLEDGE_REPO, Options, Source},
    split::ChunkLength,
    walk::{Rules, SkipReason, SourceFile, read},
};
use knowledge::{
    DocumentId, Record,
    ports::Contents,
    record::{Document, Outcome},
};
use retrieval::AttributeValue;
use service::{providers::CachedKey, sources::IndexTarget};
use tempfile::NamedTempFile;
use tokio::task::spawn_blocking;
use turns::ports::Unavailable;

use crate::app::App;

/// The number of concurrent embedding requests.
const CONCURRENCY: usize = 4;

/// Makes the index match a document. Its earlier chunks are deleted after the new ones are stored, or if it can't be
/// indexed.
pub(crate) async fn index(
    app: &App,
    org: &OrgId,
    id: &DocumentId,
    record: &Record,
) -> Result<Outcome, Unavailable> {
    let Some(target) = &app.target else {
        return Ok(Outcome::Failed("The deployment has no vector database. Ask an operator.".to_owned()));
    };
    let Some(content) = app.objects.content(org, id, &record.upload).await? else {
        return Ok(Outcome::Retry(
            "Its content is not stored yet. Upload it again if it stays so.".to_owned(),
        ));
    };
    let file = spawn_blocking(|| write(content)).await.map_err(std::io::Error::other).flatten();
    let file = file.map_err(|error| Unavailable { what: "the temporary folder", source: error.into() })?;
    let source =
        SourceFile { path: record.document.name.as_str().to_owned(), location: file.path().to_owned() };
    let rules = rules(app);
    let indexer = indexer(target, org, &record.document, rules.clone());
    // An unreadable document would be a folder without files, whose chunks a run leaves alone.
    let to_read = source.clone();
    let is_readable = spawn_blocking(move || read(&to_read, &rules).map(drop)).await;
    let skipped = match is_readable {
        Ok(Ok(())) => match indexer.run_files(vec![source]).await {
            Ok(summary) => match summary.skipped.keys().next() {
                None if summary.chunks > 0 => {
                    return Ok(Outcome::Indexed {
                        chunks: u32::try_from(summary.chunks).unwrap_or(u32::MAX),
                    });
                }
                None => SkipReason::Empty,
                Some(reason) => *reason,
            },
            Err(error) => return Ok(failed(&error)),
        },
        Ok(Err(reason)) => reason,
        Err(_) => SkipReason::Unreadable,
    };
    Ok(match indexer.remove().await {
        Ok(_) => Outcome::Failed(reason_of(skipped)),
        Err(error) => failed(&error),
    })
}

/// Deletes the chunks of a document.
pub(crate) async fn remove(app: &App, org: &OrgId, record: &Record) -> Outcome {
    let Some(target) = &app.target else { return Outcome::Deleted };
    match indexer(target, org, &record.document, rules(app)).remove().await {
        Ok(_) => Outcome::Deleted,
        Err(error) => failed(&error),
    }
}

/// Writes the content to a temporary file, which is removed when it is dropped.
fn write(content: Bytes) -> std::io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new()?;
    file.write_all(&content)?;
    file.flush()?;
    Ok(file)
}

fn rules(app: &App) -> Rules {
    Rules {
        max_file_bytes: u64::try_from(MAX_KNOWLEDGE_BYTES).unwrap_or(u64::MAX),
        document_text: app.document_text.clone(),
        ..Rules::default()
    }
}

fn indexer(
    target: &Arc<IndexTarget<CachedKey>>,
    org: &OrgId,
    document: &Document,
    rules: Rules,
) -> Indexer<CachedKey, CachedKey> {
    let IndexTarget { configured, connection, embeddings } = target.as_ref();
    let options = Options {
        collection: configured.collection.clone(),
        model: configured.embedding.clone(),
        concurrency: CONCURRENCY,
        // The attributes may have changed, and the record knows what is indexed.
        force: true,
        dry_run: false,
        chunk_length: ChunkLength::default(),
        rules,
    };
    Indexer::new(connection.clone(), Arc::clone(embeddings), source(org, document), options)
}

/// Returns the repository of a document.
fn source(org: &OrgId, document: &Document) -> Source {
    let agents: Vec<String> = document.agents.iter().map(|agent| agent.as_str().to_owned()).collect();
    Source {
        org: org.clone(),
        repo: format!("{KNOWLEDGE_REPO}{}", document.name),
        project: None,
        agents: Some(agents).filter(|agents| !agents.is_empty()),
        attributes: document.attributes.iter().map(attribute).collect(),
    }
}

/// Returns the member of the payloads for an attribute: a value, or a list of several.
fn attribute(KnowledgeAttribute { key, values }: &KnowledgeAttribute) -> (String, AttributeValue) {
    let mut values: Vec<AttributeValue> = values
        .iter()
        .map(|value| match value {
            RagValue::Text(text) => AttributeValue::Text(text.clone()),
            RagValue::Integer(number) => AttributeValue::Integer(*number),
            RagValue::Flag(flag) => AttributeValue::Flag(*flag),
        })
        .collect();
    let value = match (values.len(), values.pop()) {
        (1, Some(only)) => only,
        (_, last) => AttributeValue::List(values.into_iter().chain(last).collect()),
    };
    (key.clone(), value)
}

/// Returns the outcome of a failed run. The log has the error, and the user gets its kind.
fn failed(error: &Error) -> Outcome {
    tracing::warn!(error = %causes(error), "{}", contracts::log::KNOWLEDGE_NOT_INDEXED);
    let retry = |reason: &str| Outcome::Retry(format!("{reason} Indexing is tried again."));
    match error {
        Error::Database(_) => retry("The vector database is unavailable."),
        Error::Embeddings(_) => retry("The embedding provider is unavailable."),
        Error::Folder(_) | Error::Emptied { .. } => retry("The document can't be read."),
        Error::NoDenseVector(_) | Error::DimensionMismatch { .. } => Outcome::Failed(
            "The collection doesn't fit the embedding model. Ask an operator to name another collection."
                .to_owned(),
        ),
        Error::TaskFailed(_) => Outcome::Failed("It can't be split into chunks.".to_owned()),
    }
}

fn reason_of(skipped: SkipReason) -> String {
    match skipped {
        SkipReason::Secret(finding) => {
            format!("It may hold a secret ({finding}). Remove the secret and upload it again.")
        }
        SkipReason::Document(NoText::Empty | NoText::Limit | NoText::NoProgram) => {
            format!("It {}.", skipped.reason())
        }
        _ => format!("It is {}.", skipped.reason()),
    }
}

#[cfg(test)]
mod tests {
    use contracts::NonEmpty;

    use super::*;

    #[test]
    fn attribute_with_several_values_is_a_list_in_their_order() {
        let attribute = |values: Vec<RagValue>| {
            attribute(&KnowledgeAttribute { key: "Year".to_owned(), values: NonEmpty::new(values).unwrap() })
                .1
        };
        let number = AttributeValue::Integer;
        assert_eq!(attribute(vec![RagValue::Integer(1)]), number(1));
        let both = vec![RagValue::Integer(1), RagValue::Integer(2)];
        assert_eq!(attribute(both), AttributeValue::List(vec![number(1), number(2)]));
    }

    #[test]
    fn reasons_are_sentences() {
        assert_eq!(reason_of(SkipReason::Document(NoText::Empty)), "It has no text.");
        assert_eq!(reason_of(SkipReason::Document(NoText::Encrypted)), "It is encrypted.");
        assert_eq!(reason_of(SkipReason::Binary), "It is not text.");
    }
}
