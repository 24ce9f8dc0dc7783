// The English texts of the page /. Its script fills in the {placeholders}.
import type { HomeTexts } from './home-texts-es.ts'

export const homeTextsEn: HomeTexts = {
  heading: 'Search, measure, quote',
  intro:
    'Three features for a catalogue and its quotes, running here on the data of this service, ' +
    'and the code to use them in your own pages and programs.',
  needsScript: 'The live parts of this page need JavaScript; the code samples work without it.',
  copy: 'Copy',
  copied: 'Copied',
  responseSample: 'The beginning of the response',
  docs: 'API documentation',
  search: {
    title: 'Search products',
    text:
      'Results at every keystroke, with typos, synonyms and exact codes. Ctrl+K (⌘K) opens it ' +
      'from anywhere.',
    label: 'Product, word or code',
    placeholder: 'Try “jumbo strage bag”, “taladro” or “85123a”',
    chosen: 'Chosen: {name} · {sku} · {price}',
    noPrice: 'no price',
    tag: 'In your page: one tag, on any origin that the key is bound to',
    pinnedTag: 'Or exactly this version, to replace after each upgrade',
    keyOfService:
      'The key shown is for pages of {origin}. For your own pages, create a key for their origin:',
    noKey: 'Create a key for the origin of your page:',
    createKey: 'A key for your origin',
    curl: 'From a program',
  },
  stats: {
    title: 'Statistics',
    text: 'Quotes, acceptance and revenue, exact to the cent and current within two seconds.',
    open: 'Open the statistics',
    needsKey: 'The statistics need a key with the scope stats:read. The dashboard asks for it.',
    unavailable: 'The statistics are unavailable at the moment.',
    curl: 'From a program',
  },
  quote: {
    title: 'A quote by link',
    text:
      'The customer opens it without an account, as a page, a PDF or JSON. A sent quote does ' +
      'not change, even if the database does.',
    open: 'Open the quote',
    unavailable: 'The quote is unavailable at the moment.',
    none: 'No quote is configured here. This is how to create a link:',
    curl: 'The same quote as JSON or PDF',
  },
}
