//! cs-harness
