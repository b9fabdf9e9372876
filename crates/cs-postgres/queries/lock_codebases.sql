-- Keeps others from registering codebases; takes and reads go on.
lock table codebases in share row exclusive mode
