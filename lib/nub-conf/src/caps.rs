//! What an endpoint can and cannot do: the names of `[endpoint.caps]` and of the registry.

use serde::{Deserialize, Serialize};
use toml::de::DeValue;

use crate::check;
use crate::class::{Class, Key};
use crate::layer::{Field, Layer, Section, Value, mismatch};
use crate::word::words;

macro_rules! caps {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $default:expr,)*) => {
        /// What an endpoint can and cannot do: the registry's word, changed by the configuration.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Caps {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl Default for Caps {
            fn default() -> Caps {
                Caps { $($name: $default,)* }
            }
        }

        /// `[endpoint.caps]`: only what was written.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct CapsOverride {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $name: Option<$type>,)*
        }

        impl CapsOverride {
            /// Lays what was written over `caps`.
            pub fn apply(&self, caps: &mut Caps) {
                $(if let Some(value) = &self.$name {
                    caps.$name.clone_from(value);
                })*
            }
        }

        impl Section for CapsOverride {
            fn lay_key(&mut self, name: &str, layer: &mut Layer, value: &Value) -> bool {
                $(if name == stringify!($name) {
                    layer.key(&mut self.$name, Class::Trusted, check::fine, value);
                    return true;
                })*
                false
            }
        }

        impl Field for CapsOverride {
            const KEYS: &'static [Key] =
                &[$(Key { name: stringify!($name), class: Class::Trusted, keys: &[] },)*];
            const WANT: &'static str = "a table";

            fn lay(&mut self, layer: &mut Layer, _: Class, _: check::Check<CapsOverride>, value: &Value) {
                layer.table(self, value);
            }
        }
    };
}

caps! {
    /// Several calls in one answer.
    parallel_tool_calls: bool = true,
    /// Usage is sent when `stream_options.include_usage` asks for it.
    usage_in_stream: bool = true,
    /// How the system prompt travels.
    system_role: SystemRole = SystemRole::System,
    /// Cache breakpoints are set by the client.
    explicit_cache: bool = false,
    /// Thinking is shown as blocks of its own.
    reasoning: bool = true,
    /// Tool schemas are sent with `strict`.
    strict_schemas: bool = false,
    /// The window in tokens; 0 = unknown.
    max_context: u64 = 0,
    /// The longest answer in tokens; 0 = unknown.
    max_output: u64 = 0,
    /// Images are taken.
    supports_images: bool = false,
    /// Tools are taken at all.
    tool_calls: bool = true,
    /// `response_format` with a JSON schema is taken.
    json_schema: bool = false,
    /// Name of the field that limits the answer.
    max_tokens_field: MaxTokensField = MaxTokensField::MaxTokens,
    /// Forms of calls that are looked for in the text.
    text_tool_calls: Vec<TextToolCalls> = Vec::new(),
    /// `<think>` inside the text.
    inline_think: InlineThink = InlineThink::Off,
    /// How thinking goes back.
    reasoning_replay: ReasoningReplay = ReasoningReplay::None,
    /// Form of call ids the server insists on: empty, `mistral9` or `verbatim`.
    tool_id_format: String = String::new(),
    /// `content: null` beside calls is taken.
    null_content: bool = true,
    /// An assistant message must stand between tool results and a user message.
    bridge_after_tool: bool = false,
    /// Subset of JSON Schema the server takes: empty or `gemini`.
    schema_subset: String = String::new(),
    /// Streaming works beside tools.
    stream_with_tools: bool = true,
    /// Every delta repeats the whole text so far.
    cumulative_text: bool = false,
    /// The end of the body ends the answer well.
    eof_ends_stream: bool = false,
}

words! {
    /// How the system prompt travels.
    SystemRole {
        /// As a system message.
        System = "system",
        /// As a developer message.
        Developer = "developer",
        /// At the head of the first user message, marked.
        None = "",
    }
}

words! {
    /// Name of the field that limits the answer.
    MaxTokensField {
        /// Most servers.
        MaxTokens = "max_tokens",
        /// OpenAI's newer models.
        MaxCompletionTokens = "max_completion_tokens",
    }
}

words! {
    /// Forms in which models write calls as text.
    TextToolCalls {
        /// `<tool_call>{json}</tool_call>`.
        Hermes = "hermes",
        /// `<function=NAME><parameter=NAME>`.
        QwenXml = "qwen_xml",
        /// `[TOOL_CALLS]`.
        Mistral = "mistral",
        /// `<|tool_calls_section_begin|>`.
        Kimi = "kimi",
        /// DeepSeek's markup.
        Dsml = "dsml",
        /// `<|channel|>commentary to=functions.NAME`.
        Harmony = "harmony",
        /// A fenced JSON block.
        JsonFence = "json_fence",
    }
}

words! {
    /// How thinking goes back to the server.
    ReasoningReplay {
        /// Not at all.
        None = "none",
        /// As `reasoning`.
        Reasoning = "reasoning",
        /// As `reasoning_content`.
        ReasoningContent = "reasoning_content",
        /// As `reasoning_content`, also when it is empty.
        Required = "required",
    }
}

/// `<think>` inside the text: `false`, `true`, or `"implicit"` when the template opened it already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "InlineThinkWire", into = "InlineThinkWire")]
pub enum InlineThink {
    /// Text is text.
    Off,
    /// The tags mark thinking.
    On,
    /// The answer begins inside the tag.
    Implicit,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum InlineThinkWire {
    Flag(bool),
    Word(String),
}

impl TryFrom<InlineThinkWire> for InlineThink {
    type Error = String;

    fn try_from(wire: InlineThinkWire) -> Result<InlineThink, String> {
        match wire {
            InlineThinkWire::Flag(false) => Ok(InlineThink::Off),
            InlineThinkWire::Flag(true) => Ok(InlineThink::On),
            InlineThinkWire::Word(word) if word == "implicit" => Ok(InlineThink::Implicit),
            InlineThinkWire::Word(word) => Err(format!("'{word}' is not true, false or \"implicit\"")),
        }
    }
}

impl From<InlineThink> for InlineThinkWire {
    fn from(value: InlineThink) -> InlineThinkWire {
        match value {
            InlineThink::Off => InlineThinkWire::Flag(false),
            InlineThink::On => InlineThinkWire::Flag(true),
            InlineThink::Implicit => InlineThinkWire::Word("implicit".into()),
        }
    }
}

impl Field for InlineThink {
    const WANT: &'static str = "true, false or \"implicit\"";

    fn read(value: &DeValue) -> Result<InlineThink, String> {
        match value {
            DeValue::Boolean(true) => Ok(InlineThink::On),
            DeValue::Boolean(false) => Ok(InlineThink::Off),
            DeValue::String(word) if word == "implicit" => Ok(InlineThink::Implicit),
            other => Err(mismatch::<InlineThink>(other)),
        }
    }
}
