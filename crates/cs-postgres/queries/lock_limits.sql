-- Waits until the starts that have looked at the limits are over, and keeps others from looking.
lock table limits in exclusive mode
