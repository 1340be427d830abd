//! The configuration: schema, layers, origins, trust and the paths of nub. The only place that reads
//! `NUB_*` variables. It writes nothing but what a program asks of it (the folder `.nub`).

mod load;
mod paths;
mod schema;

pub use load::{ConfError, Inputs, Loaded, Notice, load};
pub use paths::Paths;
pub use schema::{
    Caps, CapsOverride, Config, Context, Endpoint, Governor, InlineThink, Limits, Loop, MaxTokensField, Mcp,
    Model, Permission, Permissions, ReasoningReplay, Sandbox, SandboxMode, Skills, Stages, Steer, SystemRole,
    TextToolCalls,
};
