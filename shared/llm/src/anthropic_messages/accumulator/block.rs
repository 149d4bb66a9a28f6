//! The blocks of a reply besides its text: thinking and calls.

use agent::model::{Error, Reasoning};
use serde_json::{Value, json};

use crate::accumulator::MAX_TEXT;
use crate::anthropic_messages::builder::{REDACTED_THINKING, THINKING};
use crate::tool_calls::ReceivedCall;

/// The most blocks of a reply.
const MAX_BLOCKS: usize = 1_024;

/// The blocks so far, in the model's order.
#[derive(Debug, Default)]
pub(super) struct Blocks {
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
    Redacted(String),
    Call {
        id: Option<String>,
        name: String,
        /// The input of the block's start, which the pieces replace.
        start: Value,
        pieces: String,
    },
}

impl Blocks {
    /// Starts a block. Text has no block here, and the blocks of hosted tools are skipped.
    pub(super) fn start(&mut self, index: u32, block: &Value) -> Result<(), Error> {
        let member = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let started = match member("type").as_str() {
            "thinking" => Block::Thinking { text: member("thinking"), signature: member("signature") },
            "redacted_thinking" => Block::Redacted(member("data")),
            "tool_use" => Block::Call {
                id: Some(member("id")).filter(|id| !id.is_empty()),
                name: member("name"),
                start: block.get("input").cloned().unwrap_or_default(),
                pieces: String::new(),
            },
            _ => return Ok(()),
        };
        self.take_room(block.to_string().len())?;
        if self.blocks.len() == MAX_BLOCKS {
            return Err(Error::Malformed);
        }
        self.blocks.push((index, started));
        Ok(())
    }

    /// Adds a piece of a call's input.
    pub(super) fn push_input(&mut self, index: u32, piece: &str) -> Result<(), Error> {
        self.take_room(piece.len())?;
        if let Some(Block::Call { pieces, .. }) = self.block(index) {
            pieces.push_str(piece);
        }
        Ok(())
    }

    /// Adds a piece of thinking.
    pub(super) fn push_thinking(&mut self, index: u32, piece: &str) -> Result<(), Error> {
        self.take_room(piece.len())?;
        if let Some(Block::Thinking { text, .. }) = self.block(index) {
            text.push_str(piece);
        }
        Ok(())
    }

    /// Adds a piece of a signature.
    pub(super) fn push_signature(&mut self, index: u32, piece: &str) -> Result<(), Error> {
        self.take_room(piece.len())?;
        if let Some(Block::Thinking { signature, .. }) = self.block(index) {
            signature.push_str(piece);
        }
        Ok(())
    }

    /// Returns the calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = ReceivedCall> {
        self.blocks.iter().filter_map(|(_, block)| match block {
            Block::Call { id, name, start, pieces } => Some(ReceivedCall {
                call_id: id.clone(),
                id: None,
                name: name.clone(),
                arguments: match (pieces.trim(), start) {
                    ("", Value::Object(_)) => start.to_string(),
                    ("", _) => "{}".to_owned(),
                    _ => pieces.clone(),
                },
            }),
            Block::Thinking { .. } | Block::Redacted(_) => None,
        })
    }

    /// Returns the thinking, each block with the number of calls before it.
    pub(super) fn reasoning(&self) -> Vec<Reasoning> {
        let mut calls_before = 0;
        let collected = self.blocks.iter().filter_map(|(_, block)| match block {
            Block::Call { name, .. } => {
                calls_before += usize::from(!name.is_empty());
                None
            }
            Block::Thinking { text, signature } => Some(Reasoning {
                calls_before,
                id: THINKING.to_owned(),
                summary: vec![json!({ "type": "thinking", "thinking": text })],
                encrypted: signature.clone(),
            }),
            Block::Redacted(data) => Some(Reasoning {
                calls_before,
                id: REDACTED_THINKING.to_owned(),
                summary: Vec::new(),
                encrypted: data.clone(),
            }),
        });
        collected.collect()
    }

    fn block(&mut self, index: u32) -> Option<&mut Block> {
        self.blocks.iter_mut().rev().find(|(known, _)| *known == index).map(|(_, block)| block)
    }

    fn take_room(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(bytes);
        (self.bytes <= MAX_TEXT).then_some(()).ok_or(Error::Malformed)
    }
}
