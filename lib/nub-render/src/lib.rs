//! Pure functions from records to text for people.
