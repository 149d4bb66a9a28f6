//! Detects the language of a file by its name.

use std::path::Path;

use tree_sitter::Language as Grammar;

/// The language of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language {
    /// The name as in the payload, in lower case.
    pub name: &'static str,
    /// The kind of source.
    pub kind: SourceKind,
    /// The syntax, which selects the grammar.
    pub(crate) syntax: Syntax,
}

/// The kind of source of a file: the payload's `ContentType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// A program.
    Code,
    /// Prose.
    Document,
    /// Settings and data.
    Data,
}

impl SourceKind {
    /// Returns the name as in the payload.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Document => "document",
            Self::Data => "data",
        }
    }
}

/// A syntax. Files without one are split by lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Rust,
    TypeScript,
    /// TypeScript with markup, and JavaScript, which is a subset of it.
    Tsx,
    Python,
    Go,
    Java,
    /// C++, and C, which is nearly a subset of it.
    Cpp,
    CSharp,
    Markdown,
    ReStructuredText,
    AsciiDoc,
    Html,
    /// A Jupyter notebook.
    Notebook,
    /// A document whose text is extracted as Markdown.
    Extracted,
    /// The same, with pages, slides or sheets.
    Paged,
    /// Text, perhaps in the markup of reStructuredText.
    Text,
    None,
}

impl Syntax {
    /// Returns the grammar. `None` for files that are not programs.
    pub(crate) fn grammar(self) -> Option<Grammar> {
        Some(match self {
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
            Self::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            Self::CSharp => tree_sitter_c_sharp::LANGUAGE.into(),
            Self::Markdown
            | Self::ReStructuredText
            | Self::AsciiDoc
            | Self::Html
            | Self::Notebook
            | Self::Extracted
            | Self::Paged
            | Self::Text
            | Self::None => return None,
        })
    }
}

impl Language {
    /// Returns the language of a chunk's text, as fences name it. `None` for plain text.
    #[must_use]
    pub fn of_chunks(self) -> Option<&'static str> {
        match (self.kind, self.syntax) {
            // Their chunks are converted.
            (_, Syntax::Html | Syntax::Notebook | Syntax::Extracted | Syntax::Paged) => Some("markdown"),
            (SourceKind::Document, Syntax::Text | Syntax::None) | (SourceKind::Data, _) => None,
            _ => Some(self.name),
        }
    }
}

/// Detects the language of a file; an unknown one is text.
#[must_use]
pub fn detect(path: &Path) -> Language {
    let name = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().to_lowercase();
    let (extension, file) = (name(path.extension()), name(path.file_name()));
    let by_extension =
        |(extensions, _): &&(&[&str], Language)| extensions.iter().any(|candidate| *candidate == extension);
    match LANGUAGES.iter().find(by_extension) {
        Some((_, language)) => *language,
        None if matches!(file.as_str(), "makefile" | "dockerfile" | "justfile") => {
            code("build", Syntax::None)
        }
        None => Language { name: "text", kind: SourceKind::Document, syntax: Syntax::None },
    }
}

const fn code(name: &'static str, syntax: Syntax) -> Language {
    Language { name, kind: SourceKind::Code, syntax }
}

const fn document(name: &'static str, syntax: Syntax) -> Language {
    Language { name, kind: SourceKind::Document, syntax }
}

const fn data(name: &'static str) -> Language {
    Language { name, kind: SourceKind::Data, syntax: Syntax::None }
}

/// Languages by file extension.
const LANGUAGES: &[(&[&str], Language)] = &[
    (&["rs"], code("rust", Syntax::Rust)),
    (&["ts", "mts", "cts"], code("typescript", Syntax::TypeScript)),
    (&["tsx"], code("typescript", Syntax::Tsx)),
    (&["js", "mjs", "cjs", "jsx"], code("javascript", Syntax::Tsx)),
    (&["py", "pyi"], code("python", Syntax::Python)),
    (&["go"], code("go", Syntax::Go)),
    (&["java"], code("java", Syntax::Java)),
    (&["c", "h"], code("c", Syntax::Cpp)),
    (&["cc", "cpp", "cxx", "hh", "hpp", "hxx"], code("cpp", Syntax::Cpp)),
    (&["cs"], code("csharp", Syntax::CSharp)),
    (&["md", "markdown", "mdx"], document("markdown", Syntax::Markdown)),
    (&["rst", "rest"], document("restructuredtext", Syntax::ReStructuredText)),
    (&["adoc", "asciidoc"], document("asciidoc", Syntax::AsciiDoc)),
    (&["html", "htm", "xhtml"], document("html", Syntax::Html)),
    (&["ipynb"], document("notebook", Syntax::Notebook)),
    (&["pdf"], document("pdf", Syntax::Paged)),
    (&["docx"], document("docx", Syntax::Extracted)),
    (&["pptx"], document("pptx", Syntax::Paged)),
    (&["xlsx"], document("xlsx", Syntax::Paged)),
    (&["txt", "text"], document("text", Syntax::Text)),
    (&["kt", "kts"], code("kotlin", Syntax::None)),
    (&["swift"], code("swift", Syntax::None)),
    (&["rb"], code("ruby", Syntax::None)),
    (&["php"], code("php", Syntax::None)),
    (&["scala"], code("scala", Syntax::None)),
    (&["sh", "bash", "zsh"], code("shell", Syntax::None)),
    (&["sql"], code("sql", Syntax::None)),
    (&["proto"], code("protobuf", Syntax::None)),
    (&["css", "scss", "less"], code("css", Syntax::None)),
    (&["json", "jsonl", "json5"], data("json")),
    (&["yaml", "yml"], data("yaml")),
    (&["toml"], data("toml")),
    (&["xml", "csproj", "props"], data("xml")),
    (&["ini", "cfg", "conf", "properties"], data("settings")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_is_detected_by_extension_and_defaults_to_text() {
        assert_eq!(detect(Path::new("src/Lib.RS")).name, "rust");
        assert_eq!(detect(Path::new("a/b.test.tsx")).name, "typescript");
        assert_eq!(detect(Path::new("Makefile")).kind, SourceKind::Code);
        assert_eq!(detect(Path::new("README")).name, "text");
    }

    #[test]
    fn every_grammar_loads() {
        for (_, language) in LANGUAGES {
            if let Some(grammar) = language.syntax.grammar() {
                assert!(tree_sitter::Parser::new().set_language(&grammar).is_ok(), "{}", language.name);
            }
        }
    }
}
