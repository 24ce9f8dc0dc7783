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

  /**
   * Adds the popup to the tree of the input, because an input can refer only to options in its own
   * tree.
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
    adoptStyleSheet(/** @type {Document | ShadowRoot} */ (host.getRootNode()), host.localName)
    host.append(this.panel)
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

  open() {
    this.panel.showPopover()
    this.#position()
  }

  close() {
    this.panel.hidePopover()
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
