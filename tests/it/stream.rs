//! Tests of stream, from outside.
