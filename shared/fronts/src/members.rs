//! Reads the members of a JSON object, with the errors of a protocol.

use std::marker::PhantomData;

use serde_json::{Map, Number, Value};

/// An error of a protocol that names a member.
pub trait MemberError {
    /// Creates the error of a member that breaks a rule.
    fn member(path: &str, rule: &str) -> Self;
}

/// The members of an object, with its path.
#[derive(Debug, Clone)]
pub struct Members<'a, E> {
    members: &'a Map<String, Value>,
    path: String,
    error: PhantomData<fn() -> E>,
}

impl<'a, E: MemberError> Members<'a, E> {
    /// Reads an object.
    ///
    /// # Errors
    /// If the value is none.
    pub fn read(value: &'a Value, path: &str) -> Result<Self, E> {
        match value {
            Value::Object(members) => Ok(Self { members, path: path.to_owned(), error: PhantomData }),
            _ => Err(E::member(path, "Input should be an object")),
        }
    }

    /// Returns the names of the members that aren't null.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.members.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_str())
    }

    /// Returns the path of a member.
    pub fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Returns a member, unless it is null.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    /// Returns a member that must be there.
    ///
    /// # Errors
    /// If it is absent.
    pub fn required(&self, name: &str) -> Result<&'a Value, E> {
        self.get(name).ok_or_else(|| self.rule(name, "Field required"))
    }

    /// Returns a text.
    ///
    /// # Errors
    /// If it has another type.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, E> {
        self.read_as(name, Value::as_str, "Input should be a valid string")
    }

    /// Returns a text that must be there.
    ///
    /// # Errors
    /// If it is absent or no text.
    pub fn required_text(&self, name: &str) -> Result<&'a str, E> {
        self.text(name)?.ok_or_else(|| self.rule(name, "Field required"))
    }

    /// Returns a flag.
    ///
    /// # Errors
    /// If it has another type.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, E> {
        self.read_as(name, Value::as_bool, "Input should be a valid boolean")
    }

    /// Returns a number.
    ///
    /// # Errors
    /// If it has another type.
    pub fn number(&self, name: &str) -> Result<Option<Number>, E> {
        let number = |value: &'a Value| value.as_number().cloned();
        self.read_as(name, number, "Input should be a valid number")
    }

    /// Returns a count.
    ///
    /// # Errors
    /// If it has another type.
    pub fn count(&self, name: &str) -> Result<Option<u32>, E> {
        let count = |value: &'a Value| value.as_u64().and_then(|count| u32::try_from(count).ok());
        self.read_as(name, count, "Input should be a valid integer, 0 or more")
    }

    /// Returns a list. It is empty if it is absent.
    ///
    /// # Errors
    /// If it has another type.
    pub fn list(&self, name: &str) -> Result<&'a [Value], E> {
        let list = |value: &'a Value| value.as_array().map(Vec::as_slice);
        Ok(self.read_as(name, list, "Input should be a valid array")?.unwrap_or_default())
    }

    /// Returns the object in a member.
    ///
    /// # Errors
    /// If it has another type.
    pub fn object(&self, name: &str) -> Result<Option<Self>, E> {
        self.get(name).map(|value| Self::read(value, &self.path(name))).transpose()
    }

    /// Refuses members other than these.
    ///
    /// # Errors
    /// If there are others.
    pub fn only(&self, known: &[&str]) -> Result<(), E> {
        match self.names().find(|name| !known.contains(name)) {
            Some(unknown) => Err(self.rule(unknown, "Extra inputs are not permitted")),
            None => Ok(()),
        }
    }

    /// Returns an error about a member.
    pub fn rule(&self, name: &str, rule: &str) -> E {
        E::member(&self.path(name), rule)
    }

    fn read_as<T>(
        &self,
        name: &str,
        read: impl Fn(&'a Value) -> Option<T>,
        rule: &str,
    ) -> Result<Option<T>, E> {
        self.get(name).map(|value| read(value).ok_or_else(|| self.rule(name, rule))).transpose()
    }
}
