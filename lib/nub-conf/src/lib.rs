//! The configuration: schema, layers, origins, trust and the paths of nub. The only place that reads
//! `NUB_*` variables. It writes nothing but what a program asks of it (the folder `.nub`).

mod caps;
mod check;
mod class;
mod folder;
mod git;
mod key;
mod layer;
mod leaf;
mod load;
mod paths;
mod registry;
mod schema;
#[cfg(test)]
mod tests;
mod word;

pub use caps::{Caps, CapsOverride, InlineThink, MaxTokensField, ReasoningReplay, SystemRole, TextToolCalls};
pub use class::{Class, Key, Rule, leaves};
pub use folder::{ensure_dot_nub, ensure_own_folder, is_own_folder};
pub use git::GitDir;
pub use key::{Secret, secret_names};
pub use layer::{Origin, Origins};
pub use load::{ConfError, Inputs, Loaded, Notice, load};
pub use paths::Paths;
pub use registry::{Known, KnownEndpoint, known_endpoints};
pub use schema::{
    Config, Context, Endpoint, Governor, Limits, Loop, Mcp, Model, Permission, Permissions, Sandbox,
    SandboxMode, Skills, Stages, Steer,
};

/// Every table and key of the file.
pub const KEYS: &[Key] = <Config as layer::Field>::KEYS;
