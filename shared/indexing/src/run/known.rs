//! What the database has of a repository.

use std::collections::{BTreeMap, BTreeSet};

use retrieval::collection::Layout;

use super::point::Prepared;
use super::{Options, Source};

/// What the database has of a repository.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// How its collection is laid out; none where there is no collection.
    pub(super) layout: Option<Layout>,
    /// By path.
    pub(super) files: BTreeMap<String, KnownFile>,
    /// Points that belong to nothing that is there.
    pub(super) stale: BTreeSet<String>,
}

/// What it has of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KnownFile {
    /// What its points say of it; two where it was half indexed anew.
    pub(super) states: BTreeSet<State>,
    /// The ids of its points.
    pub(super) ids: BTreeSet<String>,
}

/// What a point says of the file that it is a part of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    pub(super) sha256: String,
    pub(super) model: String,
    pub(super) project: Option<String>,
    pub(super) parts: u32,
}

/// The files that need not be indexed again.
#[derive(Debug)]
pub(super) struct Expected {
    /// The hash of each file all of whose chunks are there.
    pub(super) whole: BTreeMap<String, String>,
    /// Every path of which there is anything.
    pub(super) paths: BTreeSet<String>,
}

impl Known {
    /// What of it counts for a run with this model.
    pub(super) fn for_run(self, source: &Source, options: &Options) -> Expected {
        let paths = self.files.keys().cloned().collect();
        let whole = self.files.into_iter().filter_map(|(path, file)| {
            let mut states = file.states.into_iter();
            let (state, other) = (states.next()?, states.next());
            let is_whole = other.is_none()
                && u32::try_from(file.ids.len()).ok() == Some(state.parts)
                && state.model == options.model.name
                && state.project == source.project;
            (is_whole && !options.again).then_some((path, state.sha256))
        });
        Expected { whole: whole.collect(), paths }
    }

    pub(super) fn dense_length(&self) -> Option<u64> {
        self.layout.as_ref().map(|layout| layout.dense.1)
    }

    /// Notes what is about to be there of a file; what was there beyond it is stale.
    pub(super) fn replace(&mut self, prepared: &Prepared) {
        let ids: BTreeSet<String> = prepared.pieces.iter().map(|piece| piece.id.clone()).collect();
        let file = KnownFile { states: [prepared.state.clone()].into(), ids };
        if let Some(before) = self.files.insert(prepared.path.clone(), file.clone()) {
            self.stale.extend(before.ids.difference(&file.ids).cloned());
        }
    }

    /// The ids of everything that is to go, forgotten here.
    pub(super) fn take_stale(&mut self, gone: &[String]) -> BTreeSet<String> {
        let files = gone.iter().filter_map(|path| self.files.remove(path));
        let ids: Vec<String> = files.flat_map(|file| file.ids).collect();
        self.stale.extend(ids);
        std::mem::take(&mut self.stale)
    }
}
