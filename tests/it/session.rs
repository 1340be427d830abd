//! Tests of session, from outside.
