//! Requests that bring the history of their chat: a neutral form for every protocol in which clients resend it.
//!
//! The messages of a request determine what the model sees; a session only groups turns. So a history that isn't recognized
//! costs storage and a session, and never a wrong answer: its messages enter role by role, before the input of a new turn.
//!
//! A front translates its protocol into a [`Chat`], calls [`start_chat`], and delivers the start as its protocol does. The
//! crate knows no protocol and no HTTP.

mod chain;
mod chat;
mod error;
mod find;
mod id;
mod matching;
mod port;
mod start;
mod turn;

pub use chain::{Chain, Mark, RequestEnd};
pub use chat::{Chat, Hint, TurnRound};
pub use contracts::request::{
    ChatCall, ChatContent, ChatFile, ChatMessage, ChatResult, InlineData, UserMessage,
};
pub use error::StartError;
pub use matching::brought;
pub use port::Turns;
pub use start::{NextTurn, Started, Step, join, resume_chat, start_apart, start_chat, start_next};
pub use turn::{NewTurn, continuation};
