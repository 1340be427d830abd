//! Bodies, rule by rule (R01 to R52 of the quirk list).
