//! What servers put into a chunk, or into a whole answer: the fields that are read, borrowed from the bytes.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::lenient::{Count, Many, Raw, Text, lenient, no_scalars};

lenient! {
    /// One chunk, or one whole answer.
    struct Chunk<'a> {
        /// The answer, in parts that belong together whatever their index says.
        "choices" => choices: Option<Many<Choice<'a>>>,
        /// Token counts.
        "usage" => usage: Raw<'a>,
        /// Where Groq puts them.
        "x_groq" => x_groq: Raw<'a>,
        /// The model that answers.
        "model" => model: Text<'a>,
        /// An error instead of, or beside, the choices.
        "error" => error: Raw<'a>,
        /// MiniMax's error codes.
        "base_resp" => base_resp: Raw<'a>,
        /// `error` when the whole document is one.
        "object" | "type" => object: Text<'a>,
        /// Signs that a document without choices is an error.
        "message" => message: Raw<'a>,
        /// More of them.
        "detail" | "msg" | "errors" | "error_msg" | "error_message" | "errorMessage" => complaint: Raw<'a>,
    }

    /// One choice.
    struct Choice<'a> {
        /// What is new.
        "delta" => delta: Option<Box<Delta<'a>>>,
        /// The whole message, from servers that do not stream.
        "message" => message: Option<Box<Delta<'a>>>,
        /// What is new, from servers that speak the older protocol.
        "text" => text: Text<'a>,
        /// Why the answer ended, in the server's words.
        "finish_reason" => finish_reason: Text<'a>,
        /// Token counts.
        "usage" => usage: Raw<'a>,
        /// An error of this choice.
        "error" => error: Raw<'a>,
    }

    /// A piece of the message, or all of it.
    struct Delta<'a> {
        /// Text.
        "content" => content: Content<'a>,
        /// Text that refuses.
        "refusal" => refusal: Text<'a>,
        /// Thinking, by its most usual name.
        "reasoning_content" => reasoning_content: Text<'a>,
        /// Thinking, by its second name.
        "reasoning" => reasoning: Text<'a>,
        /// Thinking, by its third name.
        "reasoning_text" => reasoning_text: Text<'a>,
        /// Thinking with signatures, which have to go back.
        "reasoning_details" => reasoning_details: Raw<'a>,
        /// The same in another shape.
        "thinking_blocks" => thinking_blocks: Raw<'a>,
        /// Calls of tools.
        "tool_calls" => tool_calls: Many<Call<'a>>,
        /// A call of a tool, from servers that speak the older protocol.
        "function_call" => function_call: Many<Call<'a>>,
        /// Ballast of Gemini.
        "extra_content" => extra_content: Raw<'a>,
    }

    /// A piece of a call, or all of it.
    struct Call<'a> {
        /// Which call.
        "index" => index: Count,
        /// Its id.
        "id" => id: Text<'a>,
        /// What is called.
        "function" => function: Function<'a>,
        /// What is called, without the wrapper.
        "name" => name: Text<'a>,
        /// The arguments, without the wrapper.
        "arguments" => arguments: Arguments<'a>,
        /// Ballast of Gemini.
        "extra_content" => extra_content: Raw<'a>,
        /// The same behind LiteLLM.
        "provider_specific_fields" => provider_specific_fields: Raw<'a>,
    }

    /// The function of a call.
    struct Function<'a> {
        /// Its name, or a piece of it.
        "name" => name: Text<'a>,
        /// Its arguments, a piece of them as a string, or an object.
        "arguments" => arguments: Arguments<'a>,
    }

    /// A part of the content, from servers that send lists.
    struct Part<'a> {
        /// What it is.
        "type" => kind: Text<'a>,
        /// Its text.
        "text" | "content" => text: Text<'a>,
        /// Its thinking.
        "thinking" | "reasoning" | "summary" => thinking: Text<'a>,
    }
}

/// The field `content`: a string, or a list of parts.
#[derive(Debug, Default)]
pub struct Content<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// The thinking among the parts.
    pub thinking: Cow<'a, str>,
}

struct ContentVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for ContentVisitor<'a> {
    type Value = Content<'a>;
    no_scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);
    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Content<'a>, E> {
        Ok(Content { text: Cow::Borrowed(text), thinking: Cow::default() })
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Content<'a>, E> {
        Ok(Content { text: Cow::Owned(text.to_owned()), thinking: Cow::default() })
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content<'a>, A::Error> {
        let mut content = Content::default();
        while let Some(Loose(part)) = seq.next_element()? {
            content.add(part);
        }
        Ok(content)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Content<'a>, A::Error> {
        let mut content = Content::default();
        content.add(Part::deserialize(serde::de::value::MapAccessDeserializer::new(map))?);
        Ok(content)
    }
}

impl<'a> Content<'a> {
    fn add(&mut self, part: Part<'a>) {
        if matches!(&*part.kind.0, "thinking" | "reasoning" | "reasoning_text") {
            self.thinking += part.thinking.0;
            self.thinking += part.text.0;
        } else {
            self.text += part.text.0;
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Content<'a>, D::Error> {
        deserializer.deserialize_any(ContentVisitor(PhantomData))
    }
}

/// A part that may be a bare string.
struct Loose<'a>(Part<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Loose<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Loose<'a>, D::Error> {
        let raw: &'a RawValue = Deserialize::deserialize(deserializer)?;
        let text = raw.get();
        if text.starts_with('"') {
            let text = serde_json::from_str(text).map_err(D::Error::custom)?;
            return Ok(Loose(Part { text, ..Part::default() }));
        }
        serde_json::from_str(text).map(Loose).map_err(D::Error::custom)
    }
}

/// Arguments as text: what a string holds, or the JSON of anything else.
#[derive(Debug, Default)]
pub struct Arguments<'a>(pub Cow<'a, str>);

struct ArgumentsVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for ArgumentsVisitor<'a> {
    type Value = Arguments<'a>;
    no_scalars!(@unit);
    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Arguments<'a>, E> {
        Ok(Arguments(Cow::Borrowed(text)))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Arguments<'a>, E> {
        Ok(Arguments(Cow::Owned(text.to_owned())))
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Arguments<'a>, E> {
        Ok(Arguments(Cow::Owned(value.to_string())))
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Arguments<'a>, E> {
        Ok(Arguments(Cow::Owned(value.to_string())))
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<Arguments<'a>, E> {
        Ok(Arguments(Cow::Owned(value.to_string())))
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Arguments<'a>, E> {
        Ok(Arguments(Cow::Owned(value.to_string())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Arguments<'a>, A::Error> {
        let mut all = Vec::new();
        while let Some(element) = seq.next_element::<&RawValue>()? {
            all.push(element.get());
        }
        Ok(Arguments(Cow::Owned(format!("[{}]", all.join(",")))))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Arguments<'a>, A::Error> {
        let mut all = Vec::new();
        while let Some((Text(key), value)) = map.next_entry::<Text, &RawValue>()? {
            let key = serde_json::to_string(&key).map_err(A::Error::custom)?;
            all.push(format!("{key}:{}", value.get()));
        }
        Ok(Arguments(Cow::Owned(format!("{{{}}}", all.join(",")))))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Arguments<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Arguments<'a>, D::Error> {
        deserializer.deserialize_any(ArgumentsVisitor(PhantomData))
    }
}

impl Delta<'_> {
    /// Whether it brings a part of the answer.
    pub fn has_content(&self) -> bool {
        let texts = [&self.refusal, &self.reasoning_content, &self.reasoning, &self.reasoning_text];
        !self.content.text.is_empty()
            || !self.content.thinking.is_empty()
            || !self.tool_calls.0.is_empty()
            || !self.function_call.0.is_empty()
            || texts.iter().any(|text| !text.is_empty())
    }
}

/// The text in a list of thinking parts.
pub fn thinking_of(list: Raw<'_>) -> String {
    let parts = list.and_then(|list| serde_json::from_str::<Many<Part>>(list.get()).ok()).unwrap_or_default();
    parts.0.into_iter().flat_map(|part| [part.text.0, part.thinking.0]).collect()
}
