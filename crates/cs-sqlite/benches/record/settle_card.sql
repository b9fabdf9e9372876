-- Puts an answer on its card, and says at which place.
update cards set
    last_seq = last_seq + 1,
    ready_for = case
        when exists (
            select 1 from turns t where t.card_id = cards.id and t.state = 'pending' and t.state in ('pending', 'leased'))
        then 'turns'
        when exists (
            select 1 from asks a where a.card_id = cards.id and a.run_id = ?3 and a.state = 'answered' and a.delivered = 0)
        then 'rearm'
        else 'nothing' end,
    ready_from = ?2,
    updated_at = ?2,
    version = version + 1
where id = ?1
returning last_seq
