//! `read_result`: a part of a long result that the model has got by reference.
//!
//! The tool doesn't reach the results itself: it returns the part as an effect, whose result becomes the call's result. So
//! the session is the turn's, whatever the model writes.

use futures::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tool::{
    Definition, Effect, ExecutedBy, ServerTool, ToolError, ToolInput, ToolSuccess,
    stored_result::{Part, ResultId},
};

/// The tool's name.
pub const READ_RESULT: &str = "read_result";

/// The tool.
pub(super) struct ReadResult {
    definition: Definition,
}

#[derive(Deserialize)]
struct Arguments {
    result: String,
    pointer: Option<String>,
    line: Option<usize>,
    from: Option<usize>,
}

impl ReadResult {
    pub(super) fn new() -> Self {
        let definition = Definition {
            name: READ_RESULT.to_owned(),
            description:
                "Read a part of a long tool result, by the id in its member `result`. Name one of `pointer`, \
                          `line` and `from`, or none for the beginning."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "result": { "type": "string", "description": "The id of the result." },
                    "pointer": { "type": "string", "description": "A JSON pointer, such as /items/0/title." },
                    "line": { "type": "integer", "minimum": 1, "description": "The first line." },
                    "from": { "type": "integer", "minimum": 0, "description": "The first byte." },
                },
                "required": ["result"],
                "additionalProperties": false,
            }),
            usage: None,
            executed_by: ExecutedBy::Server,
            strict: false,
        };
        Self { definition }
    }
}

impl ServerTool for ReadResult {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, call: ToolInput<'a>) -> BoxFuture<'a, Result<ToolSuccess, ToolError>> {
        std::future::ready(call.read().and_then(reading)).boxed()
    }
}

fn reading(Arguments { result, pointer, line, from }: Arguments) -> Result<ToolSuccess, ToolError> {
    let part = match (pointer, line, from) {
        (Some(pointer), None, None) => Part::At(pointer),
        (None, Some(line), None) => Part::FromLine(line),
        (None, None, from) => Part::FromByte(from.unwrap_or_default()),
        _ => return Err(ToolError::Refused("Name only one of `pointer`, `line` and `from`.".to_owned())),
    };
    let id = ResultId::parse(&result);
    let id = id.ok_or_else(|| ToolError::Refused("`result` must be the id of a long result.".to_owned()))?;
    Ok(ToolSuccess { result: Value::Null, effects: vec![Effect::ReadResult(id, part)] })
}

#[cfg(test)]
mod tests {
    use contracts::{FileAddress, id::TurnId};

    use super::{
        super::tests::{refusal, run},
        *,
    };

    #[test]
    fn part_becomes_an_effect_and_wrong_arguments_are_refused() {
        let tool = ReadResult::new();
        let id = ResultId { turn: TurnId::new("t").unwrap(), address: FileAddress::hash_bytes(b"x") };
        let read = |rest: Value| {
            let mut arguments = json!({ "result": id.to_string() });
            arguments.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            run(&tool, &arguments).map(|success| success.effects)
        };
        assert_eq!(read(json!({})).unwrap(), [Effect::ReadResult(id.clone(), Part::FromByte(0))]);
        assert_eq!(read(json!({ "line": 3 })).unwrap(), [Effect::ReadResult(id.clone(), Part::FromLine(3))]);
        assert!(read(json!({ "line": 3, "from": 4 })).is_err());
        assert_eq!(refusal(&tool, &json!({ "result": "x" })), "`result` must be the id of a long result.");
    }
}
