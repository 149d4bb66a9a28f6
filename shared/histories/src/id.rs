//! Ids that encode a turn, its round and an item, so that no table maps them. A protocol adds a prefix.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use contracts::id::{SessionId, TurnId};

use crate::chat::TurnRound;

impl TurnRound {
    /// Returns the text of an id, with the position of an item if it is one's.
    #[must_use]
    pub fn encode(&self, item: Option<u64>) -> String {
        let Self { session, turn, round } = self;
        if let Some(packed) = self.pack(item) {
            return URL_SAFE_NO_PAD.encode(packed);
        }
        let item = item.map(|item| format!("/{item}")).unwrap_or_default();
        URL_SAFE_NO_PAD.encode(format!("{}/{}/{round}{item}", session.as_str(), turn.as_str()))
    }

    /// Packs the ids if both have 128 bits. Clients and providers cut ids of over 64 characters.
    fn pack(&self, item: Option<u64>) -> Option<Vec<u8>> {
        let (session, turn) = (Bits::parse(self.session.as_str())?, Bits::parse(self.turn.as_str())?);
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let mut packed =
            vec![PACKED | flag(session.has_dashes, SESSION_DASHES) | flag(turn.has_dashes, TURN_DASHES)];
        packed.extend(session.value.to_be_bytes());
        packed.extend(turn.value.to_be_bytes());
        push_number(&mut packed, self.round.into());
        if let Some(item) = item {
            push_number(&mut packed, item);
        }
        Some(packed)
    }

    /// Decodes the text of an id into the turn and the position of an item. `None` for other texts.
    #[must_use]
    pub fn decode(encoded: &str) -> Option<(Self, Option<u64>)> {
        let bytes = URL_SAFE_NO_PAD.decode(encoded).ok()?;
        match bytes.split_first()? {
            (flags, rest) if flags & !(SESSION_DASHES | TURN_DASHES) == PACKED => Self::unpack(*flags, rest),
            _ => Self::from_text(&String::from_utf8(bytes).ok()?),
        }
    }

    fn unpack(flags: u8, bytes: &[u8]) -> Option<(Self, Option<u64>)> {
        let (session, rest) = bytes.split_first_chunk::<16>()?;
        let (turn, mut rest) = rest.split_first_chunk::<16>()?;
        let text = |value: &[u8; 16], flag: u8| {
            Bits { value: u128::from_be_bytes(*value), has_dashes: flags & flag != 0 }.to_string()
        };
        let session = SessionId::new(text(session, SESSION_DASHES)).ok()?;
        let turn = TurnId::new(text(turn, TURN_DASHES)).ok()?;
        let round = u32::try_from(take_number(&mut rest)?).ok()?;
        let item = if rest.is_empty() { None } else { Some(take_number(&mut rest)?) };
        rest.is_empty().then_some((Self { session, turn, round }, item))
    }

    /// Reads the form for ids of other lengths.
    fn from_text(text: &str) -> Option<(Self, Option<u64>)> {
        let mut parts = text.splitn(4, '/');
        let session = SessionId::new(parts.next()?).ok()?;
        let turn = TurnId::new(parts.next()?).ok()?;
        let round = parts.next()?.parse().ok()?;
        let item = parts.next().map(str::parse).transpose().ok()?;
        Some((Self { session, turn, round }, item))
    }
}

/// The first byte of packed ids, with flags. No text begins with it.
const PACKED: u8 = 1;
const SESSION_DASHES: u8 = 2;
const TURN_DASHES: u8 = 4;

/// An id of 128 bits: 32 hexadecimal digits, or a UUID with dashes.
struct Bits {
    value: u128,
    has_dashes: bool,
}

impl Bits {
    /// Parses an id. `None` for other ids, and for other spellings of these.
    fn parse(id: &str) -> Option<Self> {
        let digits: String = id.chars().filter(|character| *character != '-').collect();
        let value = u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32)?;
        let bits = Self { value, has_dashes: id.len() != 32 };
        (bits.to_string() == id).then_some(bits)
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        if !self.has_dashes {
            return write!(f, "{value:032x}");
        }
        let (a, b, c) = (value >> 96, value >> 80 & 0xffff, value >> 64 & 0xffff);
        let (d, e) = (value >> 48 & 0xffff, value & 0xffff_ffff_ffff);
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

/// Adds a number, seven bits a byte, the lowest first. All but the last byte have the top bit.
fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push(u8::try_from(number & 0x7f).unwrap_or_default() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap_or_default());
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
