//! The telling: what of the earlier turns goes into a request, in order.

use protocol::session::SolutionContext;

use super::{Earlier, Exchange, LeftOut, fit};
use crate::{
    call::Reader,
    known::Known,
    mode::Catalog,
    model::Told,
    window::{Summary, Window},
};

/// To whom the earlier turns are told.
#[derive(Debug, Clone, Copy)]
pub struct Now<'a> {
    /// The turn's place in its line.
    pub place: u64,
    /// The mode that it began in.
    pub mode: &'a str,
    /// The solution context that holds.
    pub solution: Option<&'a SolutionContext>,
    /// Who can read the reasoning of earlier replies; none where it is not told.
    pub reader: Option<Reader<'a>>,
    /// How many tokens of earlier turns are told.
    pub room: u32,
    /// What is made by now of those that are left out.
    pub summary: Option<&'a Summary>,
    /// Whether their files are named alone: the provider can't read one.
    pub briefly: bool,
}

/// The earlier turns as a request tells them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telling {
    /// Messages and replies, in order.
    pub told: Vec<Told>,
    /// About how many tokens they take.
    pub tokens: u32,
    /// What the model knows after them.
    pub known: Known,
    /// From which turn on, and what the system message says.
    pub window: Window,
    /// Where the next turn's telling begins: as this one, unless a turn could not be read. That may be told
    /// tomorrow, so the window stays as it was.
    pub kept: Option<Window>,
    /// Files that are not repeated though they were the last time, by path and hash.
    pub not_repeated: Vec<String>,
}

/// Tells the earlier turns.
#[must_use]
pub fn tell(earlier: &Earlier, now: Now<'_>, catalog: &Catalog) -> Telling {
    let Earlier { exchanges, left_out, window: before, solutions, left } = earlier;
    let all = *left_out != LeftOut::NoRoom;
    let fits = fit::fit(exchanges, before.as_ref(), all, now.room, now.place);
    let fits = if now.briefly { fit::Fits { whole_from: now.place, ..fits } } else { fits };
    let told = || exchanges.iter().filter(|exchange| exchange.place >= fits.from);
    let window = match before.as_ref().filter(|before| before.from == fits.from) {
        Some(before) => Window { whole_from: fits.whole_from, ..before.clone() },
        None => Window { whole_from: fits.whole_from, ..begun_at(told().next(), fits.from, earlier, now) },
    };
    let was_whole = before.as_ref().map_or(0, |before| before.whole_from);
    let left = left.iter().map(|(place, files)| (*place, files));
    let files: Vec<_> =
        left.chain(exchanges.iter().map(|exchange| (exchange.place, &exchange.files))).collect();
    let of = |turns: std::ops::Range<u64>| {
        let files = files.iter().filter(move |(place, _)| turns.contains(place));
        files.flat_map(|(_, files)| (*files).clone())
    };
    let not_repeated = of(was_whole..fits.whole_from).collect();
    let window = Window { summary: now.summary.cloned().or(window.summary.clone()), ..window };
    let window = window.without(of(0..fits.from));
    let mut known = Known {
        mode: Some(window.mode.clone()),
        solution: window.solution.as_ref().map(|solution| solution.text),
    };
    let mut items = Vec::new();
    for exchange in told() {
        let whole = exchange.place >= fits.whole_from;
        items.extend(exchange.tell(whole, &mut known, solutions, catalog, now.reader));
    }
    if let Some(Told::Said(first)) = items.first_mut() {
        first.earlier_block = window.block();
    }
    Telling {
        told: items,
        tokens: fits.tokens,
        known,
        kept: match left_out {
            LeftOut::Unreadable => before.clone(),
            LeftOut::Nothing | LeftOut::Before | LeftOut::NoRoom => Some(window.clone()),
        },
        window,
        not_repeated,
    }
}

/// A window that begins with this turn: its system message says what held then.
fn begun_at(first: Option<&Exchange>, from: u64, earlier: &Earlier, now: Now<'_>) -> Window {
    let (mode, solution) = match first {
        Some(exchange) => (exchange.mode.as_str(), exchange.solution),
        None => (now.mode, now.solution.map(|solution| solution.text)),
    };
    let brought = earlier.exchanges.iter().filter_map(|exchange| exchange.brought.as_ref());
    let before = earlier.window.as_ref().and_then(|window| window.solution.as_ref());
    let mut named = brought.map(|(named, _)| named).chain(now.solution).chain(before);
    Window {
        from,
        whole_from: from,
        mode: mode.to_owned(),
        solution: named.find(|named| Some(named.text) == solution).cloned(),
        files: earlier.window.as_ref().map(|before| before.files.clone()).unwrap_or_default(),
        summary: earlier.window.as_ref().and_then(|before| before.summary.clone()),
    }
}
