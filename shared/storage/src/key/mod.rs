//! The key catalogue: every item of the table and every object of the bucket.
//!
//! Key parts are percent-encoded, so that no id can contain a separator (I7). Timestamps in index keys sort as text.
//!
//! # Examples
//! ```
//! use protocol::id::SessionKey;
//! use storage::key::Item;
//!
//! let session = SessionKey { org: "acme/eu".parse()?, session: "s1".parse()? };
//! assert_eq!(Item::Session(&session).pk(), "O#acme%2Feu#S#s1");
//! let turn = session.turn("t1".parse()?);
//! assert_eq!(Item::Turn(&turn).sk(), "TURN#t1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod index;
mod item;
mod object;
mod part;
#[cfg(test)]
mod tests;

pub use index::{
    activity, activity_from, activity_to, approval_at, approval_index, approvals_index, delivery_at,
    lane_due, lane_index, list_shard, open_index, org_index, org_shard, org_shards, purge_due, purge_index,
    purge_shard, shard, turn_due, unknown_at, unknown_index, user_index, webhook_index,
};
pub(crate) use item::{
    CLIENTS_PARTITION, KNOWLEDGE_PREFIX, MODE_PREFIX, TurnItemKind, USAGE_KEYS_PARTITION, USER_PREFIX,
    VECTOR_STORE_PREFIX, approval_prefix, context_prefix, delivery_prefix, feedback_prefix, intent_prefix,
    parse_approval, parse_intent, parse_turn_item, place_part, turn_range_after, turn_ranges,
    usage_partition, usage_prefix,
};
pub use item::{Item, kind_of_item, parse_delivery, parse_lane, parse_session, parse_turn, parse_user};
pub use object::{
    kind_of_object, knowledge_prefix, object, parse_object, session_prefix, turn_prefix, upload_prefix,
};
pub(crate) use part::{MAX_KEY_BYTES, decode_part, encode_part};
