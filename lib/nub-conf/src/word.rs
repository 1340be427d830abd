//! Values that are one of a few words, and the macro that declares them.

use crate::class::Rule;

/// An enum whose values are words in the file.
pub(crate) trait Word: Copy + PartialOrd + 'static {
    /// Every value with its word, from loose to strict where that has a meaning.
    const WORDS: &'static [(&'static str, Self)];
}

/// The value of a word, or what is wrong with it.
pub(crate) fn read<W: Word>(text: &str) -> Result<W, String> {
    if let Some((_, value)) = W::WORDS.iter().find(|(word, _)| *word == text) {
        return Ok(*value);
    }
    let words: Vec<String> = W::WORDS.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    Err(format!("must be one of {}, not '{}'", words.join(", "), crate::layer::shown(text)))
}

/// The stricter of two values, or none when the second is looser.
pub(crate) fn tighten<W: Word>(mine: W, rule: Rule, theirs: W) -> Option<W> {
    (rule == Rule::Stricter && theirs >= mine).then_some(theirs)
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $value:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$about])* $value,)*
        }

        impl crate::word::Word for $name {
            const WORDS: &'static [(&'static str, $name)] = &[$(($word, $name::$value),)*];
        }

        impl $name {
            /// Its word in the file.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $($name::$value => $word,)*
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.word())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<$name, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(from)?;
                crate::word::read(&text).map_err(serde::de::Error::custom)
            }
        }

        impl crate::layer::Field for $name {
            const WANT: &'static str = "a word";

            fn read(value: &toml::de::DeValue) -> Result<$name, String> {
                match value.as_str() {
                    Some(text) => crate::word::read(text),
                    None => Err(crate::layer::mismatch::<$name>(value)),
                }
            }

            fn tighten(&self, rule: crate::class::Rule, theirs: $name) -> Option<$name> {
                crate::word::tighten(*self, rule, theirs)
            }
        }
    };
}
pub(crate) use words;
