//! The walk back along a line, from its newest turn: how far it goes, and what it brings.

use super::{Exchange, fit::MOST_TURNS};
use crate::{known::Solutions, window::Window};

/// What came before a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Earlier {
    /// Completed turns, oldest first.
    pub exchanges: Vec<Exchange>,
    /// Why these are not all there are.
    pub left_out: LeftOut,
    /// How they were told before.
    pub window: Option<Window>,
    /// The texts of solution contexts that were told with them.
    pub solutions: Solutions,
    /// The next older turn, where that is left out and could be looked at, and what its files are called.
    pub left: Option<(u64, Vec<String>)>,
}

/// Why the telling of earlier turns stops short of the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeftOut {
    /// It does not.
    #[default]
    Nothing,
    /// It begins where it began before.
    Before,
    /// The next one does not fit, or there are too many.
    NoRoom,
    /// The next one could not be read.
    Unreadable,
}

/// A walk under way.
#[derive(Debug)]
pub struct Walk {
    room: u32,
    first: Option<u64>,
    window: Option<Window>,
    newest_first: Vec<Exchange>,
    since: u64,
    brief: u32,
    whole: u32,
    left: Option<(u64, Vec<String>)>,
}

impl Walk {
    /// A walk for so many tokens. `window` is how this very turn was told already, if it was.
    #[must_use]
    pub fn new(room: u32, window: Option<Window>) -> Self {
        Self { room, first: None, window, newest_first: Vec::new(), since: 0, brief: 0, whole: 0, left: None }
    }

    /// A walk back to a turn, wherever the telling begins. It takes the newest one even if there is no room for it.
    #[must_use]
    pub fn back_to(first: u64, room: u32) -> Self {
        Self { first: Some(first), ..Self::new(room, None) }
    }

    /// The same, where the line was cut before this turn: how turns before it were told tells of what is gone.
    #[must_use]
    pub fn since(self, place: u64) -> Self {
        Self { since: place, ..self }
    }

    /// Before which turn no other is wanted.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first.or(self.window.as_ref().map(|window| window.from)).unwrap_or(1)
    }

    /// Takes the next older completed turn. False when it has no room: then the walk is over.
    pub fn take(&mut self, exchange: Exchange) -> bool {
        if self.newest_first.is_empty() && self.window.is_none() && exchange.place >= self.since {
            self.window.clone_from(&exchange.window);
        }
        self.brief = self.brief.saturating_add(exchange.tokens(false));
        self.whole = self.whole.saturating_add(exchange.tokens(true));
        let is_taken = self.first.is_some() && self.newest_first.is_empty();
        if !is_taken && self.brief > self.room || self.newest_first.len() == MOST_TURNS {
            self.left = Some((exchange.place, exchange.files));
            return false;
        }
        // A turn's files are held no longer than they can be told.
        let exchange = if self.whole > self.room { exchange.briefly() } else { exchange };
        self.newest_first.push(exchange);
        true
    }

    /// The next older turn can't be read; these files came with it.
    pub fn miss(&mut self, place: u64, files: Vec<String>) {
        self.left = Some((place, files));
    }

    /// What the walk brought.
    #[must_use]
    pub fn ended(self, left_out: LeftOut) -> Earlier {
        let mut exchanges = self.newest_first;
        exchanges.reverse();
        let brought = exchanges.iter().filter_map(|exchange| exchange.brought.as_ref());
        let solutions = brought.map(|(named, text)| (named.text, text.clone())).collect();
        let left_out = match left_out {
            LeftOut::Nothing if self.window.as_ref().is_some_and(|window| window.from > 1) => LeftOut::Before,
            other => other,
        };
        Earlier { exchanges, left_out, window: self.window, solutions, left: self.left }
    }
}
