// Links of which one is what is looked at.

/**
 * Leads the links that have `attribute` to where its value says, and marks the chosen one.
 * @param {string} attribute
 * @param {string} chosen
 * @param {(value: string) => string} addressOfChoice
 */
export function showChoices(attribute, chosen, addressOfChoice) {
  for (const link of document.querySelectorAll(`a[${attribute}]`)) {
    const value = link.getAttribute(attribute) ?? ''
    link.setAttribute('href', addressOfChoice(value))
    if (value === chosen) link.setAttribute('aria-current', 'true')
    else link.removeAttribute('aria-current')
  }
}
