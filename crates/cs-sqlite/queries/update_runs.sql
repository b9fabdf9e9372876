-- Changes runs from a JSON array of rows before and after. A row whose fence does not hold is left out: as many rows must change as the array has.
update runs set
    state = w.value->>'$.now.state',
    epoch = w.value->>'$.now.epoch',
    token = w.value->>'$.now.token',
    machine_id = w.value->>'$.now.machine_id',
    agent = w.value->>'$.now.agent',
    model = w.value->>'$.now.model',
    effort = w.value->>'$.now.effort',
    pid = w.value->>'$.now.pid',
    start_ticks = w.value->>'$.now.start_ticks',
    boot_id = w.value->>'$.now.boot_id',
    resumed_at = w.value->>'$.now.resumed_at',
    ended_at = w.value->>'$.now.ended_at',
    again_at = w.value->>'$.now.again_at',
    failure = w.value->>'$.now.failure',
    failed_because = w.value->>'$.now.failed_because',
    failures_in_row = w.value->>'$.now.failures_in_row',
    tries = w.value->>'$.now.tries',
    starts = w.value->>'$.now.starts',
    settled = w.value->>'$.now.settled',
    given = w.value->>'$.now.given',
    read_back = w.value->>'$.now.read_back',
    handed_back_at = w.value->>'$.now.handed_back_at',
    fresh = w.value->>'$.now.fresh',
    left_behind = w.value->>'$.now.left_behind',
    left_at = w.value->>'$.now.left_at',
    used = w.value->>'$.now.used'
from jsonb_each(?) as w
where runs.id = w.value->>'$.now.id'
  and runs.epoch is w.value->>'$.was.epoch'
  and runs.token is w.value->>'$.was.token'
  and runs.state is w.value->>'$.was.state'
