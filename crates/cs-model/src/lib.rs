//! cs-model
