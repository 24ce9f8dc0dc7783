// What the service has put into the page: the texts of its language and the company.

import type { DashboardTexts } from '../../texts/en.ts'
import { createFormats } from '../browser/number-and-date-formats.ts'

type PageData = {
  company: string
  initials: string
  /** The time zone of the company. */
  timeZone: string
  title: string
  language: string
  locale: string
  otherLanguages: { code: string; name: string }[]
  /** Whether the service counts searches. */
  hasSearchReport: boolean
  texts: DashboardTexts
}

export const page: PageData = JSON.parse(document.getElementById('page')?.textContent ?? '')
export const { texts } = page
export const formats = createFormats(page.locale)

/** Returns the name of a country in the language of the page. */
export function countryName(code: string): string {
  if (code === 'unknown') return texts.unknownCountry
  return /^[A-Z]{2}$/.test(code) ? formats.country(code) : code
}

const dayLength = 'YYYY-MM-DD'.length

/** Returns the name of a day, a month (YYYY-MM) or a year. */
export function intervalName(interval: string): string {
  return interval.length === dayLength ? formats.day(interval) : formats.month(interval)
}

/** Returns the label of a column. */
export function shortIntervalName(interval: string): string {
  return interval.length === dayLength
    ? String(Number(interval.slice(-2)))
    : formats.shortMonth(interval)
}

/**
 * Returns what the labels of neighbouring columns have in common: the month of days, the year of
 * months, '' for years.
 */
export function intervalGroup(interval: string): string {
  if (interval.length === 'YYYY'.length) return ''
  return interval.length === dayLength
    ? formats.shortMonth(interval.slice(0, 7))
    : interval.slice(0, 4)
}
