// The listbox of results. The input refers to its active option by aria-activedescendant.
import { createPart, setAttributes } from './part-elements.js'
import { createActionRow, createProductRow } from './result-row.js'

/** @import { Hit, PaletteAction, PaletteTexts, RenderOption } from './palette.d.ts' */
/**
 * A product, an action of the page, or neither: the last option, whose label says how many more
 * results it shows.
 * @typedef {{ hit?: Hit, action?: PaletteAction, label?: string, stored?: boolean }} Choice
 */
/** @typedef {Choice & { row: HTMLElement }} Option */
/** @typedef {{ heading?: string, choices: Choice[] }} ResultGroup */
/**
 * @typedef {object} Rendering
 * @property {string} language for prices
 * @property {RenderOption | null} renderOption the template of the page
 * @property {Hit[] | undefined} favourites undefined if the page has switched them off
 * @property {PaletteTexts} texts
 */

/** How many options the keys Page Up and Page Down pass over. */
const pageLength = 5

const comboboxAttributes = {
  role: 'combobox',
  'aria-expanded': 'false',
  'aria-autocomplete': 'list',
  'aria-controls': '',
  'aria-description': '',
}

export class ResultList {
  element = createPart('div', 'list', { role: 'listbox' })
  /**
   * Whether the user moved to the active option with the arrow keys or the pointer. Otherwise the
   * first option is active by default.
   */
  hasMoved = false
  #idPrefix
  /** @type {Option[]} */
  #options = []
  #activeIndex = -1
  #isOutdated = false
  /** @type {HTMLInputElement | null} */
  #input = null

  /** @param {string} idPrefix unique in the document */
  constructor(idPrefix) {
    this.#idPrefix = idPrefix
    this.element.id = `${idPrefix}-list`
    // Keeps the focus in the input.
    this.element.addEventListener('mousedown', (event) => event.preventDefault())
    // Not pointerover: results that appear under a resting pointer must not be selected.
    this.element.addEventListener('pointermove', (event) => this.selectAt(event))
  }

  get isEmpty() {
    return this.#options.length === 0
  }

  get activeIndex() {
    return this.#activeIndex
  }

  /** @returns {Option | undefined} */
  get active() {
    return this.#options[this.#activeIndex]
  }

  /** Connects the list to the input that controls it. @param {HTMLInputElement} input */
  connect(input) {
    this.#input = input
    setAttributes(input, {
      autocomplete: 'off',
      autocapitalize: 'off',
      spellcheck: 'false',
      ...comboboxAttributes,
      'aria-controls': this.element.id,
    })
  }

  /** Describes the connected input for screen readers. @param {string} text */
  describe(text) {
    if (this.#input) this.#input.ariaDescription = text
  }

  /** Removes the connection from the input, which belongs to the page. */
  release() {
    for (const name in comboboxAttributes) this.#input?.removeAttribute(name)
    this.#input = null
  }

  /**
   * Replaces the results. The product that the user selected stays active if it is still there,
   * otherwise the first one is active.
   * @param {ResultGroup[]} groups
   * @param {Rendering} [rendering] needed if there are groups
   */
  show(groups, rendering = /** @type {Rendering} */ ({})) {
    const selectedId = this.hasMoved ? this.active?.hit?.id : undefined
    this.#options = []
    this.element.replaceChildren(...groups.flatMap((group) => this.#createGroup(group, rendering)))
    this.element.scrollTop = 0
    this.dim(false)
    this.element.hidden = this.isEmpty
    this.#input?.setAttribute('aria-expanded', String(!this.isEmpty))
    const selectedIndex = this.#options.findIndex(
      ({ hit }) => hit !== undefined && hit.id === selectedId,
    )
    this.hasMoved = selectedIndex >= 0
    this.#activeIndex = -1
    this.#activate(Math.max(0, selectedIndex))
  }

  /**
   * Dims the results while they do not answer what is typed. No option is then active.
   * @param {boolean} isOutdated
   */
  dim(isOutdated) {
    if (isOutdated === this.#isOutdated) return
    this.#isOutdated = isOutdated
    this.element.ariaDisabled = isOutdated ? 'true' : null
    this.#activate(this.#activeIndex)
  }

  /** Makes no option active, so that Enter chooses nothing. */
  deactivate() {
    this.hasMoved = false
    this.#activate(-1)
  }

  /** Makes an option active on behalf of the user. @param {number} index */
  select(index) {
    if (this.#isOutdated) return
    this.hasMoved = true
    this.#activate(index)
  }

  /**
   * Returns the index of the option to which a key moves, or null if the key only edits the text.
   * @param {string} key
   */
  indexForKey(key) {
    const lastIndex = this.#options.length - 1
    const index = this.#activeIndex
    if (key === 'ArrowDown') return index < lastIndex ? index + 1 : 0
    if (key === 'ArrowUp') return index > 0 ? index - 1 : lastIndex
    if (lastIndex < 0 || !this.#input) return null
    if (key === 'PageDown') return Math.min(lastIndex, index + pageLength)
    if (key === 'PageUp') return Math.max(0, index - pageLength)
    // Home and End move in the list if the user is in it or the cursor is at that end of the text.
    const { selectionStart, selectionEnd, value } = this.#input
    const movesInList = (/** @type {number} */ end) =>
      this.hasMoved || (selectionStart === end && selectionEnd === end)
    if (key === 'Home' && movesInList(0)) return 0
    if (key === 'End' && movesInList(value.length)) return lastIndex
    return null
  }

  /** Selects an option and scrolls to it. @param {number} index */
  reveal(index) {
    this.select(index)
    this.active?.row.scrollIntoView({ block: 'nearest' })
    // The first option has a heading above it.
    if (index === 0) this.element.scrollTop = 0
  }

  /**
   * Selects the option under the pointer.
   * @param {Event} event
   * @returns {boolean} whether there is an option under the pointer
   */
  selectAt(event) {
    const path = event.composedPath()
    const index = this.#options.findIndex(({ row }) => path.includes(row))
    if (index >= 0 && index !== this.#activeIndex) this.select(index)
    return index >= 0
  }

  /** Updates the input after the palette was closed. */
  collapse() {
    this.#input?.setAttribute('aria-expanded', 'false')
    this.#input?.removeAttribute('aria-activedescendant')
  }

  /** @param {number} index */
  #activate(index) {
    const previousRow = this.active?.row
    if (previousRow) setAttributes(previousRow, { 'aria-selected': 'false', part: 'option' })
    this.#activeIndex = index
    const row = this.active?.row
    if (!row || this.#isOutdated) return void this.#input?.removeAttribute('aria-activedescendant')
    setAttributes(row, { 'aria-selected': 'true', part: 'option active' })
    this.#input?.setAttribute('aria-activedescendant', row.id)
  }

  /** @param {ResultGroup} group @param {Rendering} rendering @returns {HTMLElement[]} */
  #createGroup({ heading, choices }, rendering) {
    const rows = choices.map((choice) => this.#createOption(choice, rendering))
    if (heading === undefined) return rows
    if (rows.length === 0) return []
    const headingElement = createPart('div', 'heading', { 'aria-hidden': 'true' }, heading)
    const attributes = { role: 'group', 'aria-label': heading }
    return [createPart('div', 'group', attributes, headingElement, ...rows)]
  }

  /** @param {Choice} choice @param {Rendering} rendering */
  #createOption(choice, rendering) {
    const { hit, action, label = '' } = choice
    const id = `${this.#idPrefix}-${this.#options.length}`
    const row = hit
      ? createProductRow(hit, { id, ...rendering })
      : createActionRow(action ?? { label }, id)
    this.#options.push({ ...choice, row })
    return row
  }
}

/**
 * Returns the actions whose label or keywords contain the query, in their groups. Case and accents
 * do not matter.
 * @param {PaletteAction[]} actions
 * @param {string} query
 * @returns {ResultGroup[]}
 */
export function groupActions(actions, query) {
  const typed = simplify(query)
  const found = actions.filter(({ label, keywords = '' }) =>
    simplify(`${label} ${keywords}`).includes(typed),
  )
  const headings = new Set(found.map(({ group = '' }) => group))
  return [...headings].map((heading) => ({
    heading,
    choices: found.filter(({ group = '' }) => group === heading).map((action) => ({ action })),
  }))
}

/** @param {string} text */
function simplify(text) {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
}
