//! cs-settle
