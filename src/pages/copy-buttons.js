// Makes the buttons of a page copy the code samples beside them.

/** A button says for this time that its sample was copied. */
const copiedNoticeMs = 2_000

/**
 * Shows the buttons `.copy`, which are hidden without a script. Each copies the first `code` of the
 * nearest `.sample`. The element #announcement tells screen readers that it was copied.
 * @param {{ copy: string, copied: string }} texts
 */
export function listenToCopyButtons(texts) {
  const announcement = document.getElementById('announcement')
  for (const button of document.querySelectorAll('.copy')) button.removeAttribute('hidden')
  document.addEventListener('click', async ({ target }) => {
    const button = target instanceof Element ? target.closest('.copy') : null
    const code = button?.closest('.sample')?.querySelector('code')
    if (!button || !code) return
    if (!(await copyText(code))) return
    announcement?.replaceChildren(texts.copied)
    button.textContent = texts.copied
    setTimeout(() => {
      button.textContent = texts.copy
      announcement?.replaceChildren()
    }, copiedNoticeMs)
  })
}

/** Returns whether the text was copied. @param {Element} element */
async function copyText(element) {
  try {
    await navigator.clipboard.writeText(element.textContent ?? '')
    return true
  } catch {
    // Pages without https have no clipboard: selects the text and copies the selection.
    getSelection()?.selectAllChildren(element)
    return document.execCommand('copy')
  }
}
