//! A JSON object whose keys keep their order and whose values keep their bytes.

use std::fmt;

use nub_proto::Json;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Keys and raw values, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Object(Vec<(String, Json)>);

impl Object {
    /// Reads an object; anything else is none.
    #[must_use]
    pub fn read(json: &Json) -> Option<Object> {
        json.read().ok()
    }

    /// Sets a key: in its place when it is there, else at the end.
    ///
    /// # Errors
    /// As `serde_json`.
    pub fn set<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), serde_json::Error> {
        let json = Json::of(value)?;
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = json,
            None => self.0.push((key.to_owned(), json)),
        }
        Ok(())
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// Takes a key away.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        Some(self.0.remove(at).1)
    }

    /// Keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Keys and values, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Json)> {
        self.0.iter_mut().map(|(key, value)| (key.as_str(), value))
    }

    /// Whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its JSON text.
    #[must_use]
    pub fn text(&self) -> String {
        self.json().text().to_owned()
    }

    /// The object as a value.
    #[must_use]
    pub fn json(&self) -> Json {
        // keys are strings and values are JSON: this cannot fail
        Json::of(self).unwrap_or_else(|_| Json::of(&()).unwrap_or_else(|_| unreachable!("null is JSON")))
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Object(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}
