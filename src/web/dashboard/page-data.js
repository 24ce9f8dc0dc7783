// What the service puts into the page for its script: language, texts and time zone.
import { elementById } from '../browser/elements.js'
import { createFormats } from '../browser/number-and-date-formats.js'

/** @import { Formats, Language } from '../browser/number-and-date-formats.js' */
/** @import { DashboardTexts } from './texts/dashboard-texts-es.ts' */
/**
 * @typedef {object} PageData
 * @property {Language} language
 * @property {string} timeZone of the company
 * @property {string} title
 * @property {DashboardTexts} texts
 * @property {Formats} formats
 */

/** @returns {PageData} */
export function readPageData() {
  const data = JSON.parse(elementById('page', HTMLElement).textContent ?? '')
  return { ...data, formats: createFormats(data.language) }
}
