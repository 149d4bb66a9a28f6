//! Ids that can be checked without memory: a response id says how long its chain is and which calls
//! wait for results, and carries a checksum, so that a restart of the server forgets no chain.

use sha2::{Digest, Sha256};

const PREFIX: &str = "resp_mock_";

/// Content of a response id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Issued {
    nonce: u64,
    /// User turns in the chain up to and including this response.
    pub turns: u16,
    /// Function calls that the next request in the chain has to answer.
    pub calls: u8,
    /// A response asked for with `store: false` can't be continued from.
    pub stored: bool,
}

impl Issued {
    /// An id that was never issued before.
    pub fn new(turns: u16, calls: u8, stored: bool) -> Self {
        let (nonce, _) = uuid::Uuid::new_v4().as_u64_pair();
        Self { nonce, turns, calls, stored }
    }

    /// The same with this number: an id that can be known before.
    pub fn numbered(self, nonce: u64) -> Self {
        Self { nonce, ..self }
    }

    /// Reads an id; nothing when this server did not issue it.
    pub fn read(text: &str) -> Option<Self> {
        let hex = text.strip_prefix(PREFIX)?;
        let nonce = u64::from_str_radix(hex.get(0..16)?, 16).ok()?;
        let turns = u16::from_str_radix(hex.get(16..20)?, 16).ok()?;
        let calls = u8::from_str_radix(hex.get(20..22)?, 16).ok()?;
        let stored = match hex.get(22..23)? {
            "0" => false,
            "1" => true,
            _ => return None,
        };
        let issued = Self { nonce, turns, calls, stored };
        (issued.response() == text).then_some(issued)
    }

    /// The id of the response.
    pub fn response(self) -> String {
        let Self { nonce, turns, calls, stored } = self;
        let said = format!("{nonce:016x}{turns:04x}{calls:02x}{}", u8::from(stored));
        let check: String = Sha256::digest(format!("scripted response {said}"))
            .iter()
            .take(4)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("{PREFIX}{said}{check}")
    }

    /// The id of the response's n-th function call.
    pub fn call(self, index: u8) -> String {
        format!("call_{:016x}{index:02x}", self.nonce)
    }

    /// The id of an output item.
    pub fn item(self, prefix: &str, index: usize) -> String {
        format!("{prefix}_{:016x}{index:02x}", self.nonce)
    }

    /// The calls that the next request has to answer, in order.
    pub fn open_calls(self) -> Vec<String> {
        (0..self.calls).map(|index| self.call(index)).collect()
    }
}

/// Returns the placeholder for the reasoning of the item with this id.
pub fn encrypted(id: &str) -> String {
    format!("scripted_{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_encodes_its_purpose() {
        let issued = Issued::new(3, 2, true);
        assert_eq!(Issued::read(&issued.response()), Some(issued));
    }

    #[test]
    fn unissued_id_is_refused() {
        let text = Issued::new(0, 0, true).response();
        let forged = text.replacen("resp_mock_", "resp_mock_f", 1);
        assert_eq!(Issued::read(&forged), None);
        assert_eq!(Issued::read("resp_123"), None);
        assert_eq!(Issued::read("resp_mock_é"), None);
    }
}
