//! Tests of ctx, from outside.
