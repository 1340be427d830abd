//! Tests of conf, from outside.
