// Reads the language, the texts and the time zone that the service has put into the page.
import { elementById } from '../browser/elements.js'
import { createFormats } from '../browser/number-and-date-formats.js'

/** @import { Formats } from '../browser/number-and-date-formats.js' */
/** @import { DashboardTexts } from '../../texts/en.ts' */
/**
 * @typedef {object} PageData
 * @property {string} language
 * @property {string} timeZone of the company
 * @property {string} title
 * @property {DashboardTexts} texts
 * @property {Formats} formats
 */

/** @returns {PageData} */
export function readPageData() {
  const pageData = JSON.parse(elementById('page', HTMLElement).textContent ?? '')
  return { ...pageData, formats: createFormats(pageData.locale) }
}
