-- What the attempts of a run used up, as JSON, and of a card the tokens that were kept and those of reasoning. Of what was used before this
-- step that is not known.
alter table runs add column used text;
alter table cards add column usage_cached_tokens bigint check (usage_cached_tokens >= 0);
alter table cards add column usage_reasoning_tokens bigint check (usage_reasoning_tokens >= 0);
