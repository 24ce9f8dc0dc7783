// What the page was given by the service: its language, words and calendar.
import { byId } from './elements.js'
import { formats } from './format.js'

/** @typedef {import('./dashboard-texts.ts').DashboardWords} Words */
/** @typedef {{ language: import('./format.js').Language, timeZone: string, title: string, words: Words, formats: import('./format.js').Formats }} Page */

/** @returns {Page} */
export function readPage() {
  const given = JSON.parse(byId('page', HTMLElement).textContent ?? '')
  return { ...given, formats: formats(given.language) }
}
