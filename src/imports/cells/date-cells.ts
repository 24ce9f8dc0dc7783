// The rules for cells with a date: their form, and the earliest and latest day.
import { isLocalDate } from '../../company/calendar.ts'
import type { FileFormat } from '../file-format.ts'
import { type CellCheck, type CellReader, quoteForMessage } from './cell-checks.ts'

const earliestDay = '1970-01-01'
const latestDay = '2099-12-31'

/**
 * A date as people write it, with a time of day only if it is midnight, as spreadsheets add it. The
 * groups 1 and 3 are day and month, or month and day.
 */
export const slashedDate = /^(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(?: 0?0:00(?::00)?)?$/
const isoDate = /^\d{4}-\d\d-\d\d$/

/**
 * Returns how dates are read in a format, or undefined if they are written as 2026-12-31. That form
 * is accepted in every format, because it cannot be mistaken.
 */
export function createDateReader({ dates }: FileFormat): CellReader | undefined {
  if (dates === 'ymd') return undefined
  const example = dates === 'dmy' ? '31/12/2026' : '12/31/2026'
  return (cell) => {
    if (isoDate.test(cell)) return { plain: cell }
    const [, first = '', , second = '', year = ''] = slashedDate.exec(cell) ?? []
    if (year === '') return { problem: `${quoteForMessage(cell)} is not a date such as ${example}` }
    const [day, month] = dates === 'dmy' ? [first, second] : [second, first]
    return { plain: `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}` }
  }
}

export const checkDay: CellCheck = (cell, written = cell) => {
  if (isLocalDate(cell)) return undefined
  const problem = isoDate.test(cell)
    ? 'is a day that does not exist'
    : 'is not a date such as 2026-12-31'
  return `${quoteForMessage(written)} ${problem}`
}

export const checkDayOfIssue: CellCheck = (cell, written = cell) =>
  checkDayUntil2099(cell, written) ??
  (cell < earliestDay ? `${quoteForMessage(written)} is before 1970` : undefined)

/**
 * For days of events: one mistyped year would make the default period of the statistics thousands
 * of years long.
 */
export const checkDayUntil2099: CellCheck = (cell, written = cell) =>
  checkDay(cell, written) ??
  (cell > latestDay ? `${quoteForMessage(written)} is after 2099` : undefined)
