// Says that a section needs a key with stats:detail, and offers to enter one.
import { createElement } from '../../../browser/elements.js'

/** @import { Child } from '../../../browser/elements.js' */
/** @import { PageData } from '../../page-data.js' */

/**
 * Returns the sentence and a button.
 * @param {PageData} page
 * @param {() => void} onRequested
 * @returns {Child[]}
 */
export function createKeyRequest({ texts }, onRequested) {
  const button = createElement(
    'button',
    { type: 'button', class: 'quiet', 'data-key': 'enter-key' },
    texts.enterKey,
  )
  button.addEventListener('click', onRequested)
  return [`${texts.needsDetailScope} `, button]
}
