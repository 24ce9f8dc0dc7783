// The countries to choose from: those of the answers so far and, once somebody is about to choose, all there are.
import { byId, element } from './elements.js'
import { sessionKey } from './session-key.js'

/** @typedef {import('./figures.js').Stats} Stats */

/**
 * @param {{ page: import('./page.js').Page, choose: (country: string) => void }} options
 */
export function countryChoice({ page: { language, words, formats }, choose }) {
  const field = byId('country', HTMLSelectElement)
  let chosen = ''
  field.addEventListener('change', () => choose(field.value))
  field.addEventListener('focus', findAll, { once: true })
  field.addEventListener('pointerenter', findAll, { once: true })

  /** From an answer without a period: a page that looks at one month knows only that month's. */
  async function findAll() {
    const key = sessionKey.read()
    const headers = key === null ? {} : { authorization: `Bearer ${key}` }
    const response = await fetch('api/stats', { headers, credentials: 'same-origin' }).catch(
      () => null,
    )
    if (response?.ok) addThoseOf(await response.json())
  }

  /** @param {Stats} stats */
  function addThoseOf({ byCountry }) {
    for (const { country } of byCountry) add(country ?? 'unknown')
    field.value = chosen
  }

  /**
   * Puts a country where its name belongs, once.
   * @param {string} code
   */
  function add(code) {
    const options = [...field.options]
    if (options.some(({ value }) => value === code)) return
    const name = nameOf(code)
    const next = options.find(
      ({ value, text }) => value !== '' && text.localeCompare(name, language) > 0,
    )
    field.add(element('option', { value: code }, name), next ?? null)
  }

  /** @param {string} code */
  const nameOf = (code) =>
    code === 'unknown'
      ? words.unknownCountry
      : /^[A-Z]{2}$/.test(code)
        ? formats.country(code)
        : code

  return {
    /** @param {string} country its code, '' for all */
    show(country) {
      chosen = country
      add(country)
      field.value = country
    },
    addThoseOf,
    nameOf,
  }
}
