//! The plain types a key can have: numbers, flags, strings and lists of words.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::DeValue;

use crate::caps::TextToolCalls;
use crate::class::Rule;
use crate::layer::{Field, mismatch};

/// A variable's text as TOML, or as a string where it is none (which is then reported).
fn toml(text: &str) -> DeValue<'_> {
    DeValue::parse(text.trim()).map_or_else(|_| DeValue::String(Cow::Borrowed(text)), Spanned::into_inner)
}

/// A list in a variable: TOML's form, or words between commas.
fn list(text: &str) -> DeValue<'_> {
    if text.trim_start().starts_with('[') {
        return toml(text);
    }
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    DeValue::Array(words.map(|word| Spanned::new(0..0, DeValue::String(Cow::Borrowed(word)))).collect())
}

fn lower<T: PartialOrd>(mine: &T, rule: Rule, theirs: T) -> Option<T> {
    (matches!(rule, Rule::Lower | Rule::Same) && theirs <= *mine).then_some(theirs)
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl Field for $type {
            const WANT: &'static str = "a whole number";

            fn read(value: &DeValue) -> Result<$type, String> {
                let DeValue::Integer(number) = value else { return Err(mismatch::<$type>(value)) };
                <$type>::from_str_radix(number.as_str(), number.radix())
                    .map_err(|_| format!("must be a whole number from 0 to {}", <$type>::MAX))
            }

            fn typed(text: &str) -> DeValue<'_> {
                toml(text)
            }

            fn tighten(&self, rule: Rule, theirs: $type) -> Option<$type> {
                if rule == Rule::LowerOrOff {
                    return (theirs != 0 && (*self == 0 || theirs <= *self)).then_some(theirs);
                }
                lower(self, rule, theirs)
            }
        }
    )*};
}
whole!(u32, u64, usize);

impl Field for f64 {
    const WANT: &'static str = "a number";

    fn read(value: &DeValue) -> Result<f64, String> {
        let text = match value {
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            other => return Err(mismatch::<f64>(other)),
        };
        text.parse().map_err(|_| "must be a number".to_owned())
    }

    fn typed(text: &str) -> DeValue<'_> {
        toml(text)
    }

    fn tighten(&self, rule: Rule, theirs: f64) -> Option<f64> {
        lower(self, rule, theirs)
    }
}

impl Field for bool {
    const WANT: &'static str = "true or false";

    fn read(value: &DeValue) -> Result<bool, String> {
        value.as_bool().ok_or_else(|| mismatch::<bool>(value))
    }

    fn typed(text: &str) -> DeValue<'_> {
        toml(text)
    }

    fn tighten(&self, rule: Rule, theirs: bool) -> Option<bool> {
        (rule == Rule::Stricter && theirs <= *self).then_some(theirs)
    }
}

impl Field for String {
    const WANT: &'static str = "a string";

    fn read(value: &DeValue) -> Result<String, String> {
        value.as_str().map(str::to_owned).ok_or_else(|| mismatch::<String>(value))
    }
}

fn items<T: Field>(value: &DeValue) -> Result<Vec<T>, String>
where
    Vec<T>: Field,
{
    let DeValue::Array(list) = value else { return Err(mismatch::<Vec<T>>(value)) };
    list.iter()
        .enumerate()
        .map(|(at, item)| T::read(item.get_ref()).map_err(|e| format!("entry {} {e}", at + 1)))
        .collect()
}

impl Field for Vec<String> {
    const WANT: &'static str = "a list of strings";

    fn read(value: &DeValue) -> Result<Vec<String>, String> {
        items(value)
    }

    fn typed(text: &str) -> DeValue<'_> {
        list(text)
    }

    fn tighten(&self, rule: Rule, theirs: Vec<String>) -> Option<Vec<String>> {
        match rule {
            // an empty list can only mean that everything goes
            Rule::Grow if theirs.is_empty() && !self.is_empty() => None,
            Rule::Grow => {
                let mut all = self.clone();
                all.extend(theirs.into_iter().filter(|item| !self.contains(item)));
                Some(all)
            }
            Rule::Inside if theirs.iter().all(|path| is_inside(path)) => {
                let outside = self.iter().filter(|path| !is_inside(path)).cloned();
                Some(outside.chain(theirs).collect())
            }
            Rule::Inside | Rule::Same | Rule::Stricter | Rule::Lower | Rule::LowerOrOff => None,
        }
    }
}

/// Whether a path names something below the folder it is taken from, whatever lies there.
fn is_inside(path: &str) -> bool {
    use std::path::{Component, Path};
    let plain = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
    !path.starts_with('~') && !path.contains('\0') && Path::new(path).components().all(plain)
}

impl Field for Vec<TextToolCalls> {
    const WANT: &'static str = "a list of words";

    fn read(value: &DeValue) -> Result<Vec<TextToolCalls>, String> {
        items(value)
    }
}

impl Field for toml::Value {
    const WANT: &'static str = "a value";

    fn read(value: &DeValue) -> Result<toml::Value, String> {
        let spanned = Spanned::new(0..0, value.clone());
        serde::Deserialize::deserialize(toml::de::ValueDeserializer::from(spanned))
            .map_err(|e: toml::de::Error| format!("cannot be read: {}", e.message()))
    }
}
