// Creates the elements of the palette. Style sheets select an element by its part.

/**
 * Returns a new HTML element with a part. Text is never parsed as markup.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} part
 * @param {Record<string, string>} [attributes]
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function createPart(tag, part, attributes = {}, ...children) {
  const element = document.createElement(tag)
  setAttributes(element, { part, ...attributes })
  element.append(...children)
  return element
}

/** @param {Element} element @param {Record<string, string>} attributes */
export function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
}
