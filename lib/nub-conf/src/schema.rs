//! The schema: every key of `config.toml` with its default, its class and the check of its value.
//! `man/nub-config.5` is its public form. Durations are seconds (fractions allowed) unless the name
//! says otherwise.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::caps::CapsOverride;
use crate::check;
use crate::class::Class::{Free, Never, Table, Trusted};
use crate::class::Key;
use crate::class::Rule::{Grow, Inside, Lower, LowerOrOff, Same, Stricter};
use crate::layer::{Field, Layer, Named, Section, Value};
use crate::registry::known_endpoints;
use crate::word::words;

/// Declares a table of the file: `field as "key": type = default, class, check;`. A key without a class
/// does not compile.
macro_rules! section {
    ($(#[$doc:meta])* $section:ident {
        $($(#[$about:meta])* $field:ident $(as $key:literal)?: $type:ty = $default:expr, $class:expr $(, $check:expr)?;)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $section {
            $($(#[$about])* $(#[serde(rename = $key)])? pub $field: $type,)*
        }

        impl Default for $section {
            fn default() -> $section {
                $section { $($field: $default,)* }
            }
        }

        impl Section for $section {
            fn lay_key(&mut self, name: &str, layer: &mut Layer, value: &Value) -> bool {
                $(if name == section!(@name $field $($key)?) {
                    layer.key(&mut self.$field, $class, section!(@check $($check)?), value);
                    return true;
                })*
                false
            }
        }

        impl Field for $section {
            const KEYS: &'static [Key] = &[
                $(Key {
                    name: section!(@name $field $($key)?),
                    class: $class,
                    keys: <$type as Field>::KEYS,
                },)*
            ];
            const WANT: &'static str = "a table";

            fn lay(&mut self, layer: &mut Layer, _: crate::Class, _: check::Check<$section>, value: &Value) {
                layer.table(self, value);
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $key:literal) => { $key };
    (@check) => { check::fine };
    (@check $check:expr) => { $check };
}

fn strings<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(String::from).to_vec()
}

section! {
    /// The effective configuration.
    Config {
        /// Version of the file format.
        version: u64 = 1, Free(Same);
        /// The model that is asked when a request names none.
        model: Model = Model::default(), Table;
        /// Where models are.
        endpoints as "endpoint": Vec<Endpoint> = Vec::new(), Trusted;
        /// What goes into the system prompt.
        context: Context = Context::default(), Table;
        /// Where skills are.
        skills: Skills = Skills::default(), Table;
        /// MCP servers.
        mcp: Vec<Mcp> = Vec::new(), Trusted;
        /// Named sets of MCP servers.
        profiles: BTreeMap<String, Vec<String>> = BTreeMap::new(), Trusted;
        /// What tools may do.
        permissions: Permissions = Permissions::default(), Table;
        /// The border around commands.
        sandbox: Sandbox = Sandbox::default(), Table;
        /// Limits of a run.
        limits: Limits = Limits::default(), Table;
        /// How the loop behaves.
        run as "loop": Loop = Loop::default(), Table;
        /// Command lines of the stages.
        stages: Stages = Stages::default(), Table;
        /// The token guard.
        governor: Governor = Governor::default(), Table;
    }
}

section! {
    /// `[model]`: empty names mean that nub-stream chooses.
    Model {
        /// Model that is asked.
        default: String = String::new(), Trusted;
        /// Name of an endpoint.
        endpoint: String = String::new(), Trusted;
        /// Model for summaries; empty: the same.
        compact: String = String::new(), Trusted;
    }
}

section! {
    /// One `[[endpoint]]`.
    Endpoint {
        /// What `model.endpoint` and `--endpoint` call it.
        name: String = String::new(), Trusted, check::name;
        /// Such as `https://api.openai.com/v1`.
        base_url: String = String::new(), Trusted, check::url;
        /// `env:NAME`, `file:PATH`, `cmd:COMMAND`, `auth` or `none`.
        api_key: String = "none".into(), Trusted, check::key_source;
        /// Attempts after the first; 0 = none.
        retries: u32 = 3, Trusted;
        /// Until the connection stands.
        connect_timeout: f64 = 10.0, Trusted, check::seconds;
        /// From the request to the first byte; none: 300, and 1800 on loopback.
        first_byte_timeout: Option<f64> = None, Trusted, check::optional_seconds;
        /// Between two bytes of an answer.
        idle_timeout: f64 = 120.0, Trusted, check::seconds;
        /// More headers; values may be `env:NAME`.
        headers: BTreeMap<String, String> = BTreeMap::new(), Trusted, check::headers;
        /// What this endpoint can and cannot do, over the registry.
        caps: CapsOverride = CapsOverride::default(), Table;
        /// Keys that go into every request body as they are.
        extra_body: BTreeMap<String, toml::Value> = BTreeMap::new(), Trusted, check::json;
    }
}

impl Named for Endpoint {
    fn name(&self) -> &str {
        &self.name
    }

    fn missing(&self) -> Option<&'static str> {
        let known = || known_endpoints().iter().any(|known| known.name == self.name);
        (self.base_url.is_empty() && !known()).then_some("has no base_url")
    }
}

section! {
    /// `[context]`.
    Context {
        /// Names of context files.
        files: Vec<String> = strings(["AGENTS.md", "REPOMAP.md"]), Free(Inside), check::paths;
        /// Look from the current folder up to the repo root.
        walk_up: bool = true, Trusted;
        /// The most tokens the context files may cost.
        max_tokens: u64 = 20_000, Free(Lower);
    }
}

section! {
    /// `[skills]`.
    Skills {
        /// Folders that hold skills.
        paths: Vec<String> = strings(["~/.nub/skills", ".nub/skills", "~/.agents/skills", ".agents/skills"]),
            Free(Inside), check::paths;
    }
}

section! {
    /// One `[[mcp]]`.
    Mcp {
        /// Prefix of its tools.
        name: String = String::new(), Trusted, check::name;
        /// Program to start.
        command: String = String::new(), Trusted;
        /// Its arguments.
        args: Vec<String> = Vec::new(), Trusted;
        /// Its environment; values may be `env:NAME`.
        env: BTreeMap<String, String> = BTreeMap::new(), Trusted, check::environment;
        /// Address, instead of a command.
        url: String = String::new(), Trusted, check::url;
        /// More headers for the address; values may be `env:NAME`.
        headers: BTreeMap<String, String> = BTreeMap::new(), Trusted, check::headers;
        /// The only tools that are taken; none: all.
        tools: Option<Vec<String>> = None, Trusted;
        /// How long it may take to connect.
        timeout_ms: u64 = 5000, Trusted;
    }
}

impl Named for Mcp {
    fn name(&self) -> &str {
        &self.name
    }

    fn missing(&self) -> Option<&'static str> {
        match (self.command.is_empty(), self.url.is_empty()) {
            (true, true) => Some("has neither command nor url"),
            (false, false) => Some("has both command and url"),
            (true, false) | (false, true) => None,
        }
    }
}

words! {
    /// What happens when a tool is called, from loose to strict.
    Permission {
        /// It runs.
        Auto = "auto",
        /// The user is asked.
        Ask = "ask",
        /// It does not run.
        Deny = "deny",
    }
}

section! {
    /// `[permissions]`: one key for each tool, and the guard rails.
    Permissions {
        /// The tool `read`.
        read: Permission = Permission::Auto, Free(Stricter);
        /// The tool `glob`.
        glob: Permission = Permission::Auto, Free(Stricter);
        /// The tool `grep`.
        grep: Permission = Permission::Auto, Free(Stricter);
        /// The tool `write`.
        write: Permission = Permission::Auto, Free(Stricter);
        /// The tool `edit`.
        edit: Permission = Permission::Auto, Free(Stricter);
        /// The tool `bash`.
        bash: Permission = Permission::Auto, Free(Stricter);
        /// Globs of paths no file tool touches.
        deny_paths: Vec<String> = strings([".git/**", "**/.env", "**/id_rsa*"]), Free(Grow), check::globs;
        /// Patterns of commands that do not run.
        deny_bash: Vec<String> = strings(["rm -rf /", "git push --force*"]), Free(Grow), check::patterns;
        /// Names of variables that children get although they look like secrets.
        pass_env: Vec<String> = Vec::new(), Never;
    }
}

words! {
    /// How much of the machine is closed to commands, from loose to strict.
    SandboxMode {
        /// Nothing.
        Off = "off",
        /// Writing outside the repo.
        WorkspaceWrite = "workspace-write",
        /// Writing.
        ReadOnly = "read-only",
    }
}

section! {
    /// `[sandbox]`.
    Sandbox {
        /// How much is closed.
        mode: SandboxMode = SandboxMode::WorkspaceWrite, Free(Stricter);
        /// Commands may use the network.
        network: bool = true, Free(Stricter);
        /// More folders commands may write to.
        writable: Vec<String> = strings([
            "~/.cache", "~/.cargo/registry", "~/.cargo/git", "~/.npm", "~/go/pkg", "~/.m2", "~/.gradle",
        ]), Never, check::paths;
    }
}

section! {
    /// `[limits]`.
    Limits {
        /// Requests for one prompt.
        max_turns: u32 = 50, Free(Lower), check::one_or_more_u32;
        /// Seconds one call may take.
        max_tool_time: f64 = 120.0, Free(Lower), check::seconds;
        /// Calls that run at once.
        max_parallel_tools: usize = 8, Free(Lower), check::one_or_more_usize;
        /// The same call this often in a row ends the run.
        repeat_calls: u32 = 3, Free(Lower), check::one_or_more_u32;
        /// Share of the window at which the path is summarised.
        compact_at: f64 = 0.75, Free(Lower), check::share;
        /// User turns a summary leaves raw.
        keep_turns: u32 = 4, Free(Lower);
    }
}

words! {
    /// What a steering message does to calls that have not started.
    Steer {
        /// They are answered with an error.
        Now = "now",
        /// They run first.
        Batch = "batch",
    }
}

section! {
    /// `[loop]`.
    Loop {
        /// What a steering message does to calls that have not started.
        steer: Steer = Steer::Now, Trusted;
    }
}

section! {
    /// `[stages]`: command lines, pipelines allowed.
    Stages {
        /// Builds the head of a request.
        ctx: String = "nub-ctx".into(), Trusted, check::command;
        /// Asks the model.
        stream: String = "nub-stream".into(), Trusted, check::command;
        /// Runs tools.
        tool: String = "nub-tool".into(), Trusted, check::command;
        /// Reads and writes the session; `path` and `append` are added.
        session: String = "nub-session".into(), Trusted, check::command;
        /// Summarises a path.
        compact: String = "nub-compact".into(), Trusted, check::command;
    }
}

section! {
    /// `[governor]`: estimated tokens, 0 = off.
    Governor {
        /// From here on the model is told to finish.
        soft: u64 = 0, Free(LowerOrOff);
        /// From here on the model is not asked any more.
        hard: u64 = 0, Free(LowerOrOff);
    }
}

impl Stages {
    /// Replaces one: `NAME=COMMAND`. `false`: there is no such stage.
    #[must_use]
    pub fn replace(&mut self, stage: &str) -> bool {
        let (place, command) = match stage.split_once('=') {
            Some(("ctx", command)) => (&mut self.ctx, command),
            Some(("stream", command)) => (&mut self.stream, command),
            Some(("tool", command)) => (&mut self.tool, command),
            Some(("session", command)) => (&mut self.session, command),
            Some(("compact", command)) => (&mut self.compact, command),
            Some(_) | None => return false,
        };
        command.clone_into(place);
        true
    }
}
