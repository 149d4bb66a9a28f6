//! The words of an enumeration, from the type that reads them.

use serde::{
    de::{DeserializeOwned, Deserializer, Error as _, Visitor, value::Error},
    forward_to_deserialize_any,
};

/// Implements the schema of enumerations: one of their words.
macro_rules! words {
    ($($type:ty),+) => {$(
        impl $crate::members::Typed for $type {
            fn schema() -> serde_json::Value {
                serde_json::json!({ "enum": $crate::members::words_of::<$type>() })
            }
        }
    )+};
}

pub(crate) use words;

/// Returns the words that an enumeration reads, in the order of its variants.
pub(crate) fn words_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut words: &'static [&'static str] = &[];
    // It fails always: it takes the words that the type offers, and has no value.
    let _no_value = T::deserialize(Words(&mut words));
    words
}

struct Words<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Words<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("no value"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = words;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
