// Imports a file of statuses: which quotes were accepted, rejected or sent, and when.
import type { ClientBase, Pool } from 'pg'
import { decidedStatuses } from '../../database/quote-statuses.ts'
import type { ImportSource } from '../readers/file-source.ts'
import { type ImportOptions, type ImportSummary, runImport } from '../run-import.ts'

/**
 * Imports a table of statuses. Number and version identify a quote; without a version it is the
 * newest one. A day of decision that the file does not give stays, unless the new status has none.
 */
export async function importQuoteStatuses(
  pool: Pool,
  source: ImportSource,
  options: ImportOptions = {},
): Promise<ImportSummary> {
  return runImport(pool, source, options, {
    kind: 'quote-statuses',
    computedColumns: [
      `version_number integer generated always as (
        case when version ~ '^0{0,20}[0-9]{1,9}$' then version::integer end
      ) stored`,
    ],
    async addProblems({ client }) {
      await createStatusesTable(client)
      await addStatusProblems(client)
    },
    compare: async () => undefined,
    async write({ client }) {
      const { rowCount } = await client.query(`
        update quotes set status = statuses.status, decided_on = statuses.decided_on
        from statuses
        where quotes.id = statuses.id
          and file_line not in (select file_line from problems)
          and (quotes.status, quotes.decided_on)
            is distinct from (statuses.status, statuses.decided_on)`)
      return { inserted: 0, updated: rowCount ?? 0, warnings: [] }
    },
  })
}

/** Creates `statuses`: the valid rows with the quote that each of them changes, if there is one. */
async function createStatusesTable(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table statuses on commit drop as
    select staged.file_line, staged.number, staged.version, staged.status, existing.id,
      existing.version as found_version, existing.status as old_status, existing.issued_on,
      case when staged.status in ('${decidedStatuses.join("', '")}')
        then coalesce(staged.decided_on::date, existing.decided_on) end as decided_on
    from (select * from staged where problem is null offset 0) staged
    left join lateral (
      select * from quotes
      where quotes.number = staged.number
        and (staged.version is null or quotes.version = staged.version_number)
      order by version desc limit 1
    ) existing on true`)
}

async function addStatusProblems(client: ClientBase): Promise<void> {
  await client.query(`
    insert into problems (file_line, problem)
    select file_line, format('number: there is no quote %s%s', number, ' version ' || version)
    from statuses where id is null
    union all
    select file_line, format('status: version %s of quote %s is superseded by a newer one',
      found_version, number)
    from statuses where old_status = 'superseded' and status <> 'superseded'
    union all
    select file_line, format('decided_on: %s is before issued_on, %s', decided_on, issued_on)
    from statuses where decided_on < issued_on
    union all
    select statuses.file_line, format('number: the quote is also on line %s', repeated.first_line)
    from statuses join (
      select id, min(file_line) as first_line from statuses group by id having count(*) > 1
    ) repeated using (id)
    where statuses.file_line <> repeated.first_line`)
}
