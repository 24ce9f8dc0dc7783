// What stands in the way, said plainly: no key, a wrong one, too many requests, nobody there.
import { byId, element, fillIn } from './elements.js'

/** @typedef {import('./figures.js').Trouble} Trouble */

/**
 * @param {{ page: import('./page.js').Page, retry: () => void, keyGiven: (key: string) => void }} options
 */
export function troubleNotice({ page: { words }, retry, keyGiven }) {
  const notice = byId('trouble', HTMLElement)
  const text = byId('trouble-text', HTMLElement)
  const waiting = byId('trouble-wait', HTMLElement)
  const form = byId('key-form', HTMLFormElement)
  const problem = byId('key-problem', HTMLElement)
  const field = byId('key', HTMLInputElement)
  /** @type {Trouble | null} */
  let current = null

  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const key = field.value.trim()
    if (key === '') return field.focus()
    field.value = ''
    keyGiven(key)
  })
  byId('retry', HTMLButtonElement).addEventListener('click', retry)
  setInterval(tellWait, 1_000)

  function tellWait() {
    const seconds = current?.retryAt
      ? Math.max(1, Math.ceil((current.retryAt - performance.now()) / 1_000))
      : 0
    waiting.textContent = seconds > 0 ? fillIn(words.retryIn, { seconds: String(seconds) }) : ''
  }

  return {
    /** @param {Trouble} trouble */
    show(trouble) {
      const { kind, detail, parameters } = trouble
      const isOfKey = kind === 'key' || kind === 'badKey' || kind === 'scope'
      const isRepeated = current?.kind === kind
      current = trouble
      notice.hidden = isOfKey
      form.hidden = !isOfKey
      if (isOfKey) {
        problem.textContent = kind === 'key' ? '' : words.trouble[kind]
        field.setAttribute('aria-invalid', String(kind !== 'key'))
        field.focus()
        return
      }
      // The same words again are not announced again.
      if (!isRepeated) {
        text.replaceChildren(
          element('strong', {}, fillIn(words.trouble[kind], { parameters: parameters.join(', ') })),
          kind === 'invalid' && detail !== ''
            ? element('span', { lang: 'en', class: 'detail' }, detail)
            : '',
        )
      }
      byId('retry', HTMLButtonElement).hidden = kind === 'limited' || kind === 'invalid'
      tellWait()
    },
    clear() {
      current = null
      notice.hidden = true
      form.hidden = true
      text.replaceChildren()
      waiting.textContent = ''
    },
  }
}
