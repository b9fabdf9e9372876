//! cs-fence
