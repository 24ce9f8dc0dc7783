// Creates the tables by country and by month or year. They have the same columns, in groups; narrow
// screens show one group at a time.
import { createElement, formatText } from '../../browser/elements.js'
import { columnsOf } from './table-columns.js'

/** @import { Child } from '../../browser/elements.js' */
/** @import { PageData } from '../page-data.js' */
/** @import { Column, ColumnGroup, Group } from './table-columns.js' */
/**
 * @typedef {object} Row
 * @property {Group} group
 * @property {Child[]} label
 * @property {Record<string, string | null>} attributes
 */
/**
 * @typedef {object} GroupTable
 * @property {string} caption
 * @property {string} rowHeading
 * @property {ColumnGroup[]} columns
 * @property {string} currency
 * @property {Row[]} rows
 */

/** @param {GroupTable} table @param {PageData} page */
export function createGroupTable({ caption, rowHeading, columns: groups, currency, rows }, page) {
  const columns = columnsOf(currency, page).filter(({ group }) => groups.includes(group))
  const bodyRows = rows.map(({ group, label, attributes }) =>
    createElement(
      'tr',
      attributes,
      createElement('th', { scope: 'row' }, ...label),
      ...columns.map((column) => createCell(column, group)),
    ),
  )
  return createElement(
    'table',
    { class: 'groups' },
    createElement('caption', { class: 'hidden' }, caption),
    createElement(
      'thead',
      {},
      createGroupHeadings(groups, currency, page),
      createElement(
        'tr',
        {},
        createElement('th', { scope: 'col' }, rowHeading),
        ...columns.map(createHeading),
      ),
    ),
    createElement('tbody', {}, ...bodyRows),
  )
}

/** @param {Column} column @param {Group} group */
function createCell(column, group) {
  const text = column.format(group)
  const isZero = !/[1-9]/.test(text)
  return createElement('td', { class: classOf(column, isZero) }, text)
}

/** @param {Column} column @param {boolean} [isZero] */
const classOf = ({ group, isFirst }, isZero = false) =>
  `column-${group}${isFirst ? ' first' : ''}${isZero ? ' zero' : ''}`

/**
 * Returns the row above the headings of the columns.
 * @param {ColumnGroup[]} groups
 * @param {string} currency
 * @param {PageData} page
 */
function createGroupHeadings(groups, currency, { texts }) {
  /** @param {string} text @param {number} columns @param {string} [definition] */
  const heading = (text, columns, definition) =>
    createElement('th', { scope: 'colgroup', colspan: columns, title: definition }, text)
  return createElement(
    'tr',
    { class: 'column-groups' },
    createElement('td', { colspan: 3 }),
    heading(formatText(texts.amountsIn, { currency }), groups.includes('outcomes') ? 3 : 1),
    groups.includes('acceptance') &&
      heading(texts.acceptanceOfDecided, 2, texts.definitions.acceptance),
    groups.includes('days') && heading(texts.daysToDecision, 2, texts.definitions.days),
  )
}

/** @param {Column} column */
function createHeading(column) {
  const { heading, unit, definition } = column
  return createElement(
    'th',
    { scope: 'col', class: classOf(column), title: definition },
    heading,
    unit ? createElement('span', { class: 'unit' }, ` ${unit}`) : null,
  )
}
