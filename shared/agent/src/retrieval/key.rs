//! The keys of a chunk's payload in the vector database. They are defined here only.

/// The tenant, always taken from the verified caller.
pub const ORG_ID: &str = "OrgId";
/// The workspace, `WorkspaceId` in a request.
pub const PROJECT_ID: &str = "ProjectId";
/// The indexed source, as named by its indexer.
pub const DOC_ID: &str = "DocId";
/// The subject of the chunk, as named by its indexer.
pub const SEMANTIC_ID: &str = "SemanticId";
/// The kind of source: `code`, `document`, ….
pub const CONTENT_TYPE: &str = "ContentType";
/// The subtype of that kind.
pub const SUBTYPE: &str = "Subtype";
/// The section of a document.
pub const SECTION_KEY: &str = "SectionKey";
/// The chunk's index within its source, from 0.
pub const PART_INDEX: &str = "PartIndex";
/// The number of chunks of its source.
pub const PART_TOTAL: &str = "PartTotal";
/// A human-readable title.
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
/// The page of a source with pages, from 1.
pub const PAGE: &str = "Page";
/// The symbol that the code declares.
pub const SYMBOL: &str = "Symbol";
/// The kind of that symbol.
pub const SYMBOL_TYPE: &str = "SymbolType";
/// Labels, a list.
pub const LABEL_SLUGS: &str = "LabelSlugs";
/// SHA-256 of the whole source's bytes.
pub const SOURCE_SHA256: &str = "SourceSha256";
/// The content hash of the chunk's text.
pub const CONTENT_HASH: &str = "ContentHash";
/// The model that made its vector.
pub const EMBEDDING_MODEL: &str = "EmbeddingModel";
/// The agents whose turns may have the chunk, a list of their ids. Absent: every agent of the org.
pub const AGENT_CONTEXT_IDS: &str = "AgentContextIds";
/// The vector store whose file the chunk is from. Absent: of none.
pub const VECTOR_STORE_ID: &str = "VectorStoreId";
/// The chunk's text.
pub const TEXT: &str = "Text";

/// The version and the chunk length of the splitter that made the chunk. Not for conditions.
pub const SPLITTER: &str = "Splitter";

/// Every documented key.
pub const ALL: &[&str] = &[
    ORG_ID,
    PROJECT_ID,
    DOC_ID,
    SEMANTIC_ID,
    CONTENT_TYPE,
    SUBTYPE,
    SECTION_KEY,
    PART_INDEX,
    PART_TOTAL,
    TITLE,
    LANGUAGE,
    REPO,
    PATH,
    LINE_START,
    LINE_END,
    PAGE,
    SYMBOL,
    SYMBOL_TYPE,
    LABEL_SLUGS,
    SOURCE_SHA256,
    CONTENT_HASH,
    EMBEDDING_MODEL,
    AGENT_CONTEXT_IDS,
    VECTOR_STORE_ID,
    TEXT,
];

/// The keys that a mode's hint may name. They exclude the tenant and the workspace, which come from the caller and
/// the session.
pub const HINT_KEYS: &[&str] =
    &[CONTENT_TYPE, SUBTYPE, SECTION_KEY, TITLE, LANGUAGE, REPO, PATH, SYMBOL, SYMBOL_TYPE, LABEL_SLUGS];
