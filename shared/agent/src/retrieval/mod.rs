//! What a turn is to know of an org's indexed sources.

pub mod key;
