//! The keys of a chunk's payload in the vector database (IDX-025): their one home.

/// The tenant, from the verified caller and from nowhere else.
pub const ORG_ID: &str = "OrgId";
/// The workspace; a request calls it `WorkspaceId`.
pub const PROJECT_ID: &str = "ProjectId";
/// The indexed source, as its indexer names it.
pub const DOC_ID: &str = "DocId";
/// What the chunk is about, as its indexer names it.
pub const SEMANTIC_ID: &str = "SemanticId";
/// What kind of source it is: `code`, `document`, ….
pub const CONTENT_TYPE: &str = "ContentType";
/// Which kind of that.
pub const SUBTYPE: &str = "Subtype";
/// The section of a document.
pub const SECTION_KEY: &str = "SectionKey";
/// The chunk's place among its source's, from 0.
pub const PART_INDEX: &str = "PartIndex";
/// How many chunks its source has.
pub const PART_TOTAL: &str = "PartTotal";
/// What a reader would call it.
pub const TITLE: &str = "Title";
/// Its language, in lower case.
pub const LANGUAGE: &str = "Language";
/// The repository.
pub const REPO: &str = "Repo";
/// The path in the repository, with `/`.
pub const PATH: &str = "Path";
/// Its first line, from 1.
pub const LINE_START: &str = "LineStart";
/// Its last line.
pub const LINE_END: &str = "LineEnd";
/// What the code declares.
pub const SYMBOL: &str = "Symbol";
/// What kind of declaration that is.
pub const SYMBOL_TYPE: &str = "SymbolType";
/// Labels, a list.
pub const LABEL_SLUGS: &str = "LabelSlugs";
/// SHA-256 of the whole source's bytes.
pub const SOURCE_SHA256: &str = "SourceSha256";
/// The content hash of the chunk's text.
pub const CONTENT_HASH: &str = "ContentHash";
/// The model that made its vector.
pub const EMBEDDING_MODEL: &str = "EmbeddingModel";
/// The chunk itself.
pub const TEXT: &str = "Text";

/// The keys that a mode's hint may name. Deliberately without the tenant and the workspace: those come from the
/// caller and the session.
pub const HINTS: &[&str] =
    &[CONTENT_TYPE, SUBTYPE, SECTION_KEY, TITLE, LANGUAGE, REPO, PATH, SYMBOL, SYMBOL_TYPE, LABEL_SLUGS];
