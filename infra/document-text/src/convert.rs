//! Converts the bytes of a document to Markdown: its title, then a heading for each page, slide or sheet.

use std::{fmt, io};

use crate::heading;

/// The reason a document can't be converted. The parsers' own messages could repeat its text.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The program was started with other arguments.
    Usage,
    /// The document is encrypted.
    Encrypted,
    /// The document isn't valid.
    Invalid,
    /// Its bytes can't be read, or its text can't be written.
    Io(io::Error),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage => f.write_str("usage: document-text docx|pdf|pptx|xlsx < DOCUMENT > MARKDOWN"),
            Self::Encrypted => f.write_str("the document is encrypted"),
            Self::Invalid => f.write_str("the document isn't valid"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Converts a document.
type Convert = fn(&[u8]) -> Result<String, Fault>;

/// Returns the conversion for files with this extension.
pub(crate) fn by_extension(extension: &str) -> Option<Convert> {
    match extension {
        "pdf" => Some(pdf),
        "docx" => Some(|document| office(document, |_, _| None)),
        "pptx" => Some(|document| office(document, |number, name| Some(titled("Slide", number, name)))),
        "xlsx" => Some(|document| office(document, |number, name| Some(titled("Sheet", number, name)))),
        _ => None,
    }
}

/// Returns the heading of a slide or a sheet: its number, and its name if that says more.
fn titled(kind: &str, number: usize, name: Option<&str>) -> String {
    let numbered = format!("{kind} {number}");
    match name.map(str::trim).filter(|name| !name.is_empty() && *name != numbered) {
        Some(name) => format!("{numbered}: {name}"),
        None => numbered,
    }
}

fn pdf(document: &[u8]) -> Result<String, Fault> {
    let options = unpdf::ParseOptions::new().lenient().with_resources(false).sequential();
    let mut document = unpdf::PdfParser::from_bytes_with_options(document, options)
        .and_then(|parser| parser.parse())
        .map_err(|error| match error {
            unpdf::Error::Encrypted | unpdf::Error::InvalidPassword => Fault::Encrypted,
            _ => Fault::Invalid,
        })?;
    let options = unpdf::RenderOptions { escape_special_chars: false, ..unpdf::RenderOptions::default() };
    let mut markdown = start(document.metadata.title.as_deref());
    for page in std::mem::take(&mut document.pages) {
        let number = page.number;
        document.pages = vec![page];
        let text = unpdf::render::to_markdown(&document, &options).map_err(|_| Fault::Invalid)?;
        if !text.trim().is_empty() {
            heading::push(&mut markdown, 2, &format!("Page {number}"));
            heading::push_below(&mut markdown, &text, 2);
        }
    }
    Ok(markdown)
}

/// Converts a document whose sections have these headings; without headings, those of the document are below its title.
fn office(
    document: &[u8],
    section_heading: fn(usize, Option<&str>) -> Option<String>,
) -> Result<String, Fault> {
    let mut document = undoc::parse_bytes(document).map_err(|error| match error {
        undoc::Error::Encrypted => Fault::Encrypted,
        _ => Fault::Invalid,
    })?;
    let options = undoc::render::RenderOptions {
        escape_special_chars: false,
        include_images: false,
        ..undoc::render::RenderOptions::default()
    };
    let mut markdown = start(document.metadata.title.as_deref());
    for (mut section, number) in std::mem::take(&mut document.sections).into_iter().zip(1..) {
        // A section with a name would begin with it as a heading of its own.
        let title = section_heading(number, section.name.take().as_deref());
        document.sections = vec![section];
        let text = undoc::render::to_markdown(&document, &options).map_err(|_| Fault::Invalid)?;
        if text.trim().is_empty() {
            continue;
        }
        if let Some(title) = &title {
            heading::push(&mut markdown, 2, title);
        }
        heading::push_below(&mut markdown, &text, if title.is_some() { 2 } else { 1 });
    }
    Ok(markdown)
}

/// Returns the beginning of the text: the title, if the document has one.
fn start(title: Option<&str>) -> String {
    let mut markdown = String::new();
    if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
        heading::push(&mut markdown, 1, title);
    }
    markdown
}
