// The little Markdown that our own descriptions use, as HTML: paragraphs, lists, `code` and *emphasis*.
import { Eta } from 'eta'

const escapeHtml = new Eta().config.escapeFunction

/** HTML of a description. Everything else in it is text. */
export function markdown(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((block) => {
      if (!block.startsWith('* ')) return `<p>${inline(block)}</p>`
      const items = block.split(/^\* /m).filter((item) => item !== '')
      return `<ul>${items.map((item) => `<li>${inline(item)}</li>`).join('')}</ul>`
    })
    .join('')
}

function inline(text: string): string {
  return escapeHtml(text.trim())
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*([^*\s][^*]*)\*/g, '<em>$1</em>')
}
