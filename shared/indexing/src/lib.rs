//! Indexing: a folder of sources becomes points of the vector database, and stays current.
//!
//! [`walk`] finds the files that are worth it, [`split`] cuts them where their syntax says so, [`run`] compares them with
//! what is there, embeds what is new and removes what is gone, [`watch`] says when to do it again. Points are laid out as
//! the room `retrieval` says, so that its search finds them.
//!
//! A run that was interrupted is gone on with by the next one: a file counts as indexed when all of its chunks are
//! there, with its hash. A run that finds nothing changed asks the database alone.
//!
//! Deliberately absent: any terminal, and any search. What happens is told to a [`run::Progress`].

pub mod language;
pub mod run;
pub mod split;
pub mod walk;
pub mod watch;
