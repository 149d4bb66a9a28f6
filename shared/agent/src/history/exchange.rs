//! An earlier turn at hand.

use contracts::{Fingerprint, read::AgentSessionActiveFileRef, request::UserTurn};
use protocol::{line::Predecessor, session::SolutionContext, turn::Turn};

use crate::{
    call::{Reader, Round},
    known::{self, Known, Solutions},
    material::{self, Material},
    mode::Catalog,
    model::{Instruction, Item, Message, Told},
    outcome::Outcome,
    text::{indented, tokens},
    tool::results_block,
    window::Window,
};

/// What a message takes besides its texts.
const FRAME_TOKENS: u32 = 8;

/// A completed turn, to be told again: whole, or briefly, with its files named alone, without the
/// chunks that it was told, and its long values cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Its place in the line.
    pub place: u64,
    /// The turn that it went on from.
    pub after: Option<Predecessor>,
    /// The mode that it began in.
    pub mode: String,
    /// The solution context that held, by its text's hash.
    pub solution: Option<Fingerprint>,
    /// The solution context that it brought itself.
    pub brought: Option<(SolutionContext, String)>,
    /// How the turns before it were told to it.
    pub window: Option<Window>,
    /// What its files are called, for a user who is told that they are not repeated.
    pub files: Vec<String>,
    instruction: Instruction,
    whole: Option<Material>,
    context_block: Option<String>,
    named: Option<String>,
    rounds: Vec<Round>,
    answer: String,
    told_mode: Option<String>,
    brief_tokens: u32,
    whole_tokens: u32,
}

impl Exchange {
    /// What there is to tell of a turn; none when its outcome holds no answer. `refs` say which of its files
    /// went to the model.
    #[must_use]
    pub fn of(
        turn: &Turn,
        request: &UserTurn,
        refs: &[AgentSessionActiveFileRef],
        outcome: &Outcome,
    ) -> Option<Self> {
        let answer = outcome.response.answer()?;
        let (whole, named) = (Material::of(request, refs), material::named(request, refs));
        let rounds = outcome.rounds();
        let instruction = Instruction::of(request);
        let words =
            [Some(answer.as_str()), request.instruction.as_deref(), request.solution_context_text.as_deref()];
        let words: u32 =
            words.into_iter().flatten().map(tokens).sum::<u32>().saturating_add(2 * FRAME_TOKENS);
        let context_block = outcome.context_block().map(str::to_owned);
        let context = context_block.as_deref().map_or(0, tokens);
        let brief: u32 = rounds.iter().map(|round| tokens_of(&round.brief())).sum();
        let all: u32 = rounds.iter().map(tokens_of).sum();
        let brought = request.solution_context_text.clone().filter(|text| !text.trim().is_empty());
        Some(Self {
            place: turn.place(),
            after: turn.predecessor(),
            mode: turn.mode.clone(),
            solution: outcome.report.told_solution,
            brought: brought.map(|text| {
                let named = SolutionContext {
                    session: Some(turn.key.session.session.clone()),
                    turn: turn.key.turn.clone(),
                    request: turn.fingerprint,
                    request_by: turn.request_by.clone(),
                    text: Fingerprint::of_bytes(text.as_bytes()),
                };
                (named, text)
            }),
            window: outcome.window().cloned(),
            files: material::names(request, refs),
            instruction,
            brief_tokens: words.saturating_add(named.as_deref().map_or(0, tokens)).saturating_add(brief),
            whole_tokens: words.saturating_add(whole.tokens()).saturating_add(context).saturating_add(all),
            whole: Some(whole),
            context_block,
            named,
            rounds,
            answer,
            told_mode: outcome.report.told_mode.clone(),
        })
    }

    /// About how many tokens it takes to tell it, whole or briefly.
    #[must_use]
    pub fn tokens(&self, whole: bool) -> u32 {
        if whole { self.whole_tokens.max(self.brief_tokens) } else { self.brief_tokens }
    }

    /// The same, to be told briefly alone: there is no room for more.
    #[must_use]
    pub fn briefly(self) -> Self {
        Self {
            whole: None,
            context_block: None,
            rounds: self.rounds.iter().map(Round::brief).collect(),
            ..self
        }
    }

    /// It in words alone, for whoever sums it up: what was asked, what tools were called, what was answered. Long
    /// values are shortened as in `[TOOL_RESULTS]`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let asked = match &self.instruction {
            Instruction::User(words) => words.as_str(),
            Instruction::FilesAlone | Instruction::ToolResults => "(no words)",
        };
        let files = (!self.files.is_empty()).then(|| format!("Files: {}", self.files.join(", ")));
        let tools: Vec<String> =
            self.rounds.iter().filter_map(|round| results_block(&round.outputs())).collect();
        let tools = (!tools.is_empty()).then(|| format!("Tools:\n{}", indented(&tools.join("\n"))));
        let said = |who: &str, words: &str| Some(format!("{who}:\n{}", indented(words)));
        let parts = [said("User", asked), files, tools, said("Assistant", &self.answer)];
        format!("Turn {}\n{}", self.place, parts.into_iter().flatten().collect::<Vec<_>>().join("\n"))
    }

    /// Tells it: what was said and replied, in order.
    pub(super) fn tell(
        &self,
        whole: bool,
        known: &mut Known,
        solutions: &Solutions,
        catalog: &Catalog,
        reader: Option<Reader<'_>>,
    ) -> Vec<Told> {
        let mode = known.learns_mode(&self.mode, catalog);
        let solution = known.learns_solution(self.solution, solutions);
        // The text may be gone. The next turns are told what differs from what held, all the same.
        known.solution = self.solution;
        let material = self.whole.as_ref().filter(|_| whole);
        // What was read too far back has been made brief already.
        let has_long = self.whole.is_some() && !whole;
        let (files_block, attachments) = match material {
            Some(material) => (material.files_block.clone(), material.attachments.clone()),
            None => (self.named.clone(), Vec::new()),
        };
        let mut told = vec![Told::Said(Message {
            instruction: self.instruction.clone(),
            context_block: self.context_block.clone().filter(|_| whole),
            files_block,
            attachments,
            update: known::update([mode, solution]),
            ..Message::in_mode(&self.mode)
        })];
        for round in &self.rounds {
            let brief = has_long.then(|| round.brief());
            let round = brief.as_ref().unwrap_or(round);
            told.push(Told::Replied(round.replied(reader)));
            told.push(Told::Said(known.learns_results(round, catalog)));
        }
        if let Some(mode) = &self.told_mode {
            known.mode = Some(mode.clone());
        }
        told.extend(
            (!self.answer.trim().is_empty()).then(|| Told::Replied(vec![Item::Text(self.answer.clone())])),
        );
        told
    }
}

/// About how many tokens a round takes: its results and arguments stand in the block a second time, shortened.
fn tokens_of(round: &Round) -> u32 {
    let bytes = round.size().saturating_add(round.calls.len().saturating_mul(IN_BLOCK));
    u32::try_from(bytes.div_ceil(3)).unwrap_or(u32::MAX).saturating_add(2 * FRAME_TOKENS)
}

/// What a call's entry in the block takes at most, about, in bytes.
const IN_BLOCK: usize = 512;
