-- Reads what a run was sent to do. No row: nobody sent it.
select body from run_texts where run_id = ?1 and epoch = 0
