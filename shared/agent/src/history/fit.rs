//! What fits: how much of a conversation is told, and how the window moves.

use super::Exchange;
use crate::window::Window;

/// The most earlier turns that are told.
pub(super) const MOST_TURNS: usize = 100;

/// Which of some turns are told, and from which on whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fits {
    /// The first that is told; none of them is told when it lies behind the last.
    pub(super) from: u64,
    /// The first that is told whole.
    pub(super) whole_from: u64,
    /// About how many tokens they take.
    pub(super) tokens: u32,
}

/// What fits of some turns, oldest first, into `room` tokens. While they fit as the window before had them,
/// nothing changes; otherwise a quarter of the room is made free: files and long values go first, the oldest
/// first, and then turns. `next` is the turn that they are told to; `all` says whether the turns at hand
/// begin where the window did.
pub(super) fn fit(exchanges: &[Exchange], before: Option<&Window>, all: bool, room: u32, next: u64) -> Fits {
    let first = exchanges.first().map_or(next, |exchange| exchange.place);
    let from = before.map_or(first, |window| window.from.max(first).min(next));
    let whole_from = before.map_or(from, |window| window.whole_from.max(from).min(next));
    let mut fits = Fits { from, whole_from, tokens: tokens(exchanges, from, whole_from) };
    if all && fits.tokens <= room && exchanges.len() <= MOST_TURNS {
        return fits;
    }
    let goal = room - room / 4;
    let later = || exchanges.iter().map(|exchange| exchange.place.saturating_add(1));
    for place in later() {
        if fits.tokens <= goal {
            break;
        }
        fits.whole_from = fits.whole_from.max(place);
        fits.tokens = tokens(exchanges, fits.from, fits.whole_from);
    }
    let most = MOST_TURNS - MOST_TURNS / 4;
    for (left, place) in later().enumerate() {
        if fits.tokens <= goal && exchanges.len() - left <= most {
            break;
        }
        fits.from = fits.from.max(place);
        fits.tokens = tokens(exchanges, fits.from, fits.whole_from);
    }
    if fits.from > exchanges.last().map_or(0, |exchange| exchange.place) {
        fits.from = next;
    }
    fits.whole_from = fits.whole_from.max(fits.from);
    fits
}

fn tokens(exchanges: &[Exchange], from: u64, whole_from: u64) -> u32 {
    let told = exchanges.iter().filter(|exchange| exchange.place >= from);
    told.map(|exchange| exchange.tokens(exchange.place >= whole_from)).fold(0, u32::saturating_add)
}
