// Creates the change since the comparison period, with an arrow and a colour.
import { createElement } from '../../browser/elements.js'

/**
 * @param {string} change formatted, with its sign
 * @param {{ isBetterLower?: boolean }} [options]
 */
export function createChange(change, { isBetterLower = false } = {}) {
  const isUp = change.startsWith('+')
  const isDown = /^[-−]/.test(change)
  const direction = isUp ? 'up' : isDown ? 'down' : ''
  const isGood = isBetterLower ? isDown : isUp
  const colour = direction === '' ? '' : isGood ? 'good' : 'bad'
  return createElement('span', { class: `change ${direction} ${colour}`.trim() }, change)
}
