//! Requests for embeddings, validated as the published API does.

use serde_json::Value;

use crate::refusal::Refusal;

/// Inputs of one request, at most.
const MOST_INPUTS: usize = 2_048;
/// Tokens of one input, at most.
const MOST_TOKENS: usize = 8_192;
/// Tokens of all inputs of a request, at most.
const MOST_TOKENS_IN_ALL: usize = 300_000;
/// Bytes that make a token, roughly.
const BYTES_OF_A_TOKEN: usize = 4;

/// Texts to embed.
pub(super) struct Inputs<'a> {
    pub(super) texts: Vec<&'a str>,
    pub(super) model: &'a str,
    pub(super) dimensions: usize,
    pub(super) encoding: Encoding,
    /// Of all texts.
    pub(super) tokens: usize,
}

/// Encoding of a vector.
pub(super) enum Encoding {
    /// An array of numbers.
    Float,
    /// Its little-endian bytes, in Base64.
    Base64,
}

impl<'a> Inputs<'a> {
    pub(super) fn read(body: &'a Value) -> Result<Self, Refusal> {
        let model = match body.get("model").and_then(Value::as_str) {
            Some(model) if !model.is_empty() => model,
            _ => return Err(unnamed("you must provide a model parameter")),
        };
        if model.starts_with("missing-") {
            let message = format!("The model `{model}` does not exist or you do not have access to it.");
            let refusal = Refusal::invalid("model_not_found", "", message);
            return Err(Refusal { status: 404, param: None, ..refusal });
        }
        let dimensions = dimensions(body, model)?;
        let encoding = encoding(body)?;
        let texts = texts(body)?;
        let tokens = count(&texts)?;
        Ok(Self { texts, model, dimensions, encoding, tokens })
    }
}

fn texts(body: &Value) -> Result<Vec<&str>, Refusal> {
    let missing = || unnamed("'$.input' is invalid. Please check the API reference.");
    let texts = match body.get("input") {
        Some(Value::String(text)) => vec![text.as_str()],
        // The published API also takes tokens by their numbers. Nothing here knows what they stand for.
        Some(Value::Array(texts)) => {
            let texts = texts.iter().map(|text| text.as_str().ok_or_else(missing));
            texts.collect::<Result<_, _>>()?
        }
        _ => return Err(missing()),
    };
    if texts.is_empty() || texts.contains(&"") {
        return Err(missing());
    }
    if texts.len() > MOST_INPUTS {
        let message = format!(
            "Invalid 'input': array too long. Expected an array with maximum length {MOST_INPUTS}, but got an array \
             with length {} instead.",
            texts.len()
        );
        return Err(Refusal::invalid("array_above_max_length", "input", message));
    }
    Ok(texts)
}

fn count(texts: &[&str]) -> Result<usize, Refusal> {
    let mut all = 0;
    for text in texts {
        let tokens = text.len().div_ceil(BYTES_OF_A_TOKEN);
        if tokens > MOST_TOKENS {
            return Err(unnamed(&format!(
                "This model's maximum context length is {MOST_TOKENS} tokens, however you requested {tokens} tokens \
                 ({tokens} in your prompt; 0 for the completion). Please reduce your prompt; or completion length."
            )));
        }
        all += tokens;
    }
    if all > MOST_TOKENS_IN_ALL {
        let message = format!("Requested {all} tokens, max {MOST_TOKENS_IN_ALL} tokens per request");
        let refusal = Refusal::invalid("max_tokens_per_request", "", message);
        return Err(Refusal { kind: "max_tokens_per_request".into(), param: None, ..refusal });
    }
    Ok(all)
}

fn dimensions(body: &Value, model: &str) -> Result<usize, Refusal> {
    let most: usize = if model.ends_with("-large") { 3_072 } else { 1_536 };
    let Some(given) = body.get("dimensions").filter(|given| !given.is_null()) else {
        return Ok(most);
    };
    let dimensions = given.as_u64().and_then(|given| usize::try_from(given).ok());
    dimensions.filter(|dimensions| (1..=most).contains(dimensions)).ok_or_else(|| {
        let message = format!("Invalid value for 'dimensions' = {given}. Must be from 1 to {most}.");
        Refusal { code: None, param: None, ..Refusal::invalid("", "", message) }
    })
}

fn encoding(body: &Value) -> Result<Encoding, Refusal> {
    match body.get("encoding_format") {
        None | Some(Value::Null) => Ok(Encoding::Float),
        Some(given) => match given.as_str() {
            Some("float") => Ok(Encoding::Float),
            Some("base64") => Ok(Encoding::Base64),
            _ => {
                let message = format!("Invalid value: {given}. Supported values are: 'float' and 'base64'.");
                Err(Refusal::invalid("invalid_value", "encoding_format", message))
            }
        },
    }
}

/// A refusal that names neither code nor parameter.
fn unnamed(message: &str) -> Refusal {
    Refusal { code: None, param: None, ..Refusal::invalid("", "", message) }
}
