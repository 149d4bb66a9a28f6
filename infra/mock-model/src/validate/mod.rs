//! The refusals of the published API that its schema can't say: ranges, and what tools have to be.

mod member;
mod tools;

use serde_json::{Map, Value};

use crate::earlier_calls::{self, EarlierCall};
use crate::refusal::Refusal;
use member::given;

/// Refuses what the API would refuse in a body that fits the schema.
pub(crate) fn check(body: &Map<String, Value>) -> Result<(), Refusal> {
    check_model(body)?;
    if given(body, "input").is_none() {
        return Err(missing("input"));
    }
    check_numbers(body)?;
    check_earlier_calls(body)?;
    tools::check(body)
}

fn check_earlier_calls(body: &Map<String, Value>) -> Result<(), Refusal> {
    let items = given(body, "input").and_then(Value::as_array).into_iter().flatten();
    let text = |item: &'_ Value, name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
    let calls: Vec<_> = items
        .filter(|item| item.get("type").is_some_and(|kind| kind == "function_call"))
        .map(|item| ["call_id", "name", "arguments"].map(|name| text(item, name).unwrap_or_default()))
        .collect();
    let calls =
        calls.iter().map(|[id, name, arguments]| EarlierCall { id, name, arguments: Some(arguments) });
    let refusal = earlier_calls::fault(calls)
        .map(|fault| Refusal { code: None, ..Refusal::invalid("", "input", fault) });
    refusal.map_or(Ok(()), Err)
}

fn check_model(body: &Map<String, Value>) -> Result<(), Refusal> {
    match given(body, "model").and_then(Value::as_str) {
        None | Some("") => Err(missing("model")),
        Some(_) => Ok(()),
    }
}

fn check_numbers(body: &Map<String, Value>) -> Result<(), Refusal> {
    for (name, most) in [("temperature", 2.0), ("top_p", 1.0)] {
        let number = given(body, name).and_then(Value::as_f64);
        if number.is_some_and(|number| !(0.0..=most).contains(&number)) {
            let message = format!("Invalid '{name}': expected a number from 0 to {most}.");
            return Err(Refusal::invalid("decimal_out_of_range", name, message));
        }
    }
    let name = "max_output_tokens";
    match given(body, name).map(Value::as_u64) {
        None => Ok(()),
        Some(Some(tokens)) if tokens >= 16 => Ok(()),
        Some(_) => {
            let message = format!("Invalid '{name}': expected a value of 16 or more.");
            Err(Refusal::invalid("integer_below_min_value", name, message))
        }
    }
}

fn missing(param: &str) -> Refusal {
    let message = format!("Missing required parameter: '{param}'.");
    Refusal::invalid("missing_required_parameter", param, message)
}
