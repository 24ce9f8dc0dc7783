// The palette as a popup below an input of the page.
import { adoptStyleSheet } from './palette-styles.js'
import { createPart } from './part-elements.js'
import { positionPopup } from './popup-position.js'

/** @import { ResultList } from '../results/result-list.js' */
/** @import { StatusMessages } from './status-messages.js' */
/**
 * @typedef {object} PopupListeners
 * @property {() => void} onFocusLost
 * @property {() => void} onInputClick
 * @property {AbortSignal} signal removes the event listeners when it is aborted
 */

export class InputPopup {
  input
  panel
  #host

  /**
   * @param {HTMLElement} host
   * @param {HTMLInputElement} input
   * @param {ResultList} results
   * @param {StatusMessages} messages
   * @param {PopupListeners} listeners
   */
  constructor(host, input, results, messages, { onFocusLost, onInputClick, signal }) {
    const { message, statusLine, liveRegion } = messages
    this.input = input
    this.panel = createPart(
      'div',
      'panel popup',
      { popover: 'manual' },
      createPart('div', 'progress'),
      createPart('div', 'results', {}, results.element, message),
      createPart('div', 'footer', {}, statusLine),
      liveRegion,
    )
    this.#host = host
    input.addEventListener('blur', onFocusLost, { signal })
    input.addEventListener('click', onInputClick, { signal })
    // Keeps the focus in the input.
    this.panel.addEventListener('mousedown', (event) => event.preventDefault(), { signal })
    for (const type of ['scroll', 'resize'])
      addEventListener(type, () => this.#position(), { signal, capture: true, passive: true })
  }

  get isOpen() {
    return this.panel.matches(':popover-open')
  }

  /**
   * Adds the popup to the tree of the input, because an input can refer only to options in its own
   * tree. While it is closed, the palette has only the content that the page has given it.
   */
  open() {
    const root = /** @type {Document | ShadowRoot} */ (this.#host.getRootNode())
    adoptStyleSheet(root, this.#host.localName)
    this.#host.append(this.panel)
    this.panel.showPopover()
    this.#position()
  }

  close() {
    this.panel.hidePopover()
    this.panel.remove()
  }

  /** Does nothing: the label and the placeholder of the input belong to the page. */
  showTexts() {}

  remove() {
    this.panel.remove()
  }

  #position() {
    if (this.isOpen) positionPopup(this.panel, this.input)
  }
}

/**
 * Replaces the text of an input as if a user had typed it, so that frameworks notice.
 * @param {HTMLInputElement} input
 * @param {string} text
 */
export function fillInput(input, text) {
  // React ignores an event after its script has set `value`.
  input.setRangeText(text, 0, input.value.length, 'end')
  for (const type of ['input', 'change']) input.dispatchEvent(new Event(type, { bubbles: true }))
}
