//! The blocks of a reply besides its text: thinking and calls.

use agent::model::{Error, Reasoning, TextPart};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::accumulator::MAX_TEXT;
use crate::json::{make_whole, string_or_json, whole_characters};
use crate::tool_calls::{ReceivedCall, drop_repeats, push_arguments};

/// The name of reasoning that is signed.
pub const THINKING: &str = "thinking";

/// The display of thinking that a request asks for.
pub const SUMMARIZED: &str = "summarized";

/// The name of reasoning that is encrypted.
pub const REDACTED_THINKING: &str = "redacted_thinking";

/// The most blocks of a reply.
const MAX_BLOCKS: usize = 1_024;

/// The blocks so far, in the model's order.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    blocks: Vec<(u32, Block)>,
    /// The bytes of all blocks.
    bytes: usize,
}

#[derive(Debug)]
enum Block {
    Thinking {
        text: String,
        signature: String,
    },
    /// The pieces of encrypted thinking, each in base64.
    Redacted(Vec<String>),
    Call {
        id: Option<String>,
        name: String,
        /// The input of the block's start, which the pieces replace.
        start: Value,
        pieces: String,
    },
}

impl Blocks {
    /// Starts a call.
    pub(crate) fn start_call(
        &mut self,
        index: u32,
        id: &str,
        name: &str,
        input: Option<&Value>,
    ) -> Result<(), Error> {
        let mut start = input.cloned().unwrap_or_default();
        make_whole(&mut start);
        self.take_room(id.len() + name.len() + start.to_string().len())?;
        let id = Some(id.to_owned()).filter(|id| !id.is_empty());
        self.start(index, Block::Call { id, name: name.to_owned(), start, pieces: String::new() })
    }

    /// Adds a piece of a call's input. Ignores the input of a block that isn't a call, such as one of a hosted tool.
    pub(crate) fn push_input(&mut self, index: u32, piece: &str) -> Result<(), Error> {
        self.take_room(piece.len())?;
        if let Some(Block::Call { pieces, .. }) = self.block(index) {
            push_arguments(pieces, piece);
        }
        Ok(())
    }

    /// Adds a piece of thinking, which starts its block.
    pub(crate) fn push_thinking(&mut self, index: u32, piece: &str) -> Result<(), Error> {
        self.take_room(piece.len())?;
        match self.block(index) {
            Some(Block::Thinking { text, .. }) => text.push_str(piece),
            _ => {
                let thinking = Block::Thinking { text: piece.to_owned(), signature: String::new() };
                self.start(index, thinking)?;
            }
        }
        Ok(())
    }

    /// Adds a piece of a signature, which starts its block if the thinking is omitted.
    pub(crate) fn push_signature(&mut self, index: u32, piece: &str) -> Result<(), Error> {
        self.take_room(piece.len())?;
        match self.block(index) {
            Some(Block::Thinking { signature, .. }) => signature.push_str(piece),
            _ => {
                let thinking = Block::Thinking { text: String::new(), signature: piece.to_owned() };
                self.start(index, thinking)?;
            }
        }
        Ok(())
    }

    /// Adds a piece of encrypted thinking, which starts its block.
    pub(crate) fn push_redacted(&mut self, index: u32, piece: &str) -> Result<(), Error> {
        self.take_room(piece.len())?;
        match self.block(index) {
            Some(Block::Redacted(pieces)) => pieces.push(piece.to_owned()),
            _ => self.start(index, Block::Redacted(vec![piece.to_owned()]))?,
        }
        Ok(())
    }

    /// Drops calls that came before.
    pub(crate) fn drop_repeated_calls(&mut self) {
        let mut blocks: Vec<_> =
            self.blocks.drain(..).map(|(index, block)| (block.call(), (index, block))).collect();
        drop_repeats(&mut blocks, |(call, _)| call.as_ref());
        self.blocks = blocks.into_iter().map(|(_, block)| block).collect();
    }

    /// Returns the calls.
    pub(crate) fn calls(&self) -> impl Iterator<Item = ReceivedCall> {
        self.blocks.iter().filter_map(|(_, block)| block.call())
    }

    /// Returns the thinking, each block with the number of calls before it.
    pub(crate) fn reasoning(&self) -> Vec<Reasoning> {
        let mut calls_before = 0;
        let collected = self.blocks.iter().filter_map(|(_, block)| match block {
            Block::Call { .. } => {
                calls_before += 1;
                None
            }
            Block::Thinking { text, signature } => Some(Reasoning {
                calls_before,
                id: THINKING.to_owned(),
                summary: vec![json!({ "type": "thinking", "thinking": whole_characters(text) })],
                encrypted: signature.clone(),
            }),
            Block::Redacted(pieces) => Some(Reasoning {
                calls_before,
                id: REDACTED_THINKING.to_owned(),
                summary: Vec::new(),
                encrypted: joined(pieces),
            }),
        });
        collected.collect()
    }

    /// Returns the places of the text's segments among these blocks.
    pub(crate) fn text_parts(&self, segments: &[((u32, u32), usize)]) -> Vec<TextPart> {
        let part = |((place, _), start): &((u32, u32), usize)| {
            let before = self.blocks.iter().filter(|(index, _)| index < place);
            let (calls, thoughts): (Vec<_>, Vec<_>) =
                before.partition(|(_, block)| matches!(block, Block::Call { .. }));
            TextPart {
                calls_before: calls.len(),
                reasoning_before: thoughts.len(),
                start: *start,
                phase: None,
            }
        };
        segments.iter().map(part).collect()
    }

    fn start(&mut self, index: u32, block: Block) -> Result<(), Error> {
        if self.blocks.len() == MAX_BLOCKS {
            return Err(Error::Malformed);
        }
        self.blocks.push((index, block));
        Ok(())
    }

    fn block(&mut self, index: u32) -> Option<&mut Block> {
        self.blocks.iter_mut().rev().find(|(known, _)| *known == index).map(|(_, block)| block)
    }

    fn take_room(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(bytes);
        (self.bytes <= MAX_TEXT).then_some(()).ok_or(Error::Malformed)
    }
}

impl Block {
    /// Returns the call, if it is one. Its input may stand in its start, in pieces, or in both.
    fn call(&self) -> Option<ReceivedCall> {
        let Self::Call { id, name, start, pieces } = self else { return None };
        let start = string_or_json(start);
        let arguments = match (pieces.trim(), start.trim()) {
            ("" | "{}", "") | ("", "{}") => "{}".to_owned(),
            ("" | "{}", _) => start,
            _ => pieces.clone(),
        };
        Some(ReceivedCall { call_id: id.clone(), id: None, name: name.clone(), arguments })
    }
}

/// Joins pieces of base64, each of which may be padded.
fn joined(pieces: &[String]) -> String {
    match pieces {
        [whole] => whole.clone(),
        _ => {
            let decoded: Result<Vec<Vec<u8>>, _> =
                pieces.iter().map(|piece| STANDARD.decode(piece)).collect();
            decoded.map_or_else(|_| pieces.concat(), |decoded| STANDARD.encode(decoded.concat()))
        }
    }
}
