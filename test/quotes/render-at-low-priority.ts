// Renders a PDF and a large page in a process that was started with a low priority, for a test. The
// arguments are the address of the database and the token of a link.
import { getPriority, setPriority } from 'node:os'
import { defaultBrand } from '../../src/company/brand.ts'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { queryDocument, readLink } from '../../src/quotes/links/read-link.ts'
import { QuoteRenderer, renderingWait } from '../../src/quotes/rendering/quote-renderer.ts'

// On a busy machine, a process of low priority takes longer than a customer should wait.
renderingWait.ms = 120_000

const [databaseUrl = '', token = ''] = process.argv.slice(2)
const db = openDatabase(databaseUrl, { connections: 1 })
const link = await readLink(db, token, { timeZone: 'Europe/Madrid', now: new Date() })
if (link.state !== 'open') throw new Error(`The link is ${link.state}.`)
const source = {
  readVerifiedDocument: async () => (await queryDocument(db, token)) ?? '',
  logFailure: (error: unknown) => {
    throw error
  },
}
const options = { brand: defaultBrand, offersReplies: true, timeZone: 'UTC' }
const renderer = new QuoteRenderer(options)
const render = async (format: 'json' | 'pdf') =>
  (await renderer.getOrRender(link, format, 'es', source)).rendering
const json = await render('json')
const pdf = await render('pdf')
console.log(
  JSON.stringify({
    priority: getPriority(),
    mayRaisePriority: mayRaisePriority(),
    json: 'gzip' in json && json.gzip.length,
    pdf: 'pdf' in pdf && pdf.pdf.subarray(0, 5).toString(),
  }),
)
renderer.close()
await db.destroy()

function mayRaisePriority(): boolean {
  try {
    setPriority(getPriority() - 1)
    return true
  } catch {
    return false
  }
}
