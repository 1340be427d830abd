//! Tests of cli, from outside.
