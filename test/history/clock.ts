// The clock of histories: real milliseconds since 1970 go in, and a day of the company takes some seconds, so that every history sees midnights.
import { localDate } from '../../src/company/calendar.ts'
import { company } from '../support/company.ts'

const dayMs = 8_000

export type Clock = {
  /** What time it is said to be at a real instant. */
  at(realMs: number): Date
  /** The company's days that it can have been between two real instants, both included, the first first. */
  days(fromMs: number, toMs: number): string[]
}

/** A clock that was right at `startMs` and has run too fast since. */
export function fastClock(startMs: number): Clock {
  const at = (realMs: number) => new Date(startMs + (realMs - startMs) * (86_400_000 / dayMs))
  const day = (realMs: number) => localDate(company.timeZone, at(realMs))
  return {
    at,
    days(fromMs, toMs) {
      const days = new Set<string>()
      for (let ms = fromMs; ms < toMs; ms += dayMs / 2) days.add(day(ms))
      return [...days.add(day(toMs))]
    },
  }
}
