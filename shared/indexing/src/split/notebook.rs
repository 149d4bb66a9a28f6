//! Converts a Jupyter notebook into Markdown: its texts, and its code in fences. Outputs are left out.

use serde::Deserialize;

#[derive(Deserialize)]
struct Notebook {
    cells: Vec<Cell>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Cell {
    cell_type: String,
    #[serde(default)]
    source: Source,
}

/// The lines of a cell, in either form.
#[derive(Deserialize)]
#[serde(untagged)]
enum Source {
    Lines(Vec<String>),
    Text(String),
}

impl Default for Source {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

#[derive(Deserialize, Default)]
struct Metadata {
    language_info: Option<LanguageInfo>,
}

#[derive(Deserialize)]
struct LanguageInfo {
    name: String,
}

/// Converts a notebook, or returns `None` if the text isn't one.
pub(super) fn convert(json: &str) -> Option<String> {
    let Notebook { cells, metadata } = serde_json::from_str(json).ok()?;
    let language = metadata.language_info.map(|language| language.name);
    let language = language.filter(|name| name.chars().all(char::is_alphanumeric)).unwrap_or_default();
    let mut markdown = String::new();
    for Cell { cell_type, source } in cells {
        let source = match source {
            Source::Lines(lines) => lines.concat(),
            Source::Text(text) => text,
        };
        let source = source.trim();
        match cell_type.as_str() {
            _ if source.is_empty() => {}
            "code" => markdown += &format!("```{language}\n{source}\n```\n\n"),
            _ => markdown += &format!("{source}\n\n"),
        }
    }
    Some(markdown)
}
