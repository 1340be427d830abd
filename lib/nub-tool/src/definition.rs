//! What the model is told about a tool.

/// A built-in tool. Every word of it costs tokens in every request.
pub(crate) struct Definition {
    /// What the model calls it.
    pub name: &'static str,
    /// What it does, and what a model gets wrong without being told.
    pub description: &'static str,
    /// JSON Schema of its arguments.
    pub schema: &'static str,
}
