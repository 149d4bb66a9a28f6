//! `code_hash_normalized`: the content hash that an index uses for a text.

use std::borrow::Cow;

use contracts::ContentHash;
use futures::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::json;

use crate::tool::{Definition, ExecutedBy, ServerTool, ToolError, ToolInput, ToolSuccess};

const DESCRIPTION: &str = "Compute the normalized content hash of a text, the one that the code index uses: \
    the same for every style of line ending. Lowercase hexadecimal SHA-256.";

const USAGE: &str = "\
Call this to find out whether a text is the same content as one whose hash you know, for example from the index.
- `text`: the whole text, unchanged. Only the first 500 UTF-16 units of a line count.
Never guess or compute a hash yourself. Texts with equal hashes are the same content but for line endings.";

/// The tool.
pub(super) struct HashNormalized {
    definition: Definition,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

impl HashNormalized {
    pub(super) fn new() -> Self {
        let definition = Definition {
            name: "code_hash_normalized".to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: json!({
                "type": "object",
                "properties": { "text": { "type": "string", "description": "The whole text to hash." } },
                "required": ["text"],
                "additionalProperties": false,
            }),
            usage: Some(USAGE.to_owned()),
            executed_by: ExecutedBy::Server,
            strict: true,
        };
        Self { definition }
    }
}

impl ServerTool for HashNormalized {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, call: ToolInput<'a>) -> BoxFuture<'a, Result<ToolSuccess, ToolError>> {
        let hashed = call.read::<Arguments<'_>>().map(|arguments| {
            let hash = ContentHash::hash_file(arguments.text.as_bytes());
            json!({ "hash": hash.to_string() }).into()
        });
        std::future::ready(hashed).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::run, *};

    #[test]
    fn hash_ignores_line_endings() {
        let hash = |text: &str| run(&HashNormalized::new(), &json!({ "text": text })).unwrap().result;
        assert_eq!(hash("a\r\nb"), json!({ "hash": ContentHash::hash_bytes(b"a\nb\n").to_string() }));
        assert_eq!(hash("a\r\nb"), hash("a\nb"));
    }
}
