//! The half of a stream that the flows write.

use crate::checkpoint::{CHECKPOINT_LIFE, Checkpoint, MAX_CHECKPOINT_BYTES};
use agent::answer::{File, embedded, embedded_link};
use protocol::place::{Place, Segment};
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agent::{
    guard::{Blob, Guarded, Stream},
    model::FunctionCall,
};
use contracts::{
    Timestamp,
    stream::{Delta, Event, Kind, Phase, Reset, ResetReason, Status},
};
use tokio::sync::Notify;

use protocol::{
    id::{AttemptId, TurnKey},
    turn::Turn,
};

/// The most statuses that wait for a reader: as many as a reply's calls that run, and those around them.
const MOST_STATUSES: usize = 96;

/// What the answer looks like so far.
#[derive(Debug)]
pub struct Writer {
    state: Mutex<State>,
    changed: Notify,
    embedded: Notify,
}

#[derive(Debug)]
struct State {
    /// Whether the client wants a stream at all.
    streamed: bool,
    /// How often the turn was suspended before.
    round: u32,
    /// Where the text begins: at the segment's start, unless another process wrote what comes before.
    begins: Option<Place>,
    /// Why the segment began, where that was by a reset.
    reset: Option<ResetReason>,
    /// What the turn was at, oldest first, for whoever has not been told.
    statuses: VecDeque<Said>,
    /// How many statuses there ever were.
    said: u64,
    /// The attempt of another process that was said to work on the turn.
    followed: Option<AttemptId>,
    /// How many UTF-16 code units of the segment come before the text.
    index: u64,
    /// What is final of the segment's text, from there on.
    text: String,
    /// Files that the text links to and that are not stored yet: it is shown up to the first of them.
    unstored: VecDeque<Unstored>,
    /// How many files the text ever linked to.
    files: u64,
    /// What holds back the rest. Boxed, since it is most of a writer, and many a writer is silent.
    guard: Box<Stream>,
    /// Up to where checkpoints were read or the client has seen the stream.
    read: Option<Place>,
}

#[derive(Debug)]
struct Unstored {
    number: u64,
    /// How much of the text comes before the piece that links to it.
    before: usize,
    file: File,
}

/// What the turn was at.
#[derive(Debug)]
struct Said {
    number: u64,
    /// Where the text ended by then.
    at: Option<Place>,
    status: Status,
}

/// Where a reader stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor {
    /// After the last event it got.
    pub(super) place: Option<Place>,
    /// How many UTF-16 code units of the segment it got, where that is known.
    pub(super) index: Option<u64>,
    /// How many statuses it was told.
    told: u64,
}

impl Cursor {
    /// After this place.
    pub(super) fn after(place: Option<Place>) -> Self {
        Self { place, index: None, told: 0 }
    }

    fn moved(self, place: Place, index: u64) -> Self {
        Self { place: Some(place), index: Some(index), ..self }
    }
}

impl Writer {
    pub(super) fn new(streamed: bool, seen: Option<Place>) -> Self {
        let state = State {
            streamed,
            round: 0,
            begins: None,
            reset: None,
            statuses: VecDeque::new(),
            said: 0,
            followed: None,
            index: 0,
            text: String::new(),
            unstored: VecDeque::new(),
            files: 0,
            guard: Box::default(),
            read: seen,
        };
        Self { state: Mutex::new(state), changed: Notify::new(), embedded: Notify::new() }
    }

    /// For whoever wants the answer at its end alone.
    #[must_use]
    pub fn silent() -> Self {
        Self::new(false, None)
    }

    /// Whether the client wants a stream.
    #[must_use]
    pub fn is_streamed(&self) -> bool {
        self.state().streamed
    }

    /// A tool continuation is answered in the way its turn was started.
    pub fn stream_as(&self, turn: &Turn) {
        self.state().streamed = turn.streamed;
    }

    /// The turn's place among its suspensions: every flow that learns of it says so.
    pub fn of(&self, turn: &Turn) {
        self.state().round = turn.round();
    }

    /// An attempt of this process begins.
    pub fn begin(&self, turn: &Turn) {
        let mut state = self.state();
        state.round = turn.round();
        state.start(turn.first_segment());
        drop(state);
        self.changed.notify_one();
    }

    /// What the turn is at, and which of the model's replies that is about.
    pub fn status(&self, turn: &Turn, round: u32, phase: Phase) {
        self.say(Status::of(phase, attempt(turn), Some(round)));
    }

    /// A tool of the server's runs for this call.
    pub fn tool(&self, turn: &Turn, round: u32, call: &FunctionCall) {
        let (tool_name, tool_call_id) = (Some(call.name.clone()), Some(call.call_id.clone()));
        let status = Status::of(Phase::Tool, attempt(turn), Some(round));
        self.say(Status { tool_name, tool_call_id, ..status });
    }

    /// The model is asked again after a pause.
    pub fn retrying(&self, turn: &Turn, round: u32, pause: Duration) {
        let status = Status::of(Phase::Retrying, attempt(turn), Some(round));
        let seconds = u64::try_from(pause.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX);
        self.say(Status { retry_after_seconds: Some(seconds), ..status });
    }

    /// Another process works on the turn; said once of each attempt.
    pub fn follows(&self, turn: &Turn) {
        let is_news =
            self.state().followed.replace(turn.attempt.clone()).is_none_or(|known| known != turn.attempt);
        if is_news {
            self.say(Status::of(Phase::Working, attempt(turn), None));
        }
    }

    fn say(&self, status: Status) {
        let mut state = self.state();
        if !state.streamed {
            return;
        }
        state.said += 1;
        let said = Said { number: state.said, at: state.ends(), status };
        state.statuses.push_back(said);
        if state.statuses.len() > MOST_STATUSES {
            state.statuses.pop_front();
        }
        drop(state);
        self.changed.notify_one();
    }

    /// The model wrote more.
    pub fn text(&self, turn: &TurnKey, piece: &str) {
        let mut state = self.state();
        if !state.streamed {
            return;
        }
        let url_of = |blob: &Blob| embedded_link(turn, blob);
        let Guarded { text, blobs } = state.guard.push(piece, url_of);
        if text.is_empty() {
            return;
        }
        let before = state.text.len();
        for file in embedded(turn, blobs) {
            state.files += 1;
            let number = state.files;
            state.unstored.push_back(Unstored { number, before, file });
        }
        state.text.push_str(&text);
        let waits = !state.unstored.is_empty();
        drop(state);
        if waits { self.embedded.notify_one() } else { self.changed.notify_one() }
    }

    /// The next file that the text links to and that has to be stored; waits until there is one.
    pub async fn unstored(&self) -> (u64, File) {
        loop {
            if let Some(next) = self.next_unstored() {
                return next;
            }
            self.embedded.notified().await;
        }
    }

    pub(super) fn next_unstored(&self) -> Option<(u64, File)> {
        self.state().unstored.front().map(|next| (next.number, next.file.clone()))
    }

    /// The file with this number is stored: what links to it may be shown.
    pub fn stored(&self, number: u64) {
        let mut state = self.state();
        // The text may have been taken back meanwhile, and its files with it.
        if state.unstored.front().is_some_and(|next| next.number == number) {
            state.unstored.pop_front();
        }
        drop(state);
        self.changed.notify_one();
    }

    /// What was written is not the answer.
    pub fn reset(&self, reason: ResetReason) {
        let mut state = self.state();
        let Some(begins) = state.begins else { return };
        state.start(begins.segment.next());
        state.reset = Some(reason);
        drop(state);
        self.changed.notify_one();
    }

    /// Text that another process wrote.
    pub fn relay(&self, checkpoint: &Checkpoint) {
        let mut state = self.state();
        let begins = checkpoint.begins();
        match state.ends() {
            Some(ends) if ends == begins => state.text.push_str(&checkpoint.text),
            // Behind a gap or of a later segment: the reader decides what of it is news.
            Some(ends) if ends >= checkpoint.ends => {}
            _ => {
                state.start(begins.segment);
                (state.begins, state.reset) = (Some(begins), checkpoint.reset);
                state.index = checkpoint.index;
                state.text.push_str(&checkpoint.text);
            }
        }
        state.read = Some(checkpoint.ends);
        drop(state);
        self.changed.notify_one();
    }

    /// Up to where the stream is known here: what checkpoints are read after.
    #[must_use]
    pub fn read_up_to(&self) -> Option<Place> {
        self.state().read
    }

    /// The segment that is being written.
    #[must_use]
    pub fn segment(&self) -> Option<Segment> {
        let state = self.state();
        state.begins.filter(|_| state.streamed).map(|begins| begins.segment)
    }

    /// How often the turn was suspended before.
    #[must_use]
    pub fn round(&self) -> u32 {
        self.state().round
    }

    /// The next text to be made durable after `saved`, if there is any.
    #[must_use]
    pub fn checkpoint(&self, turn: &TurnKey, saved: Option<Place>, now: Timestamp) -> Option<Checkpoint> {
        let state = self.state();
        let begins = state.begins?;
        let from = saved.filter(|saved| saved.segment == begins.segment).unwrap_or(begins);
        let skipped = from.offset.checked_sub(begins.offset)?;
        let (before, new) = (state.text.get(..skipped)?, state.shown().get(skipped..)?);
        let text = new.get(..new.floor_char_boundary(MAX_CHECKPOINT_BYTES))?;
        (!text.is_empty()).then(|| Checkpoint {
            key: turn.clone(),
            ends: Place { segment: begins.segment, offset: from.offset + text.len() },
            index: state.index + utf16_length(before),
            text: text.to_owned(),
            reset: state.reset,
            expires: now.after(CHECKPOINT_LIFE),
        })
    }

    /// Waits until something changed since it was last looked at.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The next event for a reader at `cursor`, which moves on with it.
    pub(super) fn next(&self, cursor: &mut Cursor) -> Option<Event> {
        let state = self.state();
        if !state.streamed {
            return None;
        }
        let due = state.statuses.iter().find(|said| said.number > cursor.told);
        // What was said of a later text waits for that, unless there is none to be shown.
        let stands = cursor.place.or(state.begins.map(|begins| Place::start(begins.segment)));
        let text = match due {
            Some(said) if said.at <= stands => None,
            _ => state.text_for(cursor),
        };
        text.or_else(|| {
            let said = due?;
            cursor.told = said.number;
            Some(Event { id: None, kind: Kind::Status(said.status.clone()) })
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The next of the text, or the reset before it, for a reader at `cursor`, which moves on with it.
    fn text_for(&self, cursor: &mut Cursor) -> Option<Event> {
        let begins = self.begins?;
        let start = Place::start(begins.segment);
        match cursor.place {
            Some(place) if place.segment == begins.segment => {}
            // An older attempt's text: the reader is further.
            Some(place) if place > start => return None,
            Some(place) if place.shows_text() => {
                let is_ours = place.segment.is_of_same_attempt(begins.segment);
                let reason = if is_ours { self.reset } else { Some(ResetReason::TakenOver) };
                *cursor = cursor.moved(start, 0);
                return Some(Event { id: Some(start.id()), kind: Kind::Reset(Reset { reason }) });
            }
            _ => *cursor = cursor.moved(start, 0),
        }
        let offset = cursor.place.map_or(0, |place| place.offset);
        let skipped = offset.checked_sub(begins.offset)?;
        let (before, text) = (self.text.get(..skipped)?, self.shown().get(skipped..)?);
        if text.is_empty() {
            return None;
        }
        let index = cursor.index.unwrap_or_else(|| self.index + utf16_length(before));
        let ends = Place { segment: begins.segment, offset: offset + text.len() };
        *cursor = cursor.moved(ends, index + utf16_length(text));
        Some(Event { id: Some(ends.id()), kind: Kind::Delta(Delta { index, text: text.to_owned() }) })
    }

    fn start(&mut self, segment: Segment) {
        self.begins = Some(Place::start(segment));
        self.reset = None;
        self.index = 0;
        self.text.clear();
        self.unstored.clear();
        *self.guard = Stream::default();
    }

    /// The text up to the first link to a file that is not there yet.
    fn shown(&self) -> &str {
        let until = self.unstored.front().map_or(self.text.len(), |next| next.before);
        self.text.get(..until).unwrap_or_default()
    }

    fn ends(&self) -> Option<Place> {
        let begins = self.begins?;
        Some(Place { segment: begins.segment, offset: begins.offset + self.text.len() })
    }
}

/// Which attempt works on a turn, from 1.
fn attempt(turn: &Turn) -> u32 {
    turn.takeovers.saturating_add(1)
}

/// The length of a text as a browser counts it.
pub(super) fn utf16_length(text: &str) -> u64 {
    u64::try_from(text.encode_utf16().count()).unwrap_or(u64::MAX)
}
