//! Documents that an org gives to its agents.

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    base64,
    body::{json_request, parse_body, validate},
    field_table::{Field, Scenario, documented, read_object, slot, table},
    json::Json,
    kind::{AGENT_CONTEXT_ID, Kind, RagKey, Shape, line, named, text},
    limits::{
        MAX_FILE_ID_CHARS, MAX_KEY_CHARS, MAX_KNOWLEDGE_AGENTS, MAX_KNOWLEDGE_ATTRIBUTES,
        MAX_KNOWLEDGE_BYTES, MAX_VALUES,
    },
    rag::{RagValue, value},
    relative_path::RelativePath,
    value::{line as read_line, list, text as read_text},
    violations::{Location, Violations},
};
use crate::{
    error::{Error, ErrorCode},
    id::AgentContextId,
    non_empty::NonEmpty,
    schema::Schema,
};

/// An upload of a document. Created only by parsing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnowledgeUpload {
    /// The name, unique in the org.
    pub name: RelativePath,
    /// The content.
    pub content: KnowledgeContent,
    /// The attributes that conditions of a `RagScope` may name.
    pub attributes: Vec<KnowledgeAttribute>,
    /// The agents whose turns may have the document. Empty: every agent of the org.
    pub agents: Vec<AgentContextId>,
}

/// The content of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnowledgeContent {
    /// The bytes. Not empty.
    Bytes(Vec<u8>),
    /// The id of a file that the caller uploaded to `/v1/files`.
    File(String),
}

table! {
    /// An attribute of a document.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct KnowledgeAttribute as "KnowledgeAttribute", AttributeDraft {
        /// Name of the attribute.
        required "Key" key: String = KEY,
        /// Values, of which a condition compares each.
        required "Values" values: NonEmpty<RagValue> = VALUES,
    }
}

#[derive(Default)]
struct Draft {
    name: Option<RelativePath>,
    text: Option<String>,
    content: Option<Vec<u8>>,
    file_id: Option<String>,
    attributes: Option<Vec<KnowledgeAttribute>>,
    agents: Option<Vec<AgentContextId>>,
}

const FIELDS: &[Field<Draft>] = &[
    Field::required(
        "Name",
        "Name of the document, unique in the org: a relative path, whose extension tells its format. A document of the \
        same name is replaced.",
        slot!(NAME, Draft, name),
    ),
    Field::optional(
        "Text",
        "Content of a text. Exactly one of `Text`, `ContentBase64` and `FileId` is sent.",
        slot!(text(usize::MAX), Draft, text),
    ),
    Field::optional(
        "ContentBase64",
        "Content of any document, Base64 with the standard alphabet.",
        slot!(CONTENT, Draft, content),
    ),
    Field::optional(
        "FileId",
        "Id of a file that the caller uploaded to `/v1/files`. Its content is copied.",
        slot!(line(MAX_FILE_ID_CHARS), Draft, file_id),
    ),
    Field::optional(
        "Attributes",
        "Attributes that conditions of a `RagScope` may name.",
        slot!(ATTRIBUTES, Draft, attributes),
    ),
    Field::optional(
        "AgentContextIds",
        "Agents whose turns may have the document. Empty or absent: every agent of the org.",
        slot!(AGENTS, Draft, agents),
    ),
];

const NAME: Kind<RelativePath> =
    named(Schema::of::<RelativePath>("RelativePath"), |_, json, at, violations| {
        let name = read_text(json, usize::MAX, at, violations)?;
        RelativePath::new(name).map_err(|fault| violations.invalid(at, fault)).ok()
    });

const CONTENT: Kind<Vec<u8>> = Kind {
    shape: text(usize::MAX).shape,
    read: |_, json, at, violations| {
        base64::decode(read_text(json, usize::MAX, at, violations)?, at, violations)
    },
};

const ATTRIBUTES: Kind<Vec<KnowledgeAttribute>> = Kind {
    shape: Shape::List {
        items: Schema::of::<KnowledgeAttribute>("KnowledgeAttribute"),
        min: 0,
        max: MAX_KNOWLEDGE_ATTRIBUTES,
    },
    read: |shape, json, at, violations| list(json, shape.max(), at, violations, attribute),
};

const AGENTS: Kind<Vec<AgentContextId>> = Kind {
    shape: Shape::List {
        items: Schema::of::<AgentContextId>("AgentContextId"),
        min: 0,
        max: MAX_KNOWLEDGE_AGENTS,
    },
    read: |shape, json, at, violations| {
        list(json, shape.max(), at, violations, |json, at, violations| {
            (AGENT_CONTEXT_ID.read)(&AGENT_CONTEXT_ID.shape, json, at, violations)
        })
    },
};

const KEY: Kind<String> = named(Schema::of::<RagKey>("RagKey"), |_, json, at, violations| {
    let key = read_line(json, MAX_KEY_CHARS, at, violations)?;
    if !is_attribute_key(key) {
        violations.invalid(at, "must begin with a letter, and have letters, digits, _ and - alone");
        return None;
    }
    Some(key.to_owned())
});

const VALUES: Kind<NonEmpty<RagValue>> = Kind {
    shape: Shape::List { items: Schema::of::<RagValue>("RagValue"), min: 1, max: MAX_VALUES },
    read: |shape, json, at, violations| {
        let values = list(json, shape.max(), at, violations, value)?;
        NonEmpty::new(values).map_err(|empty| violations.invalid(at, empty)).ok()
    },
};

documented!(
    KnowledgeUpload,
    "KnowledgeUpload",
    schemas::object_schema("A document for the agents of an org.", FIELDS, Scenario::Knowledge),
    |all| schemas::collect(FIELDS, all)
);
json_request!(KnowledgeUpload);

impl KnowledgeUpload {
    /// Parses a JSON body.
    ///
    /// # Errors
    /// Every violation, in document order. Never empty.
    pub fn parse(body: &[u8]) -> Result<Self, Vec<Error>> {
        validate(&parse_body(body)?, upload)
    }
}

/// True for a name that an attribute may have: it means the same as a condition's key, so a path is none.
fn is_attribute_key(key: &str) -> bool {
    key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-'))
}

fn upload(json: &Json<'_>, violations: &mut Violations) -> Option<KnowledgeUpload> {
    let (mut draft, at) = (Draft::default(), Location::ROOT);
    read_object(json, FIELDS, Scenario::Knowledge, &at, &mut draft, violations);
    let attributes = draft.attributes.unwrap_or_default();
    for (index, attribute) in attributes.iter().enumerate() {
        let is_same = |other: &KnowledgeAttribute| other.key.eq_ignore_ascii_case(&attribute.key);
        if attributes.iter().take(index).any(is_same) {
            let at = at.member("Attributes");
            violations.invalid(&at.item(index).member("Key"), "must be unique, and another attribute has it");
        }
    }
    // A member that is invalid has been reported, and isn't missing.
    if !violations.is_clean() {
        return None;
    }
    let content = match (draft.text, draft.content, draft.file_id) {
        (Some(text), None, None) => ("Text", KnowledgeContent::Bytes(text.into_bytes())),
        (None, Some(bytes), None) => ("ContentBase64", KnowledgeContent::Bytes(bytes)),
        (None, None, Some(id)) => ("FileId", KnowledgeContent::File(id)),
        (None, None, None) => {
            let rule = "is required, unless ContentBase64 or FileId is sent";
            violations.add(ErrorCode::MemberRequired, &at.member("Text"), rule);
            return None;
        }
        _ => {
            let rule = "must be the only one of Text, ContentBase64 and FileId";
            violations.invalid(&at.member("Text"), rule);
            return None;
        }
    };
    let (member, content) = content;
    if let KnowledgeContent::Bytes(bytes) = &content {
        if bytes.is_empty() {
            violations.invalid(&at.member(member), "must not be empty");
        }
        if bytes.len() > MAX_KNOWLEDGE_BYTES {
            let rule = format_args!("has {} bytes, at most {MAX_KNOWLEDGE_BYTES} are allowed", bytes.len());
            violations.too_large(&at.member(member), rule);
        }
    }
    Some(KnowledgeUpload { name: draft.name?, content, attributes, agents: draft.agents.unwrap_or_default() })
}

fn attribute(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<KnowledgeAttribute> {
    AttributeDraft::read(json, at, violations).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(body: &str) -> (ErrorCode, String) {
        let errors = KnowledgeUpload::parse(body.as_bytes()).unwrap_err();
        (errors[0].error_code, errors[0].details.clone().unwrap_or_default())
    }

    #[test]
    fn upload_has_one_content_in_one_of_three_forms() {
        let parse = |body: &str| KnowledgeUpload::parse(body.as_bytes()).map(|upload| upload.content);
        let bytes = |text: &str| Ok(KnowledgeContent::Bytes(text.as_bytes().to_vec()));
        assert_eq!(parse(r#"{"Name":"a.md","Text":"Hi"}"#), bytes("Hi"));
        assert_eq!(parse(r#"{"name":"a.pdf","contentBase64":"SGk="}"#), bytes("Hi"));
        assert_eq!(
            parse(r#"{"Name":"a","FileId":"file-1"}"#),
            Ok(KnowledgeContent::File("file-1".to_owned()))
        );
        assert_eq!(fault(r#"{"Name":"a.md"}"#), (ErrorCode::MemberRequired, "Text".to_owned()));
        let both = r#"{"Name":"a.md","Text":"Hi","FileId":"file-1"}"#;
        assert_eq!(fault(both), (ErrorCode::MemberInvalid, "Text".to_owned()));
        assert_eq!(fault(r#"{"Name":"a.md","Text":""}"#), (ErrorCode::MemberInvalid, "Text".to_owned()));
        let long = format!(r#"{{"Name":"a.md","Text":"{}"}}"#, "a".repeat(MAX_KNOWLEDGE_BYTES + 1));
        assert_eq!(fault(&long), (ErrorCode::MemberTooLarge, "Text".to_owned()));
        assert_eq!(fault(r#"{"Name":"../a","Text":"Hi"}"#), (ErrorCode::MemberInvalid, "Name".to_owned()));
    }

    #[test]
    fn attributes_have_unique_keys_that_are_no_paths() {
        let body = |attributes: &str| format!(r#"{{"Name":"a.md","Text":"Hi","Attributes":[{attributes}]}}"#);
        let team = r#"{"Key":"Team","Values":["legal",3,true]}"#;
        let upload = KnowledgeUpload::parse(body(team).as_bytes()).unwrap();
        assert_eq!(upload.attributes[0].values.iter().count(), 3);
        for (attributes, at) in [
            (format!(r#"{team},{{"Key":"team","Values":["x"]}}"#), "Attributes[1].Key"),
            (r#"{"Key":"a.b","Values":["x"]}"#.to_owned(), "Attributes[0].Key"),
            (r#"{"Key":"a","Values":[]}"#.to_owned(), "Attributes[0].Values"),
            (r#"{"Key":"a","Values":[1.5]}"#.to_owned(), "Attributes[0].Values[0]"),
        ] {
            assert_eq!(fault(&body(&attributes)), (ErrorCode::MemberInvalid, at.to_owned()));
        }
    }
}
