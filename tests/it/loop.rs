//! Tests of loop, from outside.
