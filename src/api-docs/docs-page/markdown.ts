// Renders the Markdown of the endpoint descriptions as HTML. Supports only what they use:
// paragraphs, lists with `* `, `code` and *emphasis*.
import { Eta } from 'eta'

const escapeHtml = new Eta().config.escapeFunction

/** Returns the HTML of a description. All other markup in it is escaped. */
export function renderMarkdown(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((block) => (block.startsWith('* ') ? renderList(block) : `<p>${renderInline(block)}</p>`))
    .join('')
}

function renderList(block: string): string {
  const items = block.split(/^\* /m).filter((item) => item !== '')
  return `<ul>${items.map((item) => `<li>${renderInline(item)}</li>`).join('')}</ul>`
}

function renderInline(text: string): string {
  return escapeHtml(text.trim())
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*([^*\s][^*]*)\*/g, '<em>$1</em>')
}
