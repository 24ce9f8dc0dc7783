// The choice of the columns that a table shows on a narrow screen. Wide screens and paper show all
// columns.
import { createElement, replaceChildren } from '../../browser/elements.js'

/** @import { PageData } from '../page-data.js' */
/** @import { ColumnGroup } from './table-columns.js' */

export class ColumnChoice {
  #card
  #container
  #texts
  /** @type {ColumnGroup} */
  #chosen = 'revenue'
  /** @type {ColumnGroup[]} */
  #groups = []

  /**
   * @param {Element} container for the buttons, within the card of the table
   * @param {PageData} page
   */
  constructor(container, { texts }) {
    this.#container = container
    this.#card = container.closest('.card')
    this.#texts = texts
  }

  /** Offers these columns. Keeps the chosen ones if possible. @param {ColumnGroup[]} groups */
  show(groups) {
    this.#groups = groups
    this.#choose(groups.includes(this.#chosen) ? this.#chosen : 'revenue')
  }

  /** @param {ColumnGroup} chosen */
  #choose(chosen) {
    this.#chosen = chosen
    this.#card?.setAttribute('data-columns', chosen)
    const buttons = this.#groups.map((group) => {
      const button = createElement(
        'button',
        {
          type: 'button',
          'data-key': `columns-${group}`,
          'aria-pressed': group === chosen ? 'true' : 'false',
        },
        this.#texts.columnGroups[group],
      )
      button.addEventListener('click', () => this.#choose(group))
      return button
    })
    replaceChildren(this.#container, ...buttons)
  }
}
