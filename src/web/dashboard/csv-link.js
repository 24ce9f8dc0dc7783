// The link to what is looked at as CSV.
import { byId, element } from './elements.js'
import { sessionKey } from './session-key.js'

/** @param {{ language: string, failed: () => void }} options */
export function csvLink({ language, failed }) {
  const link = byId('csv', HTMLAnchorElement)

  link.addEventListener('click', async (event) => {
    const key = sessionKey.read()
    if (key === null) return
    // A link cannot carry a key.
    event.preventDefault()
    const response = await fetch(link.href, { headers: { authorization: `Bearer ${key}` } }).catch(
      () => null,
    )
    if (!response?.ok) return failed()
    const url = URL.createObjectURL(await response.blob())
    element('a', { href: url, download: link.download }).click()
    setTimeout(() => URL.revokeObjectURL(url), 10_000)
  })

  return {
    /** @param {string} question that is asked of /api/stats */
    lead(question) {
      const file = new URLSearchParams(question)
      file.set('format', 'csv')
      file.set('locale', language)
      link.href = `api/stats?${file}`
    },
    /**
     * Names the file; what is '' is left out.
     * @param {{ from: string, to: string }} days
     * @param {string} country
     */
    name({ from, to }, country) {
      link.download = `${['stats', from, to, country].filter((part) => part !== '').join('-')}.csv`
    },
  }
}
