// The rules for cells with a date: their form, and the earliest and latest day.
import { isLocalDate } from '../../company/calendar.ts'
import { type CellCheck, quoteForMessage } from './cell-checks.ts'

const earliestDay = '1970-01-01'
const latestDay = '2099-12-31'

export const checkDay: CellCheck = (cell) => {
  if (isLocalDate(cell)) return undefined
  const problem = /^\d{4}-\d\d-\d\d$/.test(cell)
    ? 'is a day that does not exist'
    : 'is not a date such as 2026-12-31'
  return `${quoteForMessage(cell)} ${problem}`
}

export const checkDayOfIssue: CellCheck = (cell) =>
  checkDayUntil2099(cell) ??
  (cell < earliestDay ? `${quoteForMessage(cell)} is before 1970` : undefined)

/** For days of events: one mistyped year would make the default period of the stats millennia. */
export const checkDayUntil2099: CellCheck = (cell) =>
  checkDay(cell) ?? (cell > latestDay ? `${quoteForMessage(cell)} is after 2099` : undefined)
