//! The layout of a collection: how it is created, and how an existing one is read.

use std::collections::{BTreeMap, BTreeSet};

use agent::retrieval::key;
use qdrant_client::qdrant::{
    CollectionInfo, CreateCollection, CreateCollectionBuilder, CreateFieldIndexCollection,
    CreateFieldIndexCollectionBuilder, Distance, FieldType, KeywordIndexParamsBuilder, Modifier,
    PayloadSchemaType, SparseVectorParamsBuilder, SparseVectorsConfigBuilder, TextIndexParamsBuilder,
    TokenizerType, VectorParamsBuilder, VectorsConfigBuilder, vectors_config::Config,
};

/// The name of the dense vector, which an embedding model makes.
pub const DENSE: &str = "dense";

/// The name of the sparse vector of [`crate::sparse_vector`]. A collection of another indexer without a vector of
/// this name is searched by its dense vector alone, since terms hashed in another way would match at random.
pub const SPARSE: &str = "terms";

/// The payload keys that hold a keyword or a list of keywords.
const KEYWORD_KEYS: &[&str] = &[
    key::PROJECT_ID,
    key::REPO,
    key::PATH,
    key::LANGUAGE,
    key::DOC_ID,
    key::SEMANTIC_ID,
    key::CONTENT_TYPE,
    key::SUBTYPE,
    key::SECTION_KEY,
    key::SYMBOL,
    key::SYMBOL_TYPE,
    key::LABEL_SLUGS,
    key::SOURCE_SHA256,
    key::CONTENT_HASH,
    key::EMBEDDING_MODEL,
    key::AGENT_CONTEXT_IDS,
    key::VECTOR_STORE_ID,
];

/// The payload keys that hold a number.
const INTEGER_KEYS: &[&str] = &[key::PART_INDEX, key::PART_TOTAL, key::LINE_START, key::LINE_END, key::PAGE];

/// The payload keys that hold text, which conditions search for words.
pub const TEXT_KEYS: &[&str] = &[key::TITLE, key::TEXT];

/// Returns the request that creates a collection with both vectors.
#[must_use]
pub fn create_request(name: &str, dimensions: u64) -> CreateCollection {
    let mut dense = VectorsConfigBuilder::default();
    dense.add_named_vector_params(DENSE, VectorParamsBuilder::new(dimensions, Distance::Cosine));
    let mut sparse = SparseVectorsConfigBuilder::default();
    sparse.add_named_vector_params(SPARSE, SparseVectorParamsBuilder::default().modifier(Modifier::Idf));
    CreateCollectionBuilder::new(name).vectors_config(dense).sparse_vectors_config(sparse).build()
}

/// Returns the requests that create the payload indexes: the tenant's index first, then an index for every other documented key. A
/// database in strict mode refuses a filter by a key without one.
#[must_use]
pub fn index_requests(name: &str) -> Vec<CreateFieldIndexCollection> {
    let keyword = |key: &str| CreateFieldIndexCollectionBuilder::new(name, key, FieldType::Keyword);
    let tenant =
        keyword(key::ORG_ID).field_index_params(KeywordIndexParamsBuilder::default().is_tenant(true));
    let keywords = KEYWORD_KEYS.iter().map(|key| keyword(key));
    let texts = TEXT_KEYS.iter().map(|key| {
        let by_word = TextIndexParamsBuilder::new(TokenizerType::Word).lowercase(true);
        CreateFieldIndexCollectionBuilder::new(name, *key, FieldType::Text).field_index_params(by_word)
    });
    let integers =
        INTEGER_KEYS.iter().map(|key| CreateFieldIndexCollectionBuilder::new(name, *key, FieldType::Integer));
    let indexes = std::iter::once(tenant).chain(keywords).chain(integers).chain(texts);
    indexes.map(|index| index.wait(true).build()).collect()
}

/// The layout of a collection, as a search needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The vector to search by: its name, none for an unnamed vector, and its dimensions.
    pub dense: (Option<String>, u64),
    /// True if its similarity is the cosine, whose range is known.
    pub is_cosine: bool,
    /// True if it has the sparse vector of [`crate::sparse_vector`].
    pub has_sparse: bool,
    /// The payload keys, as far as filters depend on them.
    pub keys: FilterKeys,
}

/// The payload keys of a collection, as far as filters depend on them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterKeys {
    /// The keys that hold text.
    pub texts: BTreeSet<String>,
    /// The indexed keys and the types of their indexes, if the database refuses to filter by other keys: its strict mode.
    pub indexed: Option<BTreeMap<String, PayloadSchemaType>>,
}

impl FilterKeys {
    /// Returns true if the database filters by values of these types under this key.
    pub(crate) fn accept(&self, key: &str, mut types: impl Iterator<Item = PayloadSchemaType>) -> bool {
        self.indexed.as_ref().is_none_or(|indexed| types.all(|needed| indexed.get(key) == Some(&needed)))
    }
}

impl Layout {
    /// Reads the layout. `None` if there is no dense vector, or if several exist and none has the name [`DENSE`].
    #[must_use]
    pub fn from_info(info: CollectionInfo) -> Option<Self> {
        let config = info.config?;
        let is_strict = config.strict_mode_config.is_some_and(|strict| {
            strict.enabled == Some(true) && strict.unindexed_filtering_retrieve == Some(false)
        });
        let params = config.params?;
        let (name, vector) = match params.vectors_config?.config? {
            Config::Params(only) => (None, only),
            Config::ParamsMap(named) if named.map.len() == 1 => {
                named.map.into_iter().next().map(|(name, params)| (Some(name), params))?
            }
            Config::ParamsMap(mut named) => (Some(DENSE.to_owned()), named.map.remove(DENSE)?),
        };
        let is_cosine = vector.distance() == Distance::Cosine;
        let dense = (name, vector.size);
        let has_sparse = params.sparse_vectors_config.is_some_and(|sparse| sparse.map.contains_key(SPARSE));
        let indexed: BTreeMap<String, PayloadSchemaType> =
            info.payload_schema.into_iter().map(|(key, schema)| (key, schema.data_type())).collect();
        let of_text = indexed.iter().filter(|(_, kind)| **kind == PayloadSchemaType::Text);
        let texts = of_text.map(|(key, _)| key.clone());
        let texts = texts.chain(TEXT_KEYS.iter().map(|key| (*key).to_owned())).collect();
        let indexed = is_strict.then_some(indexed);
        Some(Self { dense, is_cosine, has_sparse, keys: FilterKeys { texts, indexed } })
    }
}

#[cfg(test)]
mod tests {
    use qdrant_client::qdrant::{
        CollectionConfig, CollectionParams, PayloadSchemaInfo, StrictModeConfig, VectorParams, VectorsConfig,
    };

    use super::*;

    fn info(created: CreateCollection) -> CollectionInfo {
        let params = CollectionParams {
            vectors_config: created.vectors_config,
            sparse_vectors_config: created.sparse_vectors_config,
            ..CollectionParams::default()
        };
        let config = Some(CollectionConfig { params: Some(params), ..CollectionConfig::default() });
        CollectionInfo { config, ..CollectionInfo::default() }
    }

    #[test]
    fn layout_of_own_collection_is_read() {
        let mut info = info(create_request("c", 384));
        let notes =
            PayloadSchemaInfo { data_type: PayloadSchemaType::Text.into(), ..PayloadSchemaInfo::default() };
        info.payload_schema.insert("Notes".to_owned(), notes);
        let texts = ["Notes", "Text", "Title"].map(str::to_owned).into();
        let keys = FilterKeys { texts, indexed: None };
        let layout = Layout { dense: (Some(DENSE.to_owned()), 384), is_cosine: true, has_sparse: true, keys };
        assert_eq!(Layout::from_info(info), Some(layout));
    }

    #[test]
    fn strict_mode_requires_indexes() {
        let mut info = info(create_request("c", 384));
        let strict = |enabled| StrictModeConfig {
            enabled: Some(enabled),
            unindexed_filtering_retrieve: Some(false),
            ..StrictModeConfig::default()
        };
        let path = PayloadSchemaInfo {
            data_type: PayloadSchemaType::Keyword.into(),
            ..PayloadSchemaInfo::default()
        };
        info.payload_schema.insert("Path".to_owned(), path);
        for (is_strict, accepts) in [(false, true), (true, false)] {
            info.config.as_mut().unwrap().strict_mode_config = Some(strict(is_strict));
            let keys = Layout::from_info(info.clone()).unwrap().keys;
            assert!(keys.accept("Path", [PayloadSchemaType::Keyword].into_iter()));
            assert_eq!(keys.accept("Path", [PayloadSchemaType::Integer].into_iter()), accepts);
            assert_eq!(keys.accept("Other", [PayloadSchemaType::Keyword].into_iter()), accepts);
        }
    }

    #[test]
    fn layout_of_foreign_collection_uses_its_only_vector() {
        let only = VectorParams { size: 8, ..VectorParams::default() };
        let unnamed = CreateCollection {
            vectors_config: Some(VectorsConfig { config: Some(Config::Params(only)) }),
            ..CreateCollection::default()
        };
        let layout = Layout::from_info(info(unnamed)).unwrap();
        assert_eq!((layout.dense, layout.has_sparse), ((None, 8), false));
        assert_eq!(Layout::from_info(info(CreateCollection::default())), None);
    }

    #[test]
    fn every_documented_key_has_an_index_and_the_tenants_is_first() {
        let indexes = index_requests("c");
        assert_eq!(indexes[0].field_name, "OrgId");
        let keys: BTreeSet<&str> = indexes.iter().map(|index| index.field_name.as_str()).collect();
        assert_eq!(keys, key::ALL.iter().copied().collect());
        assert_eq!(indexes.len(), key::ALL.len());
    }
}
