//! Reading, writing and editing.
