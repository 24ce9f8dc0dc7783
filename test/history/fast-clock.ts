// A clock that runs so fast that every history contains several midnights.
import { sql } from 'kysely'
import { toLocalDate } from '../../src/company/calendar.ts'
import { company } from '../support/database/company.ts'

/** How long a day of the company takes in real time. */
const realMsPerDay = 8_000

/** The local day of this clock in PostgreSQL, which decides how long sent quotes are open. */
export const fastLocalToday = (startMs: number) => sql`
  create or replace function local_today() returns date language sql stable
  return ((timestamptz 'epoch' + interval '1 millisecond' * (
    ${sql.lit(startMs)} + (extract(epoch from now()) * 1000 - ${sql.lit(startMs)})
      * ${sql.lit(86_400_000 / realMsPerDay)}
  )) at time zone (select time_zone from company))::date
`

export type Clock = {
  /** The time on this clock at a real instant (milliseconds since 1970). */
  at(realMs: number): Date
  /** The company's days between two real instants, both included, in ascending order. */
  days(fromMs: number, toMs: number): string[]
}

/** A clock that shows the real time at `startMs` and runs fast from then on. */
export function fastClock(startMs: number): Clock {
  const at = (realMs: number) =>
    new Date(startMs + (realMs - startMs) * (86_400_000 / realMsPerDay))
  const day = (realMs: number) => toLocalDate(company.timeZone, at(realMs))
  return {
    at,
    days(fromMs, toMs) {
      const days = new Set<string>()
      for (let ms = fromMs; ms < toMs; ms += realMsPerDay / 2) days.add(day(ms))
      return [...days.add(day(toMs))]
    },
  }
}
