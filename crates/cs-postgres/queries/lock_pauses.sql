-- Waits until the takes that have looked at the pauses are over, and keeps others from looking.
lock table pauses in exclusive mode
