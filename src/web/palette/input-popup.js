// The palette as a popup below an input of the page.
import { adoptStyleSheet } from './palette-styles.js'
import { createPart } from './part-elements.js'

/** @import { ResultList } from './result-list.js' */
/** @import { StatusMessages } from './status-messages.js' */
/** @import { ProductPaletteInterface } from './palette.d.ts' */

// All sizes are CSS pixels.
const gap = 4
const windowMargin = 8
const minWidth = 320
const minHeight = 120
/** If there is less height below the input and more above it, the popup opens above. */
const preferredHeight = 260

export class InputPopup {
  input
  panel
  #host

  /**
   * @param {HTMLElement & ProductPaletteInterface} host
   * @param {HTMLInputElement} input
   * @param {ResultList} results
   * @param {StatusMessages} messages
   * @param {AbortSignal} signal removes the event listeners when it is aborted
   */
  constructor(host, input, results, messages, signal) {
    this.input = input
    this.panel = createPart('div', 'panel popup', { popover: 'manual' })
    messages.surround(results.element, this.panel)
    this.#host = host
    input.addEventListener('blur', () => host.close(), { signal })
    input.addEventListener('click', () => host.show(), { signal })
    // Keeps the focus in the input.
    this.panel.addEventListener('mousedown', (event) => event.preventDefault(), { signal })
    for (const type of ['scroll', 'resize'])
      addEventListener(type, () => this.#position(), { signal, capture: true, passive: true })
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

  #position() {
    if (this.#host.isOpen) positionPopup(this.panel, this.input)
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

/**
 * Sets the position and the size of the popup relative to the window.
 * @param {HTMLElement} popup
 * @param {HTMLInputElement} input
 */
function positionPopup(popup, input) {
  const { left, right, top, bottom, width: inputWidth } = input.getBoundingClientRect()
  const heightBelow = innerHeight - bottom
  const isAbove = heightBelow < preferredHeight && top > heightBelow
  const width = Math.min(Math.max(inputWidth, minWidth), innerWidth - 2 * windowMargin)
  const isRightToLeft = getComputedStyle(popup).direction === 'rtl'
  const alignedLeft = isRightToLeft ? right - width : left
  const maxLeft = innerWidth - width - windowMargin
  const availableHeight = (isAbove ? top : heightBelow) - gap - windowMargin
  const edge = isAbove ? `bottom:${innerHeight - top + gap}px` : `top:${bottom + gap}px`
  const boundedLeft = Math.max(windowMargin, Math.min(alignedLeft, maxLeft))
  const maxHeight = Math.max(minHeight, availableHeight)
  popup.style.cssText = `left:${boundedLeft}px;width:${width}px;max-height:${maxHeight}px;${edge}`
}
