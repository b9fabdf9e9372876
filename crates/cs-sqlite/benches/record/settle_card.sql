-- Puts an answer on its card, and says at which place.
update cards set
    last_seq = last_seq + 1,
    ready_for = case when exists (
        select 1 from turns t where t.card_id = cards.id and t.state = 'pending' and t.state in ('pending', 'leased'))
        then 'turns' else 'nothing' end,
    updated_at = ?2,
    version = version + 1
where id = ?1
returning last_seq
