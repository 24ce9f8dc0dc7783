// The program of the process that renders (rendering-process.ts). It performs one task after the
// other, and ends when the service ends.
import { type FailureReason, getRenderingFailureReason } from '../failures.ts'
import { chooseLocale } from '../formats.ts'
import type { EncodedContent, PageOptions, QuoteToRender, Variant } from '../page/quote-page.ts'
import type { Pdf } from '../pdf/typst-compiler.ts'
import type { QuoteDocument } from '../schema.ts'

export type Task = { quote: QuoteToRender; variant: Variant; options: PageOptions }
export type Rendering = EncodedContent | Pdf
/** `usage`: the processor time of the process since its start, and its memory now. */
export type Reply = { usage: { processorMs: number; residentBytes: number } } & (
  | { rendering: Rendering }
  | { reason: FailureReason; message: string; stack: string | undefined }
)

process.on('message', async (task: Task) => {
  const outcome = await render(task).then(
    (rendering) => ({ rendering }),
    (error: Error) => ({
      reason: getRenderingFailureReason(error),
      message: error.message,
      stack: error.stack,
    }),
  )
  const { user, system } = process.cpuUsage()
  const usage = { processorMs: (user + system) / 1000, residentBytes: process.memoryUsage.rss() }
  process.send?.({ ...outcome, usage } satisfies Reply)
})

// A terminal or service manager may signal all processes. This one ignores that, because the
// stopping service still needs the results of its open requests. The service then ends it.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined)

/** Loads only what the task needs, because the first PDF should not wait for the templates. */
async function render({ quote, variant, options }: Task): Promise<Rendering> {
  if (variant.format !== 'pdf') {
    const { compressSync, renderPageOrJson } = await import('../page/quote-page.ts')
    return compressSync(renderPageOrJson(quote, variant, options))
  }
  const { compilePdf } = await import('../pdf/typst-compiler.ts')
  const { quoteStatus: status, contentHash, documentJson } = quote
  const document = JSON.parse(documentJson) as QuoteDocument
  const linkedQuote = { status, contentHash, link: { expiresAt: null }, document }
  const { brand, timeZone } = options
  return compilePdf(linkedQuote, chooseLocale(variant.language, document), brand, timeZone)
}
