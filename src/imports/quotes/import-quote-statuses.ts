// Imports a file of statuses: which quotes were accepted, rejected or sent, and when.
import type { ClientBase, Pool } from 'pg'
import { checkDayUntil2099, checkLength, checkPositiveInteger } from '../cells/cell-checks.ts'
import { createFormatReaders, readStatus } from '../cells/cell-readers.ts'
import { createRowReader, type RowRules } from '../cells/row-rules.ts'
import { type FileFormat, quoteStatusFileColumns } from '../file-format.ts'
import {
  type ImportOptions,
  type ImportSummary,
  runInImportTransaction,
} from '../import-transaction.ts'
import type { ImportSource } from '../readers/file-source.ts'
import { openTable } from '../readers/open-table.ts'
import {
  createProblemsTable,
  moveInvalidRowsToRejects,
  throwIfRowsAreInvalid,
} from '../row-problems.ts'
import { stageRows } from '../staging-table.ts'
import { checkStatus, decisionHasStatus } from './quote-cell-rules.ts'

/**
 * Imports a table of statuses: all rows or none, or all valid rows if `rejectedRows` is given. Number
 * and version identify a quote; without a version it is the newest one. A day of decision that the
 * file does not give stays, unless the new status has none. Throws an ImportError if the import is
 * rejected.
 */
export async function importQuoteStatuses(
  pool: Pool,
  source: ImportSource,
  options: ImportOptions = {},
): Promise<ImportSummary> {
  const { onStep, rejectedRows } = options
  // The lock of quotes: both write the same rows.
  return runInImportTransaction(pool, { ...options, kind: 'quotes' }, async (client) => {
    onStep?.('reading')
    const file = await openTable(source, quoteStatusFileColumns, options)
    const read = await stageRows(client, file, {
      ...options,
      computedColumns: [
        `version_number integer generated always as (
          case when version ~ '^0{0,20}[0-9]{1,9}$' then version::integer end
        ) stored`,
      ],
      readRow: createRowReader(createStatusRules(file.format), file.columns),
      keyColumn: 'number',
    })
    onStep?.('checking')
    await createProblemsTable(client)
    await createStatusesTable(client)
    await addStatusProblems(client)
    if (!rejectedRows) await throwIfRowsAreInvalid(client)
    const rejected = await moveInvalidRowsToRejects(client, rejectedRows, file)
    onStep?.('writing')
    const { rowCount } = await client.query(`
      update quotes set status = statuses.status, decided_on = statuses.decided_on
      from statuses
      where quotes.id = statuses.id
        and file_line not in (select file_line from problems)
        and (quotes.status, quotes.decided_on)
          is distinct from (statuses.status, statuses.decided_on)`)
    const updated = rowCount ?? 0
    const unchanged = read - rejected - updated
    return { readAs: file.readAs, read, inserted: 0, updated, unchanged, rejected, warnings: [] }
  })
}

function createStatusRules(format: FileFormat): RowRules<string> {
  return {
    nonEmpty: quoteStatusFileColumns.required,
    readers: { ...createFormatReaders(quoteStatusFileColumns, format), status: readStatus },
    cells: {
      number: checkLength(64),
      version: checkPositiveInteger,
      status: checkStatus,
      decided_on: checkDayUntil2099,
    },
    crossCellRules: [decisionHasStatus],
  }
}

/** Creates `statuses`: the valid rows with the quote that each of them changes, if there is one. */
async function createStatusesTable(client: ClientBase): Promise<void> {
  await client.query(`
    create temporary table statuses on commit drop as
    select staged.file_line, staged.number, staged.version, staged.status, existing.id,
      existing.version as found_version, existing.status as old_status, existing.issued_on,
      case when staged.status in ('accepted', 'rejected', 'superseded')
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
