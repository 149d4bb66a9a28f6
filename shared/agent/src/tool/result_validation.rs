//! Validates tool results against the pending calls: the same number, ids and order (I6).

use contracts::response::ToolResult;

use crate::tool::rounds::ToolCallRecord;

/// Maximum number of positions in an error message.
const MAX_LISTED: usize = 20;

/// Compares results with the pending calls.
///
/// # Errors
/// The expected and the received ids, position by position.
pub fn validate<'a>(
    pending: impl Iterator<Item = &'a ToolCallRecord>,
    results: &[ToolResult],
) -> Result<(), Mismatch> {
    let expected: Vec<&str> = pending.map(|call| call.call_id.as_str()).collect();
    let received: Vec<&str> = results.iter().map(|result| result.tool_call_id.as_str()).collect();
    if expected == received {
        return Ok(());
    }
    let longest = expected.len().max(received.len());
    let differences =
        (0..longest).filter(|position| expected.get(*position) != received.get(*position)).map(|position| {
            Difference {
                position,
                expected: expected.get(position).map(|&id| id.to_owned()),
                received: received.get(position).map(|&id| id.to_owned()),
            }
        });
    Err(Mismatch { expected: expected.len(), received: received.len(), differences: differences.collect() })
}

/// Tool results that don't match the pending calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    expected: usize,
    received: usize,
    differences: Vec<Difference>,
}

/// A position that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Difference {
    position: usize,
    expected: Option<String>,
    received: Option<String>,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} results were expected, {} came", self.expected, self.received)?;
        for Difference { position, expected, received } in self.differences.iter().take(MAX_LISTED) {
            let (expected, received) = (name(expected.as_deref()), name(received.as_deref()));
            write!(f, "; ToolResults[{position}] must answer {expected}, it answers {received}")?;
        }
        Ok(())
    }
}

fn name(id: Option<&str>) -> &str {
    id.unwrap_or("nothing")
}

#[cfg(test)]
mod tests {
    use contracts::response::ToolOutcome;

    use super::*;

    fn call(id: &str) -> ToolCallRecord {
        ToolCallRecord {
            call_id: id.to_owned(),
            provider_id: None,
            name: "t".to_owned(),
            arguments: "{}".to_owned(),
            outcome: None,
            ran_by: None,
            connection: None,
            execution_ms: None,
            files: crate::tool::rounds::CallFiles::default(),
            approval: None,
        }
    }

    fn result(id: &str) -> ToolResult {
        ToolResult {
            tool_call_id: id.to_owned(),
            execution_ms: 1,
            outcome: ToolOutcome::ResultJson("{}".to_owned()),
        }
    }

    #[test]
    fn only_same_ids_in_same_order_match() {
        let calls = [call("a"), call("b")];
        let results = |ids: &[&str]| ids.iter().map(|id| result(id)).collect::<Vec<_>>();
        assert_eq!(validate(calls.iter(), &results(&["a", "b"])), Ok(()));
        for wrong in [&["b", "a"][..], &["a"], &["a", "b", "c"], &["a", "a"], &["a", "x"], &[]] {
            assert!(validate(calls.iter(), &results(wrong)).is_err(), "{wrong:?}");
        }
        let swapped = validate(calls.iter(), &results(&["b", "a"])).unwrap_err().to_string();
        assert_eq!(
            swapped,
            "2 results were expected, 2 came; ToolResults[0] must answer a, it answers b; ToolResults[1] must answer b, it answers a"
        );
    }
}
