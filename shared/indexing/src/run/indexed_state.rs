//! The indexed state of a repository.

use std::collections::{BTreeMap, BTreeSet};

use retrieval::collection::Layout;

use super::file_version::{FileVersion, splitter};
use super::options::{Options, Source};
use super::point::FilePoints;

/// The points of a repository in the database.
#[derive(Debug, Clone, Default)]
pub struct IndexedState {
    /// The layout of its collection. `None` if the collection doesn't exist.
    pub(super) layout: Option<Layout>,
    /// Files by path.
    pub(super) files: BTreeMap<String, IndexedFile>,
    /// Points that no current chunk has.
    pub(super) stale: BTreeSet<String>,
}

/// The points of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct IndexedFile {
    /// The versions that its points record; two if a run was interrupted.
    pub(super) versions: BTreeSet<FileVersion>,
    /// The ids of its points.
    pub(super) ids: BTreeSet<String>,
}

/// The files that are up to date, and all indexed paths.
#[derive(Debug)]
pub(super) struct Baseline {
    /// The hash of each file whose chunks are all stored.
    pub(super) complete: BTreeMap<String, String>,
    /// Every path that has points.
    pub(super) paths: BTreeSet<String>,
}

impl IndexedState {
    /// Returns the state as a baseline for a run with this source and these options.
    pub(super) fn baseline(self, source: &Source, options: &Options) -> Baseline {
        let paths = self.files.keys().cloned().collect();
        let complete = self.files.into_iter().filter_map(|(path, file)| {
            let mut versions = file.versions.into_iter();
            let (version, second) = (versions.next()?, versions.next());
            let is_complete = second.is_none()
                && u32::try_from(file.ids.len()).ok() == Some(version.part_total)
                && version.model == options.model.name
                && version.project == source.project
                && version.splitter == splitter(options.chunk_length);
            (is_complete && !options.force).then_some((path, version.sha256))
        });
        Baseline { complete: complete.collect(), paths }
    }

    pub(super) fn dense_dimensions(&self) -> Option<u64> {
        self.layout.as_ref().map(|layout| layout.dense.1)
    }

    /// Records a file's new points; its other points become stale.
    pub(super) fn record(&mut self, file_points: &FilePoints) {
        let ids: BTreeSet<String> = file_points.points.iter().map(|point| point.id.clone()).collect();
        let file = IndexedFile { versions: [file_points.version.clone()].into(), ids };
        if let Some(previous) = self.files.insert(file_points.path.clone(), file.clone()) {
            self.stale.extend(previous.ids.difference(&file.ids).cloned());
        }
    }

    /// Removes these paths and returns the ids of all stale points.
    pub(super) fn take_stale_ids(&mut self, removed: &[String]) -> BTreeSet<String> {
        let files = removed.iter().filter_map(|path| self.files.remove(path));
        let ids: Vec<String> = files.flat_map(|file| file.ids).collect();
        self.stale.extend(ids);
        std::mem::take(&mut self.stale)
    }
}
