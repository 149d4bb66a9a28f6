//! The calls of a reply, put together from the pieces of a stream.
//!
//! Servers disagree on ids and indices: some send index 0 with every call, a new id with every piece, one id at several
//! indices, or a call twice. So a piece continues a call unless it can't.

use agent::model::Error;

use crate::accumulator::MAX_TEXT;
use crate::chat_completions::chunk::CallPiece;
use crate::tool_calls::{MAX_CALLS, ReceivedCall, drop_repeats, push_arguments};

/// The calls so far.
#[derive(Debug, Default)]
pub(super) struct CallPieces {
    calls: Vec<PartialCall>,
    /// The bytes of all arguments.
    bytes: usize,
}

/// A call and its pieces so far.
#[derive(Debug, Default)]
struct PartialCall {
    call: ReceivedCall,
    /// The index, if the server sends one.
    index: Option<u64>,
    /// The signature, if it has one.
    signature: Option<String>,
    /// The nesting of the arguments.
    nesting: Nesting,
    /// True if its pieces have ids of their own, which then say nothing.
    has_odd_ids: bool,
}

/// The position of a piece among the calls.
enum Position {
    Starts,
    Continues(usize),
    /// It repeats what is known.
    Repeats,
}

impl CallPieces {
    /// Adds a piece.
    pub(super) fn push(&mut self, piece: CallPiece) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(piece.arguments.len());
        if self.bytes > MAX_TEXT {
            return Err(Error::Malformed);
        }
        let at = match self.position(&piece) {
            Position::Repeats => return Ok(()),
            Position::Continues(at) => at,
            Position::Starts if self.calls.len() == MAX_CALLS => return Err(Error::Malformed),
            Position::Starts => {
                self.calls.push(PartialCall { index: piece.index, ..PartialCall::default() });
                self.calls.len() - 1
            }
        };
        self.calls.get_mut(at).ok_or(Error::Malformed)?.add(piece);
        Ok(())
    }

    /// Decides whether a piece continues a call. Its own id or index names a call, or else it is the newest one's.
    fn position(&self, piece: &CallPiece) -> Position {
        let Some(at) = self.candidate(piece) else { return Position::Starts };
        let Some(partial) = self.calls.get(at) else { return Position::Starts };
        let has_other_id = partial.has_other_id(piece) && !partial.has_odd_ids;
        let has_other_name = piece.name.as_ref().is_some_and(|name| *name != partial.call.name);
        let arguments = piece.arguments.trim();
        if partial.nesting.is_complete() {
            let before = partial.call.arguments.trim();
            let has_other_index =
                piece.index.is_some() && partial.index.is_some_and(|at| Some(at) != piece.index);
            let is_same = !has_other_id && !has_other_name && !has_other_index;
            return match piece.name {
                // A call without a name, which is answered too.
                None if has_other_id && has_other_index => Position::Starts,
                None if arguments.is_empty() && !has_other_id => Position::Continues(at),
                None if arguments.is_empty() || arguments == before => Position::Repeats,
                // Some servers send an empty object before the arguments.
                None if before == "{}" => Position::Continues(at),
                Some(_) if before == "{}" && is_same && piece.id.is_some() => Position::Continues(at),
                // No value follows an object.
                None if !has_other_id => Position::Repeats,
                Some(_) if is_same && (arguments.is_empty() || arguments == before) => Position::Repeats,
                _ => Position::Starts,
            };
        }
        // A name may come in pieces, or with each piece.
        let is_unrelated = has_other_id || piece.index.is_none() && piece.id.is_none();
        match has_other_name && !partial.call.name.is_empty() && is_unrelated {
            true => Position::Starts,
            false => Position::Continues(at),
        }
    }

    /// Returns the call that a piece may continue. `None` if it starts one.
    fn candidate(&self, piece: &CallPiece) -> Option<usize> {
        let newest = self.calls.len().checked_sub(1)?;
        let find = |is_it: &dyn Fn(&PartialCall) -> bool| self.calls.iter().rposition(is_it);
        let has_id = |partial: &PartialCall| piece.id.is_some() && partial.call.call_id == piece.id;
        let has_index = |partial: &PartialCall| piece.index.is_some() && partial.index == piece.index;
        let named = find(&|partial| has_id(partial) && has_index(partial))
            .or_else(|| find(&has_id))
            .or_else(|| find(&has_index));
        // With a name and an id of its own, it is another call, also after arguments that are no object.
        let is_open = self.calls.get(newest).is_some_and(|partial| {
            !partial.nesting.is_complete() && (partial.has_odd_ids || !partial.has_other_id(piece))
        });
        let can_start = piece.arguments.trim().is_empty() || piece.arguments.trim_start().starts_with('{');
        // A piece without a name starts no call, and neither does the rest of an object.
        let is_rest = piece.index.is_none() || piece.name.is_none() || is_open && !can_start;
        named.or_else(|| is_rest.then_some(newest))
    }

    /// Returns the calls, each once. A call without arguments gets an empty object.
    pub(super) fn received(&self) -> Vec<ReceivedCall> {
        self.whole().into_iter().map(|(call, _)| call).collect()
    }

    /// Returns the signatures, each with the number of calls before it.
    pub(super) fn signatures(&self) -> Vec<(usize, String)> {
        let signatures = self.whole().into_iter().enumerate();
        signatures.filter_map(|(at, (_, signature))| Some((at, signature?))).collect()
    }

    fn whole(&self) -> Vec<(ReceivedCall, Option<String>)> {
        let mut calls: Vec<_> =
            self.calls.iter().map(|partial| (partial.call.clone(), partial.signature.clone())).collect();
        drop_repeats(&mut calls, |(call, _)| Some(call));
        for (call, _) in &mut calls {
            if call.arguments.trim().is_empty() {
                "{}".clone_into(&mut call.arguments);
            }
        }
        calls
    }
}

impl PartialCall {
    fn has_other_id(&self, piece: &CallPiece) -> bool {
        piece.id.is_some() && self.call.call_id.is_some() && piece.id != self.call.call_id
    }

    fn add(&mut self, piece: CallPiece) {
        self.has_odd_ids |= self.has_other_id(&piece);
        let Self { call, signature, nesting, .. } = self;
        call.call_id = call.call_id.take().or(piece.id);
        match piece.name {
            Some(name) if name.starts_with(&call.name) => call.name = name,
            Some(name) => call.name.push_str(&name),
            None => {}
        }
        push_arguments(&mut call.arguments, &piece.arguments);
        nesting.read(&piece.arguments);
        *signature = signature.take().or(piece.signature);
    }
}

/// The nesting of arguments, which tells whether they are complete without parsing them again with each piece.
#[derive(Debug, Default)]
struct Nesting {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// True after the first bracket.
    begun: bool,
}

impl Nesting {
    fn read(&mut self, piece: &str) {
        for byte in piece.bytes() {
            if self.in_string {
                self.in_string = byte != b'"' || self.escaped;
                self.escaped = byte == b'\\' && !self.escaped;
                continue;
            }
            match byte {
                b'"' => (self.in_string, self.escaped) = (true, false),
                b'{' | b'[' => (self.depth, self.begun) = (self.depth + 1, true),
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.begun && self.depth == 0 && !self.in_string
    }
}
