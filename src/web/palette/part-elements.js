// Creates the elements of the palette. Style sheets select an element by its part.
import { createElement, createSvgElement } from '../browser/elements.js'

// SVG paths of the icons, for a viewBox of 16 by 16.
export const magnifier = 'M11.2 11.2 14.5 14.5M12.5 7a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0Z'
export const cross = 'm4 4 8 8M12 4l-8 8'
export const clock = 'M8 4.5V8l2.2 1.6M14.5 8a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0Z'

/**
 * Returns a new HTML element with a part; null stands for no part.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string | null} part
 * @param {Record<string, string>} [attributes]
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function createPart(tag, part, attributes = {}, ...children) {
  return createElement(tag, { part, ...attributes }, ...children)
}

/** Returns a new SVG icon. @param {string} path one of the paths above */
export function createIcon(path) {
  return createSvgElement(
    'svg',
    { part: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' },
    createSvgElement('path', { d: path }),
  )
}
