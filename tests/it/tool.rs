//! Tests of tool, from outside.
