-- The statements that PostgreSQL gets for two requests of 2026-11-21.
-- Written by `node scripts/stats-sql.ts`: do not edit it. summary-query.ts explains the steps.
-- The literals in where clauses and the digits of round() are parameters. A comment `likewise`
-- stands for further columns of the same form. `1 = 1` means that no country and no currency is
-- asked for.

-- GET /api/stats?from=2026-01-01&to=2026-10-20
-- The year without the months after October and the last 11 days of October.

with changed_and_open as (
  select
    sum(drafts) filter (where drafts <> 0) as drafts,
    -- likewise sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
    -- base_sent, base_lost, decided, decision_days, decision_histogram
    null::numeric as open_quotes, null::numeric as base_open,
    date_trunc('month', day::timestamp)::date as month,
    country, currency
  from changed_figures
  where date_kind = 'issued' and day >= '2026-01-01' and day <= '2026-10-20' and 1 = 1
  group by date_trunc('month', day::timestamp)::date, country, currency
  union all
  select
    null::numeric as drafts,
    -- likewise sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
    -- base_sent, base_lost, decided, decision_days, decision_histogram
    sum(quotes) as open_quotes,
    sum(base_net) as base_open,
    date_trunc('month', starts_on::timestamp)::date as month,
    country, currency
  from current_validity
  where ((grain = 'month_by_month' and (valid_until >= '2026-12-01' and valid_until <= 'infinity')
    and starts_on >= '2026-01-01' and starts_on <= '2026-10-31')
    or (grain = 'month' and (valid_until >= '2026-11-21' and valid_until <= '2026-11-30')
    and starts_on >= '2026-01-01' and starts_on <= '2026-10-31')) and 1 = 1
  group by date_trunc('month', starts_on::timestamp)::date, country, currency
  union all
  select
    null::numeric as drafts,
    -- likewise sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
    -- base_sent, base_lost, decided, decision_days, decision_histogram
    -sum(quotes) as open_quotes,
    -sum(base_net) as base_open,
    date_trunc('month', starts_on::timestamp)::date as month,
    country, currency
  from current_validity
  where (grain = 'day' and (valid_until >= '2026-11-21' and valid_until <= 'infinity')
    and starts_on >= '2026-10-21' and starts_on <= '2026-10-31') and 1 = 1
  group by date_trunc('month', starts_on::timestamp)::date, country, currency
),
by_group as (
  select
    drafts, sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
      base_sent, base_lost, decided, decision_days, decision_histogram, open_quotes, base_open,
      country, currency
  from changed_and_open
  union all
  select
    sum(drafts) filter (where drafts <> 0) as drafts,
    -- likewise sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
    -- base_sent, base_lost, decided, decision_days, decision_histogram
    null::numeric as open_quotes, null::numeric as base_open,
    country, currency
  from grouped_figures
  where (grain = 'year' and date_kind = 'issued' and starts_on >= '2026-01-01'
    and starts_on <= '2026-12-31') and 1 = 1
  group by country, currency
  union all
  select
    -sum(drafts) filter (where drafts <> 0) as drafts,
    -- likewise sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
    -- base_sent, base_lost, decided, decision_days, decision_histogram
    null::numeric as open_quotes, null::numeric as base_open,
    country, currency
  from grouped_figures
  where ((grain = 'month' and date_kind = 'issued' and starts_on >= '2026-11-01'
    and starts_on <= '2026-12-31') or
    (grain = 'day' and date_kind = 'issued' and starts_on >= '2026-10-21'
    and starts_on <= '2026-10-31')) and 1 = 1
  group by country, currency
),
by_level as (
  select
    coalesce(sum(drafts), 0) as drafts,
    -- likewise sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
    -- base_sent, base_lost, decided, decision_days, decision_histogram, open_quotes, base_open
    case grouping(country, currency) when 3 then 'total' when 1 then 'country' else 'currency' end
      as level,
    null::date as month,
    country as country, currency as currency
  from by_group
  group by grouping sets ((), (country), (currency))
  union all
  select
    coalesce(sum(drafts), 0) as drafts,
    -- likewise sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
    -- base_sent, base_lost, decided, decision_days, decision_histogram, open_quotes, base_open
    'month' as level,
    month,
    null::text as country, null::text as currency
  from (
    select
      drafts, sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
        base_sent, base_lost, decided, decision_days, decision_histogram, open_quotes, base_open,
        month
    from changed_and_open
    union all
    select
      sum(drafts) filter (where drafts <> 0) as drafts,
      -- likewise sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
      -- base_sent, base_lost, decided, decision_days, decision_histogram
      null::numeric as open_quotes, null::numeric as base_open,
      date_trunc('month', starts_on::timestamp)::date as month
    from grouped_figures
    where (grain = 'month_total' and date_kind = 'issued' and starts_on >= '2026-01-01'
      and starts_on <= '2026-10-31') and 1 = 1
    group by date_trunc('month', starts_on::timestamp)::date
    union all
    select
      -sum(drafts) filter (where drafts <> 0) as drafts,
      -- likewise sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
      -- base_sent, base_lost, decided, decision_days, decision_histogram
      null::numeric as open_quotes, null::numeric as base_open,
      date_trunc('month', starts_on::timestamp)::date as month
    from grouped_figures
    where (grain = 'day_total' and date_kind = 'issued' and starts_on >= '2026-10-21'
      and starts_on <= '2026-10-31') and 1 = 1
    group by date_trunc('month', starts_on::timestamp)::date
  ) as sums
  group by month
)
select
  level, currency,
  drafts as draft,
  open_quotes as sent,
  accepted, rejected,
  expired + sent - open_quotes as expired,
  unconverted,
  round(base_open, 2) as open,
  round(base_net, 2) as won,
  round(base_lost + base_sent - base_open, 2) as lost,
  decided as decisionQuotes,
  decision_days as decisionDays,
  decision_histogram as decisionHistogram,
  to_char(month, 'YYYY-MM') as month,
  nullif(country, '') as country,
  round(net, digits) as ownNet,
  round(unconverted_net, digits) as ownUnconvertedNet
from by_level
left join currencies on currencies.code = by_level.currency
where drafts + sent + accepted + rejected + expired > '0'
order by by_level.month, base_net desc, nullif(country, '') asc nulls last, currency;

-- GET /api/stats?from=2026-10-01&to=2026-10-31&country=ES&by=day
-- A second statement, for byDay.

with days as (
  select
    coalesce(sum(drafts), 0) as drafts,
    -- likewise sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
    -- base_sent, base_lost, decided, decision_days, decision_histogram, open_quotes, base_open
    day
  from (
    select
      sum(drafts) filter (where drafts <> 0) as drafts,
      -- likewise sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
      -- base_sent, base_lost, decided, decision_days, decision_histogram
      null::numeric as open_quotes, null::numeric as base_open,
      day
    from changed_figures
    where date_kind = 'issued' and day >= '2026-10-01' and day <= '2026-10-31' and country = 'ES'
    group by day
    union all
    select
      null::numeric as drafts,
      -- likewise sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
      -- base_sent, base_lost, decided, decision_days, decision_histogram
      sum(quotes) as open_quotes,
      sum(base_net) as base_open,
      starts_on as day
    from current_validity
    where (grain = 'day' and (valid_until >= '2026-11-21' and valid_until <= 'infinity')
      and starts_on >= '2026-10-01' and starts_on <= '2026-10-31') and country = 'ES'
    group by starts_on
    union all
    select
      sum(drafts) filter (where drafts <> 0) as drafts,
      -- likewise sent, accepted, rejected, expired, net, base_net, unconverted, unconverted_net,
      -- base_sent, base_lost, decided, decision_days, decision_histogram
      null::numeric as open_quotes, null::numeric as base_open,
      starts_on as day
    from grouped_figures
    where (grain = 'day' and date_kind = 'issued' and starts_on >= '2026-10-01'
      and starts_on <= '2026-10-31') and country = 'ES'
    group by starts_on
  ) as sums
  group by day
)
select
  drafts as draft,
  open_quotes as sent,
  accepted, rejected,
  expired + sent - open_quotes as expired,
  unconverted,
  round(base_open, 2) as open,
  round(base_net, 2) as won,
  round(base_lost + base_sent - base_open, 2) as lost,
  decided as decisionQuotes,
  decision_days as decisionDays,
  decision_histogram as decisionHistogram,
  to_char(day, 'YYYY-MM-DD') as day
from days
where drafts + sent + accepted + rejected + expired > '0'
order by days.day;
