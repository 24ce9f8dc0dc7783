// Makes the buttons copy their code samples.
import { elementById } from '../browser/elements.js'

/** @import { HomeTexts } from './home-texts-es.ts' */

/** A button says for this time that its sample was copied. */
const copiedNoticeMs = 2_000

/** @param {HomeTexts} texts */
export function listenToCopyButtons(texts) {
  const announcement = elementById('announcement', HTMLElement)
  document.addEventListener('click', async ({ target }) => {
    const button = target instanceof Element ? target.closest('.copy') : null
    const code = button?.closest('figure')?.querySelector('code')
    if (!button || !code) return
    await copyText(code)
    announcement.textContent = texts.copied
    button.textContent = texts.copied
    setTimeout(() => {
      button.textContent = texts.copy
      announcement.textContent = ''
    }, copiedNoticeMs)
  })
}

/** @param {Element} element */
async function copyText(element) {
  try {
    await navigator.clipboard.writeText(element.textContent ?? '')
  } catch {
    // Pages without https have no clipboard: selects the text and copies the selection.
    getSelection()?.selectAllChildren(element)
    document.execCommand('copy')
  }
}
