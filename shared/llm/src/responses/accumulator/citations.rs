//! Citations: the sources of a text, appended to it as links.
//!
//! Clients don't show annotations, so they become part of the text. Annotations are untrusted: only valid links are
//! kept, each on its own line.

use std::collections::BTreeSet;

use serde::de::IgnoredAny;
use serde_json::Value;

/// The most sources that are appended to a text.
const MAX_SOURCES: usize = 64;
const MAX_TITLE_CHARS: usize = 200;
const MAX_URL_BYTES: usize = 2_048;

/// A source of a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Citation {
    /// A web page.
    Page {
        /// The URL.
        url: String,
        /// The title.
        title: String,
    },
    /// A file that the provider stores.
    File {
        /// The provider's file id, preceded by the container's id if it has one.
        id: String,
        /// The file name.
        name: String,
    },
}

impl Citation {
    /// Parses an annotation. Returns `None` for an unknown or invalid one.
    pub(super) fn from_annotation(annotation: &Value) -> Option<Self> {
        let text = |name: &str| annotation.get(name).and_then(Value::as_str).map(str::trim);
        let id = |name| text(name).filter(|id| is_id(id));
        match text("type")? {
            "url_citation" => {
                let url = text("url").filter(|url| is_url(url))?;
                Some(Self::Page {
                    title: link_text(text("title").unwrap_or_default(), url),
                    url: escape_parentheses(url),
                })
            }
            "file_citation" => {
                let id = id("file_id")?;
                Some(Self::File {
                    name: link_text(text("filename").unwrap_or_default(), id),
                    id: id.to_owned(),
                })
            }
            "container_file_citation" => {
                let (container, id) = (id("container_id")?, id("file_id")?);
                let name = link_text(text("filename").unwrap_or_default(), id);
                Some(Self::File { id: format!("{container}/{id}"), name })
            }
            _ => None,
        }
    }

    fn to_markdown(&self) -> String {
        match self {
            Self::Page { url, title } => format!("- [{title}]({url})"),
            Self::File { id, name } => format!("- {name} (`{id}`)"),
        }
    }
}

/// Appends the sources to the text, each once. Skips pages that the text already links to, and leaves JSON unchanged,
/// since a program reads it.
pub(super) fn append(text: String, cited: &[Citation]) -> String {
    let mut listed = BTreeSet::new();
    let new = cited.iter().filter(|citation| match citation {
        Citation::Page { url, .. } => !text.contains(url.as_str()) && listed.insert(url),
        Citation::File { id, .. } => listed.insert(id),
    });
    let lines: Vec<String> = new.take(MAX_SOURCES).map(Citation::to_markdown).collect();
    let is_json = || serde_json::from_str::<IgnoredAny>(&text).is_ok();
    match lines.is_empty() || text.trim().is_empty() || is_json() {
        true => text,
        false => format!("{text}\n\nSources:\n\n{}", lines.join("\n")),
    }
}

/// Escapes a name for the text of a link, on one line. Uses `fallback` if the name is empty.
fn link_text(name: &str, fallback: &str) -> String {
    let name = if name.is_empty() { fallback } else { name };
    let words: Vec<&str> = name.split_whitespace().collect();
    let flat: String = words.join(" ").chars().filter(|c| !c.is_control()).take(MAX_TITLE_CHARS).collect();
    flat.chars().flat_map(|c| "[]\\`<>".contains(c).then_some('\\').into_iter().chain([c])).collect()
}

fn is_url(text: &str) -> bool {
    (text.starts_with("https://") || text.starts_with("http://"))
        && text.len() <= MAX_URL_BYTES
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || "<>\"`\\".contains(c))
}

/// Escapes parentheses, which would end the link.
fn escape_parentheses(url: &str) -> String {
    url.replace('(', "%28").replace(')', "%29")
}

fn is_id(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=128).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with_sources(text: &str, annotations: &[Value]) -> String {
        append(text.to_owned(), &annotations.iter().filter_map(Citation::from_annotation).collect::<Vec<_>>())
    }

    #[test]
    fn sources_are_appended_once_each() {
        let page = json!({ "type": "url_citation", "url": "https://a.example/x_(y)", "title": "A [b]\nc" });
        let file =
            json!({ "type": "file_citation", "file_id": "file-1", "filename": "plan.pdf", "index": 3 });
        let container_file = json!({
            "type": "container_file_citation", "container_id": "cntr_1", "file_id": "cfile_2", "filename": "plot.png",
        });
        assert_eq!(
            with_sources("It is so.", &[page.clone(), file, page, container_file]),
            "It is so.\n\nSources:\n\n- [A \\[b\\] c](https://a.example/x_%28y%29)\n- plan.pdf (`file-1`)\n\
             - plot.png (`cntr_1/cfile_2`)"
        );
    }

    #[test]
    fn linked_and_invalid_urls_are_skipped_and_json_is_unchanged() {
        let page = |url: &str| json!({ "type": "url_citation", "url": url, "title": "A" });
        for url in ["javascript:alert(1)", "https://a.example/ b", "https://a.example/\"x", "ftp://a.example"]
        {
            assert_eq!(with_sources("So.", &[page(url)]), "So.", "{url}");
        }
        let linked = "So ([a](https://a.example)).";
        assert_eq!(with_sources(linked, &[page("https://a.example")]), linked);
        assert_eq!(with_sources("{\"a\":1}", &[page("https://a.example")]), "{\"a\":1}");
        assert_eq!(with_sources(" ", &[page("https://a.example")]), " ");
        let unknown = json!({ "type": "file_path", "file_id": "file-1" });
        assert_eq!(with_sources("So.", &[unknown, json!({}), json!(7)]), "So.");
    }
}
