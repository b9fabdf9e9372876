-- Lists the runs that a run sent, oldest first, with what each was to do and what it reported last. No row: it sent none.
select r.*,
    (select t.body from run_texts t where t.run_id = r.id and t.epoch = 0) as brief,
    (select t.body from run_texts t where t.run_id = r.id and t.epoch = r.settled and r.settled > 0) as report
from runs r where r.parent_id = ?1
order by r.started_at, r.id
