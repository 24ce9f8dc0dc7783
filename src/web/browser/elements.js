// Creates and finds elements of a page. Text becomes text nodes and is never parsed as markup.

/** @typedef {Node | string | null | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined>} Attributes */

/**
 * Returns a new HTML element. Leaves out attributes that are null, undefined or false, and children
 * that are null or false.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} attributes
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function createElement(tag, attributes = {}, ...children) {
  return fillElement(document.createElement(tag), attributes, children)
}

/**
 * Returns a new SVG element. Leaves out the same attributes and children as createElement.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} attributes
 * @param {Child[]} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function createSvgElement(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  return fillElement(element, attributes, children)
}

/**
 * Returns the element with this id. Throws if it does not exist or has another type.
 * @template {typeof Element} Type
 * @param {string} id
 * @param {Type} type
 * @returns {InstanceType<Type>}
 */
export function elementById(id, type) {
  const element = document.getElementById(id)
  if (!(element instanceof type)) throw new Error(`The page has no ${type.name} #${id}.`)
  return /** @type {InstanceType<Type>} */ (element)
}

/**
 * Replaces the children of an element. If a child with a data-key had the focus, the new child
 * with the same data-key gets it.
 * @param {Element} parent
 * @param {Child[]} children
 */
export function replaceChildren(parent, ...children) {
  const focusedKey = parent.contains(document.activeElement)
    ? document.activeElement?.getAttribute('data-key')
    : null
  parent.replaceChildren(...children.filter(isNodeOrText))
  if (focusedKey) {
    const child = parent.querySelector(`[data-key="${CSS.escape(focusedKey)}"]`)
    if (child instanceof HTMLElement) child.focus()
  }
}

/**
 * Returns the text with its {placeholders} replaced. A placeholder without a value stays.
 * @param {string} text
 * @param {Record<string, string>} values
 */
export function formatText(text, values) {
  return text.replace(/\{(\w+)\}/g, (placeholder, name) => values[name] ?? placeholder)
}

/**
 * @template {Element} Type
 * @param {Type} element
 * @param {Attributes} attributes
 * @param {Child[]} children
 */
function fillElement(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : String(value))
  }
  element.append(...children.filter(isNodeOrText))
  return element
}

/** @param {Child} child @returns {child is Node | string} */
const isNodeOrText = (child) => child !== null && child !== false
