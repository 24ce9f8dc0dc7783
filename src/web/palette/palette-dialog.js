// The palette as a modal dialog with its own input, in a shadow tree.
import { modifierName } from './keyboard.js'
import { adoptStyleSheet } from './palette-styles.js'
import { createPart } from './part-elements.js'

/** @import { ResultList } from './result-list.js' */
/** @import { StatusMessages } from './status-messages.js' */
/** @import { PaletteTexts, ProductPaletteInterface } from './palette.d.ts' */

export class PaletteDialog {
  input = createPart('input', 'input', {
    type: 'text',
    enterkeyhint: 'search',
    maxlength: '200',
    autofocus: '',
  })
  panel
  #closeButton = createPart(
    'button',
    'close',
    { type: 'button' },
    createPart('span', 'close-key', {}, 'esc'),
    createPart('span', 'close-sign', {}, '✕'),
  )
  #hints = createPart('span', 'hints', { 'aria-hidden': 'true' })

  /**
   * @param {HTMLElement & ProductPaletteInterface} host
   * @param {ResultList} results
   * @param {StatusMessages} messages
   * @param {AbortSignal} signal removes the listener of clicks on the content when it is aborted
   */
  constructor(host, results, messages, signal) {
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
    adoptStyleSheet(root)
    const header = createPart(
      'div',
      'header',
      {},
      createPart('span', 'icon'),
      this.input,
      this.#closeButton,
    )
    const panel = createPart('div', 'panel', {}, header)
    messages.surround(results.element, panel, this.#hints)
    this.panel = createPart('dialog', 'dialog', {}, panel)
    const trigger = document.createElement('slot')
    root.replaceChildren(trigger, this.panel)
    // A popup below an input is content of the element too, so the slot stays.
    trigger.addEventListener('click', () => host.show(), { signal })
    this.#closeButton.addEventListener('click', () => host.close())
    // For the page, the target of these events is the palette and not an input. Without
    // stopPropagation, typing would trigger the one-letter shortcuts of the page.
    for (const type of ['keydown', 'keyup', 'keypress'])
      this.panel.addEventListener(type, (event) => event.stopPropagation())
    // The dialog covers the window, so a click outside the panel has the dialog as its target. The
    // pointer must go down there too: a text selection can end outside the panel.
    let wasPressedOutside = false
    this.panel.addEventListener('pointerdown', ({ target }) => {
      wasPressedOutside = target === this.panel
    })
    this.panel.addEventListener('click', ({ target }) => {
      if (wasPressedOutside && target === this.panel) host.close()
    })
  }

  open() {
    this.input.value = ''
    this.panel.showModal()
    const { style, clientWidth } = document.documentElement
    const { overflow, scrollbarGutter } = style
    // The page must not scroll behind the dialog, nor move when its scrollbar disappears.
    style.overflow = 'hidden'
    if (clientWidth < innerWidth) style.scrollbarGutter = 'stable'
    const restore = () => Object.assign(style, { overflow, scrollbarGutter })
    this.panel.addEventListener('close', restore, { once: true })
  }

  close() {
    this.panel.close()
  }

  /**
   * @param {PaletteTexts} texts
   * @param {string} code
   * @param {string | null} placeholder
   * @param {string | null} favourite null if the page has switched favourites off
   */
  showTexts({ title, close, hints }, code, placeholder, favourite) {
    this.panel.lang = code
    this.panel.ariaLabel = title
    this.input.ariaLabel = title
    this.input.placeholder = placeholder || title
    this.#closeButton.ariaLabel = close
    this.#hints.replaceChildren(
      createHint(hints.move, '↑', '↓'),
      createHint(hints.choose, '↵'),
      createHint(hints.chooseMore, modifierName, '↵'),
      favourite ? createHint(favourite, '⇧', '↵') : '',
    )
  }
}

/** @param {string} action @param {string[]} keys */
function createHint(action, ...keys) {
  return createPart(
    'span',
    'hint',
    {},
    ...keys.map((key) => createPart('kbd', 'key', {}, key)),
    action,
  )
}
