//! Citations: what a text of the model's rests on, as links behind it.
//!
//! Annotations come beside the text, and nobody shows them there. What they name is data from outside: a link is made
//! of what is one, on a line of its own, and the rest is left out.

use std::collections::BTreeSet;

use serde::de::IgnoredAny;
use serde_json::Value;

/// The most sources that a text names.
const MOST: usize = 64;
const MAX_TITLE_CHARS: usize = 200;
const MAX_URL_BYTES: usize = 2_048;

/// A source of a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Citation {
    /// A page of the web.
    Page {
        /// Where it is.
        url: String,
        /// What it is called.
        title: String,
    },
    /// A file that the provider keeps.
    File {
        /// What the provider calls it; one of a container comes with that.
        id: String,
        /// What it is called.
        name: String,
    },
}

impl Citation {
    /// What an annotation cites, where it cites anything that can be told.
    pub(super) fn of(annotation: &Value) -> Option<Self> {
        let text = |name: &str| annotation.get(name).and_then(Value::as_str).map(str::trim);
        let id = |name| text(name).filter(|id| is_id(id));
        match text("type")? {
            "url_citation" => {
                let url = text("url").filter(|url| is_url(url))?;
                Some(Self::Page { title: line(text("title").unwrap_or_default(), url), url: linkable(url) })
            }
            "file_citation" => {
                let id = id("file_id")?;
                Some(Self::File { name: line(text("filename").unwrap_or_default(), id), id: id.to_owned() })
            }
            "container_file_citation" => {
                let (container, id) = (id("container_id")?, id("file_id")?);
                let name = line(text("filename").unwrap_or_default(), id);
                Some(Self::File { id: format!("{container}/{id}"), name })
            }
            _ => None,
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Page { url, title } => format!("- [{title}]({url})"),
            Self::File { id, name } => format!("- {name} (`{id}`)"),
        }
    }
}

/// The text with its sources behind it, each once. A page that the text links to itself is not named again, and a
/// text that is JSON stays that: a program reads it.
pub(super) fn append(text: String, cited: &[Citation]) -> String {
    let mut known = BTreeSet::new();
    let new = cited.iter().filter(|citation| match citation {
        Citation::Page { url, .. } => !text.contains(url.as_str()) && known.insert(url),
        Citation::File { id, .. } => known.insert(id),
    });
    let lines: Vec<String> = new.take(MOST).map(Citation::line).collect();
    let is_json = || serde_json::from_str::<IgnoredAny>(&text).is_ok();
    match lines.is_empty() || text.trim().is_empty() || is_json() {
        true => text,
        false => format!("{text}\n\nSources:\n\n{}", lines.join("\n")),
    }
}

/// A name on one line that ends no link early; the other one where it is blank.
fn line(name: &str, or: &str) -> String {
    let name = if name.is_empty() { or } else { name };
    let words: Vec<&str> = name.split_whitespace().collect();
    let flat: String = words.join(" ").chars().filter(|c| !c.is_control()).take(MAX_TITLE_CHARS).collect();
    flat.chars().flat_map(|c| "[]\\`<>".contains(c).then_some('\\').into_iter().chain([c])).collect()
}

fn is_url(text: &str) -> bool {
    (text.starts_with("https://") || text.starts_with("http://"))
        && text.len() <= MAX_URL_BYTES
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || "<>\"`\\".contains(c))
}

/// The same where a parenthesis would end the link.
fn linkable(url: &str) -> String {
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

    fn told(text: &str, annotations: &[Value]) -> String {
        append(text.to_owned(), &annotations.iter().filter_map(Citation::of).collect::<Vec<_>>())
    }

    #[test]
    fn sources_stand_behind_the_text_each_once() {
        let page = json!({ "type": "url_citation", "url": "https://a.example/x_(y)", "title": "A [b]\nc" });
        let file =
            json!({ "type": "file_citation", "file_id": "file-1", "filename": "plan.pdf", "index": 3 });
        let made = json!({
            "type": "container_file_citation", "container_id": "cntr_1", "file_id": "cfile_2", "filename": "plot.png",
        });
        assert_eq!(
            told("It is so.", &[page.clone(), file, page, made]),
            "It is so.\n\nSources:\n\n- [A \\[b\\] c](https://a.example/x_%28y%29)\n- plan.pdf (`file-1`)\n\
             - plot.png (`cntr_1/cfile_2`)"
        );
    }

    #[test]
    fn what_is_linked_already_or_is_no_link_is_left_out_and_json_stays_json() {
        let page = |url: &str| json!({ "type": "url_citation", "url": url, "title": "A" });
        for url in ["javascript:alert(1)", "https://a.example/ b", "https://a.example/\"x", "ftp://a.example"]
        {
            assert_eq!(told("So.", &[page(url)]), "So.", "{url}");
        }
        let linked = "So ([a](https://a.example)).";
        assert_eq!(told(linked, &[page("https://a.example")]), linked);
        assert_eq!(told("{\"a\":1}", &[page("https://a.example")]), "{\"a\":1}");
        assert_eq!(told(" ", &[page("https://a.example")]), " ");
        let unknown = json!({ "type": "file_path", "file_id": "file-1" });
        assert_eq!(told("So.", &[unknown, json!({}), json!(7)]), "So.");
    }
}
