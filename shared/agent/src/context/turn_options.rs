//! Settings of a single turn, which override its contexts.

use contracts::request::{FunctionTool, JsonFormat, TurnOptions};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    ResolvedContext,
    limits::{MAX_MODEL_NAME_CHARS, MAX_OUTPUT_TOKENS, TEMPERATURE, TOP_P},
};
use crate::{
    fault::{FaultCollector, Faults},
    members::{INVALID_NAME, is_valid_name},
    model::{
        freeform::FreeformTools,
        model_settings::{ModelSettings, TextFormat},
    },
    tool::{self, Definition, ExecutedBy},
};

/// The most tools that a turn's options may declare, as at OpenAI. Of those of contexts, modes and the server, a request has
/// as many as fit beside them.
pub const MAX_OPTION_TOOLS: usize = 128;
/// The size of the descriptions of these tools together.
const MAX_DESCRIPTION_BYTES: usize = 64 * 1024;
/// The most texts before which a reply ends, and their size, as at OpenAI and Anthropic.
const MAX_STOPS: usize = 4;
const MAX_STOP_BYTES: usize = 256;
/// The size of the format of a freeform tool's input: a grammar.
const MAX_FORMAT_BYTES: usize = 32 * 1024;
/// `MaxOutputTokens` of options. A client may ask for a single token to test a connection.
const MIN_OUTPUT_TOKENS: u32 = 1;

/// Checks the options of a turn.
///
/// # Errors
/// Returns every fault, with the path of the member.
pub fn check_options(options: &TurnOptions) -> Result<(), Faults> {
    let mut faults = FaultCollector::default();
    let TurnOptions { tools, tool_choice, text_format, max_output_tokens, .. } = options;
    faults.require(
        tools.len() <= MAX_OPTION_TOOLS,
        "tools",
        format_args!("must hold at most {MAX_OPTION_TOOLS} tools"),
    );
    for (n, function) in tools.iter().enumerate() {
        for fault in tool::check(&definition(function)) {
            faults.add(format!("tools[{n}]"), fault);
        }
        let format = function.format.as_ref().map_or(0, |format| format.to_string().len());
        let rule = format_args!("must have at most {MAX_FORMAT_BYTES} bytes");
        faults.require(format <= MAX_FORMAT_BYTES, format!("tools[{n}].format"), rule);
        let is_first = tools.iter().take(n).all(|other| other.name != function.name);
        faults.require(is_first, format!("tools[{n}].name"), "is the name of another tool");
    }
    let descriptions: usize = tools.iter().map(|tool| tool.description.len()).sum();
    let rule = format_args!("must have descriptions of at most {MAX_DESCRIPTION_BYTES} bytes together");
    faults.require(descriptions <= MAX_DESCRIPTION_BYTES, "tools", rule);
    let fits = |stop: &String| !stop.is_empty() && stop.len() <= MAX_STOP_BYTES;
    let rule = format_args!("must hold at most {MAX_STOPS} texts of at most {MAX_STOP_BYTES} bytes");
    faults.require(options.stop.len() <= MAX_STOPS && options.stop.iter().all(fits), "stop", rule);
    if let Some(choice) = tool_choice {
        let is_offered = tools.iter().any(|tool| tool.name == *choice);
        faults.require(is_offered, "tool_choice", "must name one of the tools");
    }
    if let Some(JsonFormat { name, schema, strict, .. }) = text_format {
        faults.require(is_valid_name(name), "text.format.name", INVALID_NAME);
        for fault in tool::schema_faults(schema, *strict) {
            faults.add("text.format.schema", fault);
        }
    }
    if let Some(tokens) = max_output_tokens {
        let max = MAX_OUTPUT_TOKENS.end();
        let rule = format_args!("must be from {MIN_OUTPUT_TOKENS} to {max}");
        faults.require((MIN_OUTPUT_TOKENS..=*max).contains(tokens), "max_output_tokens", rule);
    }
    for (name, number, range) in
        [("temperature", &options.temperature, TEMPERATURE), ("top_p", &options.top_p, TOP_P)]
    {
        let is_valid = number.as_ref().is_none_or(|n| n.as_f64().is_some_and(|n| range.contains(&n)));
        faults.require(is_valid, name, format_args!("must be from {} to {}", range.start(), range.end()));
    }
    let model = options.model.as_deref().unwrap_or_default();
    faults.require(model.chars().count() <= MAX_MODEL_NAME_CHARS, "model", "is too long");
    let settings = model_settings(ModelSettings::default(), options);
    let known = |value: &Option<String>, is_known: bool| value.is_none() || is_known;
    let effort = known(&options.reasoning_effort, settings.reasoning_effort.is_some());
    faults.require(effort, "reasoning.effort", "must be none, minimal, low, medium, high, xhigh or max");
    let summary = known(&options.reasoning_summary, settings.reasoning_summary.is_some());
    faults.require(summary, "reasoning.summary", "must be auto, concise or detailed");
    let verbosity = known(&options.verbosity, settings.verbosity.is_some());
    faults.require(verbosity, "text.verbosity", "must be low, medium or high");
    let tier = known(&options.service_tier, settings.service_tier.is_some());
    faults.require(tier, "service_tier", "must be auto, default, flex, scale or priority");
    faults.finish()
}

impl ResolvedContext {
    /// Returns the settings, overridden by the turn's options. A tool of the options replaces
    /// one of the contexts with its name.
    ///
    /// # Errors
    /// Returns the models that the contexts name, if the model of the options isn't one of them.
    pub fn with_options(mut self, options: Option<&TurnOptions>) -> Result<Self, Vec<String>> {
        let Some(options) = options else { return Ok(self) };
        if let Some(model) = &options.model {
            let offered: Vec<String> = self.models().map(str::to_owned).collect();
            self = self.with_primary_model(model).ok_or(offered)?;
        }
        self.client_tools.retain(|own| options.tools.iter().all(|tool| tool.name != own.name));
        self.client_tools.extend(options.tools.iter().map(definition));
        if options.tool_choice.is_some() || options.requires_tool {
            self.tool_choice.clone_from(&options.tool_choice);
        }
        self.settings = model_settings(self.settings, options);
        Ok(self)
    }
}

fn definition(function: &FunctionTool) -> Definition {
    let FunctionTool { name, description, parameters, strict, format: _ } = function.clone();
    Definition { name, description, parameters, usage: None, executed_by: ExecutedBy::Client, strict }
}

/// Returns the settings, overridden by the options.
fn model_settings(own: ModelSettings, options: &TurnOptions) -> ModelSettings {
    let format = options.text_format.clone();
    let format = format.map(|JsonFormat { name, description, schema, strict }| TextFormat {
        name,
        description,
        schema,
        strict,
    });
    ModelSettings {
        temperature: options.temperature.as_ref().and_then(|n| n.as_f64()).or(own.temperature),
        top_p: options.top_p.as_ref().and_then(|n| n.as_f64()).or(own.top_p),
        max_output_tokens: options.max_output_tokens.or(own.max_output_tokens),
        reasoning_effort: parse(options.reasoning_effort.as_deref()).or(own.reasoning_effort),
        reasoning_summary: parse(options.reasoning_summary.as_deref()).or(own.reasoning_summary),
        verbosity: parse(options.verbosity.as_deref()).or(own.verbosity),
        json_object: options.json_object,
        text_format: format.or(own.text_format).filter(|_| !options.json_object),
        requires_tool: options.requires_tool,
        max_tool_calls: options.max_tool_calls.or(own.max_tool_calls),
        stop: options.stop.clone(),
        service_tier: parse(options.service_tier.as_deref()).or(own.service_tier),
        parallel_tool_calls: options.parallel_tool_calls.or(own.parallel_tool_calls),
        hosted_tools: own.hosted_tools,
        web_search: options.web_search.clone(),
        freeform_tools: freeform_tools(options),
        guardrail: own.guardrail,
        // The clients that send options parse the answer as it is.
        unfenced_json: true,
    }
}

/// Returns the formats of the tools whose input is a text.
fn freeform_tools(options: &TurnOptions) -> FreeformTools {
    options.tools.iter().filter_map(|tool| Some((tool.name.clone(), tool.format.clone()?))).collect()
}

/// Parses a word of the provider.
fn parse<T: DeserializeOwned>(word: Option<&str>) -> Option<T> {
    serde_json::from_value(Value::from(word?)).ok()
}

#[cfg(test)]
mod tests {
    use protocol::chain::ConversationStatePolicy;
    use serde_json::json;

    use super::*;
    use crate::{
        context::defaults,
        model::model_settings::{Effort, ReasoningSummary},
        output_filter::AnswerFormat,
    };

    fn options(members: Value) -> TurnOptions {
        serde_json::from_value(members).unwrap()
    }

    fn resolved() -> ResolvedContext {
        let defaults = defaults().unwrap();
        ResolvedContext::resolve(None, None, &defaults, ("gpt-x", ConversationStatePolicy::default()))
    }

    #[test]
    fn options_replace_settings_of_contexts() {
        let tool = json!({"Name": "look", "Description": "Looks.", "Strict": false,
                          "Parameters": {"type": "object", "properties": {}}});
        let options = options(json!({"Model": "gpt-x", "Tools": [tool], "ToolChoice": "look",
                                     "ReasoningEffort": "high", "ReasoningSummary": "concise", "Temperature": 0.5}));
        assert!(check_options(&options).is_ok());
        let turn = resolved().with_options(Some(&options)).unwrap();
        assert_eq!(turn.client_tools.last().unwrap().name, "look");
        assert_eq!((turn.tool_choice.as_deref(), turn.settings.temperature), (Some("look"), Some(0.5)));
        assert_eq!(turn.settings.reasoning_effort, Some(Effort::High));
        assert_eq!(turn.settings.reasoning_summary, Some(ReasoningSummary::Concise));
        assert_eq!(turn.settings.answer_format(), AnswerFormat::Markdown);
        assert_eq!(resolved().with_options(None).unwrap(), resolved());
    }

    #[test]
    fn unknown_model_is_refused_with_the_offered_ones() {
        let other = options(json!({"Model": "other"}));
        assert!(resolved().with_options(Some(&other)).unwrap_err().contains(&"gpt-x".to_owned()));
    }

    #[test]
    fn invalid_options_are_named() {
        let tool = |name: &str| json!({"Name": name, "Description": "d", "Strict": true, "Parameters": {"type": "object"}});
        let faults = check_options(&options(json!({
            "Tools": [tool("a b"), tool("x"), tool("x")], "ToolChoice": "y", "Temperature": 3,
            "MaxOutputTokens": 0, "Stop": [""], "ReasoningEffort": "huge", "ReasoningSummary": "s", "Verbosity": "v",
            "ServiceTier": "t"
        })));
        let faults = faults.unwrap_err();
        let paths: Vec<&str> = faults.as_slice().iter().map(|fault| fault.path.as_str()).collect();
        for path in [
            "tools[0]",
            "tools[2].name",
            "tool_choice",
            "max_output_tokens",
            "stop",
            "temperature",
            "reasoning.effort",
            "text.verbosity",
            "service_tier",
        ] {
            assert!(paths.contains(&path), "{path}: {paths:?}");
        }
    }
}
