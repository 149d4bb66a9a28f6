//! Request bodies in all encodings.

use serde_json::json;
use utoipa::openapi::{
    ContentBuilder, ObjectBuilder, Ref, Required,
    encoding::EncodingBuilder,
    request_body::{RequestBody, RequestBodyBuilder},
    schema::{ArrayBuilder, KnownFormat, Schema, SchemaFormat, Type},
};

use crate::{
    closed_schemas::{NO_OTHER_MEMBERS, require_input},
    examples,
};
use contracts::{
    operations::Body,
    request::limits::{
        MAX_ARTIFACTS, MAX_BODY_BYTES, MAX_IMAGES, MAX_INSTRUCTION_CHARS, MAX_SOLUTION_CONTEXT_CHARS,
    },
};

const HINTS: [&str; 3] = ["WorkspaceId", "Repo", "Language"];
const IDS: [&str; 4] = ["SessionId", "TurnId", "AgentContextId", "ConversationContextId"];

const MIB: usize = 1024 * 1024;

pub(crate) fn request_body(body: Body) -> RequestBody {
    let all = RequestBodyBuilder::new().required(Some(Required::True)).description(Some(format!(
        "At most {} MiB, and about 6 MiB when encoded as a JSON string, as gateways pass it on: each quote, \
        backslash and line ending counts twice there. Members may be written in camelCase. Null counts as \
        absent.",
        MAX_BODY_BYTES / MIB
    )));
    match body {
        Body::Context => all
            .description(Some(
                "The context in the format of `aptix contexts put`, whose JSON Schema `aptix contexts schema` \
                prints. `Kind` and `Id`, or the `Key` of a mode, may be left out, because the path has them. At most \
                100,000 bytes.",
            ))
            .content("application/json", json("ContextContent", examples::Examples::new())),
        Body::Json(request) => all.content("application/json", json(request.name, examples::Examples::new())),
        Body::Exports => all
            .content("application/json", json("SessionExport", examples::Examples::new()))
            .content("application/jsonl", json("ExportLine", examples::Examples::new())),
        Body::ToolResults => {
            all.content("application/json", json("ToolContinuation", examples::tool_results()))
        }
        Body::Execute => {
            let both = examples::user_turn().into_iter().chain(examples::tool_results()).collect();
            all.content("application/json", json("AgentExecuteRequest", both))
                .content("multipart/form-data", form())
                .content("text/plain", plain())
        }
    }
    .build()
}

fn json(schema: &str, examples: examples::Examples) -> utoipa::openapi::Content {
    ContentBuilder::new().schema(Some(Ref::from_schema_name(schema))).examples_from_iter(examples).build()
}

/// A user turn as a browser's form; see [`contracts::encoding::multipart`].
fn form() -> utoipa::openapi::Content {
    let mut form = ObjectBuilder::new().description(Some(
        "A user turn. Fields are named like its members; an empty field counts as absent. A file is an \
        artifact of origin `user` whose path is the file's name, unless its field is `ClipboardImages`.",
    ));
    for id in IDS {
        form = form.property(id, Ref::from_schema_name(id));
    }
    for hint in HINTS {
        form = form.property(hint, Ref::from_schema_name("Hint"));
    }
    let form = form
        .property("Instruction", text().max_length(Some(MAX_INSTRUCTION_CHARS)))
        .property("SolutionContextText", text().max_length(Some(MAX_SOLUTION_CONTEXT_CHARS)))
        .property("RagScope", Ref::from_schema_name("RagScope"))
        .property("Streaming", text().enum_values(Some(["true", "false"])))
        .property("InputArtifacts", files("Files to reason about.", MAX_ARTIFACTS))
        .property("ClipboardImages", files("Pasted images.", MAX_IMAGES))
        .required("SessionId")
        .required("TurnId")
        .additional_properties(Some(NO_OTHER_MEMBERS));
    ContentBuilder::new()
        .schema(Some(require_input(form.build())))
        .encoding("RagScope", EncodingBuilder::new().content_type(Some("application/json")).build())
        .encoding("ClipboardImages", EncodingBuilder::new().content_type(Some("image/png")).build())
        .build()
}

/// A user turn's instruction; see [`contracts::encoding::text`].
fn plain() -> utoipa::openapi::Content {
    let instruction = text().max_length(Some(MAX_INSTRUCTION_CHARS)).pattern(Some(r"\S")).description(Some(
        "The `Instruction` of a user turn. The other members are the `X-Aptix-…` headers.",
    ));
    ContentBuilder::new()
        .schema(Some(Schema::from(instruction)))
        .example(Some(json!("What is a lease?")))
        .build()
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn files(description: &str, most: usize) -> ArrayBuilder {
    let file = text().format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)));
    ArrayBuilder::new().items(file).max_items(Some(most)).description(Some(description))
}
