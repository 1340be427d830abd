//! The schema: every key of `config.toml` with its default. `man/nub-config.5` is its public form.
//! Durations are seconds (fractions allowed) unless the name says otherwise.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The effective configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Version of the file format.
    pub version: u64,
    /// The model that is asked when a request names none.
    pub model: Model,
    /// Where models are.
    #[serde(rename = "endpoint")]
    pub endpoints: Vec<Endpoint>,
    /// What goes into the system prompt.
    pub context: Context,
    /// Where skills are.
    pub skills: Skills,
    /// MCP servers.
    pub mcp: Vec<Mcp>,
    /// Named sets of MCP servers.
    pub profiles: BTreeMap<String, Vec<String>>,
    /// What tools may do.
    pub permissions: Permissions,
    /// The border around commands.
    pub sandbox: Sandbox,
    /// Limits of a run.
    pub limits: Limits,
    /// How the loop behaves.
    #[serde(rename = "loop")]
    pub run: Loop,
    /// Command lines of the stages.
    pub stages: Stages,
    /// The token guard.
    pub governor: Governor,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            version: 1,
            model: Model::default(),
            endpoints: Vec::new(),
            context: Context::default(),
            skills: Skills::default(),
            mcp: Vec::new(),
            profiles: BTreeMap::new(),
            permissions: Permissions::default(),
            sandbox: Sandbox::default(),
            limits: Limits::default(),
            run: Loop::default(),
            stages: Stages::default(),
            governor: Governor::default(),
        }
    }
}

/// `[model]`: empty names mean that nub-stream chooses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Model {
    /// Model that is asked.
    pub default: String,
    /// Name of an endpoint.
    pub endpoint: String,
    /// Model for summaries; empty: the same.
    pub compact: String,
}

/// One `[[endpoint]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Endpoint {
    /// What `model.endpoint` and `--endpoint` call it.
    pub name: String,
    /// Such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// `env:NAME`, `file:PATH`, `cmd:COMMAND`, `auth` or `none`.
    pub api_key: String,
    /// Attempts after the first; 0 = none.
    pub retries: u32,
    /// Until the connection stands.
    pub connect_timeout: f64,
    /// From the request to the first byte; none: 300, and 1800 on loopback.
    pub first_byte_timeout: Option<f64>,
    /// Between two bytes of an answer.
    pub idle_timeout: f64,
    /// More headers; values may be `env:NAME`.
    pub headers: BTreeMap<String, String>,
    /// What this endpoint can and cannot do, over the registry.
    pub caps: CapsOverride,
    /// Keys that go into every request body as they are.
    pub extra_body: BTreeMap<String, toml::Value>,
}

impl Default for Endpoint {
    fn default() -> Endpoint {
        Endpoint {
            name: String::new(),
            base_url: String::new(),
            api_key: "none".into(),
            retries: 3,
            connect_timeout: 10.0,
            first_byte_timeout: None,
            idle_timeout: 120.0,
            headers: BTreeMap::new(),
            caps: CapsOverride::default(),
            extra_body: BTreeMap::new(),
        }
    }
}

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
    /// Form of call ids the server insists on: empty or `mistral9`.
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

/// How the system prompt travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    /// As a system message.
    System,
    /// As a developer message.
    Developer,
    /// At the head of the first user message, marked.
    #[serde(rename = "")]
    None,
}

/// Name of the field that limits the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// Most servers.
    MaxTokens,
    /// OpenAI's newer models.
    MaxCompletionTokens,
}

/// Forms in which models write calls as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextToolCalls {
    /// `<tool_call>{json}</tool_call>`.
    Hermes,
    /// `<function=NAME><parameter=NAME>`.
    QwenXml,
    /// `[TOOL_CALLS]`.
    Mistral,
    /// `<|tool_calls_section_begin|>`.
    Kimi,
    /// DeepSeek's markup.
    Dsml,
    /// `<|channel|>commentary to=functions.NAME`.
    Harmony,
    /// A fenced JSON block.
    JsonFence,
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

/// How thinking goes back to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningReplay {
    /// Not at all.
    None,
    /// As `reasoning`.
    Reasoning,
    /// As `reasoning_content`.
    ReasoningContent,
    /// As `reasoning_content`, also when it is empty.
    Required,
}

/// `[context]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Context {
    /// Names of context files.
    pub files: Vec<String>,
    /// Look from the current folder up to the repo root.
    pub walk_up: bool,
    /// The most tokens the context files may cost.
    pub max_tokens: u64,
}

impl Default for Context {
    fn default() -> Context {
        Context { files: vec!["AGENTS.md".into(), "REPOMAP.md".into()], walk_up: true, max_tokens: 20_000 }
    }
}

/// `[skills]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Skills {
    /// Folders that hold skills.
    pub paths: Vec<String>,
}

impl Default for Skills {
    fn default() -> Skills {
        let paths = ["~/.nub/skills", ".nub/skills", "~/.agents/skills", ".agents/skills"];
        Skills { paths: paths.map(String::from).to_vec() }
    }
}

/// One `[[mcp]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mcp {
    /// Prefix of its tools.
    pub name: String,
    /// Program to start.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment; values may be `env:NAME`.
    pub env: BTreeMap<String, String>,
    /// Address, instead of a command.
    pub url: String,
    /// More headers for the address; values may be `env:NAME`.
    pub headers: BTreeMap<String, String>,
    /// The only tools that are taken; none: all.
    pub tools: Option<Vec<String>>,
    /// How long it may take to connect.
    pub timeout_ms: u64,
}

impl Default for Mcp {
    fn default() -> Mcp {
        Mcp {
            name: String::new(),
            command: String::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            url: String::new(),
            headers: BTreeMap::new(),
            tools: None,
            timeout_ms: 5000,
        }
    }
}

/// What happens when a tool is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// It runs.
    Auto,
    /// The user is asked.
    Ask,
    /// It does not run.
    Deny,
}

/// `[permissions]`: one key for each tool, and the guard rails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Permissions {
    /// The tool `read`.
    pub read: Permission,
    /// The tool `glob`.
    pub glob: Permission,
    /// The tool `grep`.
    pub grep: Permission,
    /// The tool `write`.
    pub write: Permission,
    /// The tool `edit`.
    pub edit: Permission,
    /// The tool `bash`.
    pub bash: Permission,
    /// Globs of paths no file tool touches.
    pub deny_paths: Vec<String>,
    /// Patterns of commands that do not run.
    pub deny_bash: Vec<String>,
    /// Names of variables that children get although they look like secrets.
    pub pass_env: Vec<String>,
}

impl Default for Permissions {
    fn default() -> Permissions {
        Permissions {
            read: Permission::Auto,
            glob: Permission::Auto,
            grep: Permission::Auto,
            write: Permission::Auto,
            edit: Permission::Auto,
            bash: Permission::Auto,
            deny_paths: [".git/**", "**/.env", "**/id_rsa*"].map(String::from).to_vec(),
            deny_bash: ["rm -rf /", "git push --force*"].map(String::from).to_vec(),
            pass_env: Vec::new(),
        }
    }
}

/// `[sandbox]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sandbox {
    /// How much is closed.
    pub mode: SandboxMode,
    /// Commands may use the network.
    pub network: bool,
    /// More folders commands may write to.
    pub writable: Vec<String>,
}

impl Default for Sandbox {
    fn default() -> Sandbox {
        let caches =
            ["~/.cache", "~/.cargo/registry", "~/.cargo/git", "~/.npm", "~/go/pkg", "~/.m2", "~/.gradle"];
        Sandbox {
            mode: SandboxMode::WorkspaceWrite,
            network: true,
            writable: caches.map(String::from).to_vec(),
        }
    }
}

/// How much of the machine is closed to commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// Nothing.
    Off,
    /// Writing outside the repo.
    WorkspaceWrite,
    /// Writing.
    ReadOnly,
}

/// `[limits]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Requests for one prompt.
    pub max_turns: u32,
    /// Seconds one call may take.
    pub max_tool_time: f64,
    /// Calls that run at once.
    pub max_parallel_tools: usize,
    /// The same call this often in a row ends the run.
    pub repeat_calls: u32,
    /// Share of the window at which the path is summarised.
    pub compact_at: f64,
    /// User turns a summary leaves raw.
    pub keep_turns: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_turns: 50,
            max_tool_time: 120.0,
            max_parallel_tools: 8,
            repeat_calls: 3,
            compact_at: 0.75,
            keep_turns: 4,
        }
    }
}

/// `[loop]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Loop {
    /// What a steering message does to calls that have not started.
    pub steer: Steer,
}

impl Default for Loop {
    fn default() -> Loop {
        Loop { steer: Steer::Now }
    }
}

/// What a steering message does to calls that have not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steer {
    /// They are answered with an error.
    Now,
    /// They run first.
    Batch,
}

/// `[stages]`: command lines, pipelines allowed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stages {
    /// Builds the head of a request.
    pub ctx: String,
    /// Asks the model.
    pub stream: String,
    /// Runs tools.
    pub tool: String,
    /// Reads and writes the session; `path` and `append` are added.
    pub session: String,
    /// Summarises a path.
    pub compact: String,
}

impl Default for Stages {
    fn default() -> Stages {
        Stages {
            ctx: "nub-ctx".into(),
            stream: "nub-stream".into(),
            tool: "nub-tool".into(),
            session: "nub-session".into(),
            compact: "nub-compact".into(),
        }
    }
}

/// `[governor]`: estimated tokens, 0 = off.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Governor {
    /// From here on the model is told to finish.
    pub soft: u64,
    /// From here on the model is not asked any more.
    pub hard: u64,
}
