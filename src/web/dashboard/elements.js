// Elements made by hand: text is always text, and no markup is ever parsed.

/** @typedef {Node | string | null | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined>} Attributes */

/**
 * An element with attributes (null, undefined and false are left out) and children.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} attributes
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children)
}

/**
 * The same of SVG.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} attributes
 * @param {Child[]} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function drawn(tag, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children)
}

/**
 * @template {Element} Made
 * @param {Made} made
 * @param {Attributes} attributes
 * @param {Child[]} children
 */
function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false)
      made.setAttribute(name, value === true ? '' : String(value))
  }
  made.append(...children.filter((child) => child !== null && child !== false))
  return made
}

/**
 * The element with this id, which must be in the page.
 * @template {typeof HTMLElement} Kind
 * @param {string} id
 * @param {Kind} kind
 * @returns {InstanceType<Kind>}
 */
export function byId(id, kind) {
  const found = document.getElementById(id)
  if (!(found instanceof kind)) throw new Error(`#${id} is not in the page`)
  return /** @type {InstanceType<Kind>} */ (found)
}

/**
 * Puts new children into a place, and the focus back onto the one that has the same data-key as the one that had it.
 * @param {Element} place
 * @param {Child[]} children
 */
export function replace(place, ...children) {
  const focused = place.contains(document.activeElement)
    ? document.activeElement?.getAttribute('data-key')
    : null
  place.replaceChildren(...children.filter((child) => child !== null && child !== false))
  if (focused)
    /** @type {HTMLElement | null} */ (
      place.querySelector(`[data-key="${CSS.escape(focused)}"]`)
    )?.focus()
}

/**
 * A text with its {places} filled.
 * @param {string} text
 * @param {Record<string, string>} values
 */
export function fillIn(text, values) {
  return text.replace(/\{(\w+)\}/g, (place, name) => values[name] ?? place)
}
