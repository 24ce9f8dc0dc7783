// Creates the elements of the palette. Style sheets select an element by its part.

// SVG paths of the icons, for a viewBox of 16 by 16.
export const magnifier = 'm11 11 3.5 3.5M7 1.5a5.5 5.5 0 1 0 .1 0Z'
export const cross = 'm4 4 8 8M12 4l-8 8'
export const clock = 'M8 4.5V8l2.2 1.6M8 1.5a6.5 6.5 0 1 0 .1 0Z'

/**
 * Returns a new HTML element with a part; null stands for no part. Text is never parsed as markup.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string | null} part
 * @param {Record<string, string>} [attributes]
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function createPart(tag, part, attributes = {}, ...children) {
  const element = document.createElement(tag)
  setAttributes(element, part === null ? attributes : { part, ...attributes })
  element.append(...children)
  return element
}

/** Returns a new SVG icon. @param {string} path one of the paths above */
export function createIcon(path) {
  const icon = createSvgElement('svg', {
    part: 'icon',
    viewBox: '0 0 16 16',
    'aria-hidden': 'true',
  })
  icon.append(createSvgElement('path', { d: path }))
  return icon
}

/** @param {string} tag @param {Record<string, string>} attributes */
function createSvgElement(tag, attributes) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  setAttributes(element, attributes)
  return element
}

/** @param {Element} element @param {Record<string, string>} attributes */
export function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
}
