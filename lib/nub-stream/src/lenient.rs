//! Reading of foreign JSON that does not fail over what does not matter: `null`, another type, a doubled key.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

/// A value that is read later, if at all. `null` is `None`.
pub type Raw<'a> = Option<&'a RawValue>;

/// A string. Numbers and booleans become text, a list the texts of its elements, an object what it holds as
/// `text` or `content`, `null` nothing.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl Text<'_> {
    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A count: floats are cut, strings are read, what is negative or no number is `None`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Count(pub Option<u64>);

/// A list. `null` is empty, and a single object stands for a list of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Many<T>(pub Vec<T>);

impl<T> Default for Many<T> {
    fn default() -> Many<T> {
        Many(Vec::new())
    }
}

/// The methods of a visitor that takes any scalar for the default value.
macro_rules! no_scalars {
    (@unit) => {
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("any JSON value")
        }
        fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    ($($method:ident: $type:ty),+) => {
        $crate::lenient::no_scalars!(@unit);
        $(fn $method<E: serde::de::Error>(self, _: $type) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        })+
    };
    () => {
        $crate::lenient::no_scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
    };
}

/// Defines structs of which every field is optional and any JSON value is a valid, perhaps empty, instance.
/// The last of several equal keys counts.
macro_rules! lenient {
    ($($(#[$doc:meta])* struct $name:ident<$life:lifetime> {
        $($(#[$field_doc:meta])* $($key:literal)|+ => $field:ident: $type:ty,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name<$life> {
            $($(#[$field_doc])* pub $field: $type,)*
            life: std::marker::PhantomData<&$life ()>,
        }

        impl<'de: $life, $life> serde::Deserialize<'de> for $name<$life> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[allow(non_camel_case_types)]
                enum Key { $($field,)* Other }
                struct Fields<$life>(std::marker::PhantomData<&$life ()>);
                impl<'de: $life, $life> serde::de::Visitor<'de> for Fields<$life> {
                    type Value = $name<$life>;
                    $crate::lenient::no_scalars!();
                    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                        $crate::lenient::skip(seq)?;
                        Ok($name::default())
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        let mut into = $name::default();
                        while let Some(key) = map.next_key_seed($crate::lenient::Keys(|key: &str| match key {
                            $($($key)|+ => Key::$field,)*
                            _ => Key::Other,
                        }))? {
                            match key {
                                $(Key::$field => into.$field = map.next_value()?,)*
                                Key::Other => drop(map.next_value::<serde::de::IgnoredAny>()?),
                            }
                        }
                        Ok(into)
                    }
                }
                deserializer.deserialize_any(Fields(std::marker::PhantomData))
            }
        }
    )*};
}
pub(crate) use {lenient, no_scalars};

/// Maps a key without keeping it.
pub struct Keys<F>(pub F);

impl<'de, K, F: FnOnce(&str) -> K> DeserializeSeed<'de> for Keys<F> {
    type Value = K;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<K, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<K, F: FnOnce(&str) -> K> Visitor<'_> for Keys<F> {
    type Value = K;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E: Error>(self, key: &str) -> Result<K, E> {
        Ok(self.0(key))
    }
}

/// Reads over a list.
pub fn skip<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

struct TextVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for TextVisitor<'a> {
    type Value = Text<'a>;
    no_scalars!(@unit);
    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'a>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Text<'a>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Text<'a>, E> {
        Ok(Text(Cow::Owned(value.to_string())))
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Text<'a>, E> {
        Ok(Text(Cow::Owned(value.to_string())))
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<Text<'a>, E> {
        Ok(Text(Cow::Owned(value.to_string())))
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Text<'a>, E> {
        Ok(Text(Cow::Owned(value.to_string())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Text<'a>, A::Error> {
        let mut all = Text::default();
        while let Some(Text(part)) = seq.next_element()? {
            all.0 += part;
        }
        Ok(all)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text<'a>, A::Error> {
        let mut text = Text::default();
        while let Some(wanted) = map.next_key_seed(Keys(|key: &str| matches!(key, "text" | "content")))? {
            if wanted {
                text = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(text)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text<'a>, D::Error> {
        deserializer.deserialize_any(TextVisitor(PhantomData))
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;
    no_scalars!(visit_bool: bool);
    fn visit_u64<E: Error>(self, value: u64) -> Result<Count, E> {
        Ok(Count(Some(value)))
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Count, E> {
        Ok(Count(u64::try_from(value).ok()))
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn visit_f64<E: Error>(self, value: f64) -> Result<Count, E> {
        Ok(Count((value >= 0.0).then_some(value as u64)))
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Count, E> {
        value.trim().parse().map_or(Ok(Count(None)), |value| self.visit_f64(value))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Count, A::Error> {
        skip(seq).map(|()| Count(None))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Count, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Count(None))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct ManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ManyVisitor<T> {
    type Value = Many<T>;
    no_scalars!();
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Many<T>, A::Error> {
        let Some(first) = seq.next_element()? else {
            return Ok(Many::default());
        };
        // mostly there is only one
        let mut all = Vec::with_capacity(1);
        all.push(first);
        while let Some(one) = seq.next_element()? {
            all.push(one);
        }
        Ok(Many(all))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Many<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|one| Many(vec![one]))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Many<T>, D::Error> {
        deserializer.deserialize_any(ManyVisitor(PhantomData))
    }
}
