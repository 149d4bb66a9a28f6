//! Answers of the mock model without a script.

use crate::request::ModelRequest;

const SHOWN: usize = 200;

/// Number of words in a title.
const TITLE_WORDS: usize = 5;

/// The default answer: what this is, what arrived, and how long the chain is.
pub fn answer(asked: &ModelRequest) -> String {
    if asked.wants_title() {
        return title(&asked.earlier);
    }
    let mode = match &asked.mode {
        Some(mode) => format!("the mode is {mode}"),
        None => "no mode was given".to_owned(),
    };
    let turns = asked.previous.map_or(0, |previous| previous.turns);
    let chain = match (asked.outputs.as_slice(), turns) {
        ([], 0) => "This is the first turn of its chain.".to_owned(),
        ([], 1) => "One turn of this chain came before.".to_owned(),
        ([], turns) => format!("{turns} turns of this chain came before."),
        (outputs, _) => {
            let results: Vec<String> = outputs.iter().map(|output| short(output)).collect();
            format!("Tool results received: {}.", results.join(", "))
        }
    };
    format!(
        "This is the mock model of the local cloud, not an AI; {mode}. You said: \"{}\". {chain}",
        short(&asked.instruction)
    )
}

/// The first words that the user wrote, as a title.
fn title(turns: &str) -> String {
    let said = turns.split_once("User:").map_or(turns, |(_, said)| said);
    let said = said.split_once("\n\nAssistant:").map_or(said, |(said, _)| said);
    let words: Vec<&str> = said.split_whitespace().take(TITLE_WORDS).collect();
    format!("About: {}", words.join(" "))
}

fn short(text: &str) -> String {
    let flat: Vec<&str> = text.split_whitespace().collect();
    let flat = flat.join(" ");
    if flat.chars().count() <= SHOWN {
        return flat;
    }
    let start: String = flat.chars().take(SHOWN).collect();
    format!("{start}…")
}
