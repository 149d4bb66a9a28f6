//! What a file is written in, by its name.

use std::path::Path;

use tree_sitter::Language as Grammar;

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language {
    /// Its name as the payload has it, in lower case.
    pub name: &'static str,
    /// What kind of source that is.
    pub kind: Kind,
    /// Who can read its syntax.
    pub(crate) syntax: Syntax,
}

/// What kind of source a file is: the payload's `ContentType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A program.
    Code,
    /// Something to be read.
    Document,
    /// Settings and data.
    Data,
}

impl Kind {
    /// As the payload has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Document => "document",
            Self::Data => "data",
        }
    }
}

/// Who can read a syntax. What has none is cut by its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Rust,
    TypeScript,
    /// TypeScript with markup, and JavaScript, which is a part of it.
    Tsx,
    Python,
    Go,
    Java,
    /// C++, and C, nearly all of which is a part of it.
    Cpp,
    CSharp,
    Markdown,
    None,
}

impl Syntax {
    /// The grammar; none for what is no program.
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
            Self::Markdown | Self::None => return None,
        })
    }
}

/// The language of a file; one that is not known is text.
#[must_use]
pub fn of(path: &Path) -> Language {
    let name = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().to_lowercase();
    let (extension, file) = (name(path.extension()), name(path.file_name()));
    let known = |(endings, _): &&(&[&str], Language)| endings.iter().any(|ending| *ending == extension);
    match LANGUAGES.iter().find(known) {
        Some((_, language)) => *language,
        None if matches!(file.as_str(), "makefile" | "dockerfile" | "justfile") => {
            code("build", Syntax::None)
        }
        None => Language { name: "text", kind: Kind::Document, syntax: Syntax::None },
    }
}

const fn code(name: &'static str, syntax: Syntax) -> Language {
    Language { name, kind: Kind::Code, syntax }
}

const fn document(name: &'static str, syntax: Syntax) -> Language {
    Language { name, kind: Kind::Document, syntax }
}

const fn data(name: &'static str) -> Language {
    Language { name, kind: Kind::Data, syntax: Syntax::None }
}

/// By the ending of a file's name.
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
    (&["rst", "adoc", "txt", "html", "htm"], document("text", Syntax::None)),
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
    fn a_language_is_known_by_the_ending_of_a_name_and_the_rest_is_text() {
        assert_eq!(of(Path::new("src/Lib.RS")).name, "rust");
        assert_eq!(of(Path::new("a/b.test.tsx")).name, "typescript");
        assert_eq!(of(Path::new("Makefile")).kind, Kind::Code);
        assert_eq!(of(Path::new("README")).name, "text");
    }

    #[test]
    fn every_grammar_can_be_loaded() {
        for (_, language) in LANGUAGES {
            if let Some(grammar) = language.syntax.grammar() {
                assert!(tree_sitter::Parser::new().set_language(&grammar).is_ok(), "{}", language.name);
            }
        }
    }
}
