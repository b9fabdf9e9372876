//! cs-agent-script
