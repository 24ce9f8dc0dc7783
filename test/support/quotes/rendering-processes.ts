// Renders documents that are not in a database, watches the processes that render, and waits.
import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { defaultBrand as brand } from '../../../src/company/brand.ts'
import type { Locale } from '../../../src/quotes/formats.ts'
import type { OpenLink } from '../../../src/quotes/links/read-link.ts'
import type { Pdf } from '../../../src/quotes/pdf/typst-compiler.ts'
import { QuoteRenderer, renderingWait } from '../../../src/quotes/rendering/quote-renderer.ts'
import { textsByLanguage } from '../../../src/texts/languages.ts'
import { eventually } from '../eventually.ts'
import { replaceUntilEnd } from '../replace-until-end.ts'
import { openLink } from './linked-quote.ts'

type Teardown = { teardown(fn: () => unknown): void }

/**
 * Lets requests wait for renderings for up to two minutes until the test ends. Renderings have a
 * low priority, so on a busy machine they take longer than a customer should wait.
 */
export function waitLongForRenderings(t: Teardown): void {
  replaceUntilEnd(t, renderingWait, { ms: 120_000 })
}

/** Starts a renderer that is closed when the test ends. */
export function startRenderer(
  t: Teardown,
  limits: ConstructorParameters<typeof QuoteRenderer>[1] = {},
): QuoteRenderer {
  const options = { brand, offersReplies: true, timeZone: 'UTC' }
  const renderer = new QuoteRenderer(options, limits)
  t.teardown(() => renderer.close())
  return renderer
}

export type DocumentToRender = {
  documentJson: string
  contentHash: string
  status: OpenLink['quoteStatus']
  language: Locale | null
}

/** Returns the PDF of a document. */
export async function renderDocument(
  renderer: QuoteRenderer,
  { documentJson, contentHash, status, language }: DocumentToRender,
): Promise<Pdf> {
  const link = { ...openLink, contentHash, quoteStatus: status }
  const { rendering } = await renderer.getOrRender(link, 'pdf', language, {
    readVerifiedDocument: async () => documentJson,
    logFailure: () => undefined,
  })
  return rendering as Pdf
}

/** Calls `onStart` with each process that renders when it starts, until the test ends. */
export function watchRenderingProcesses(t: Test, onStart: (child: ChildProcess) => void): void {
  const watch = (message: unknown) => {
    const { process: child } = message as { process: ChildProcess }
    child.once('spawn', () => {
      if (child.spawnargs.some((word) => word.includes('rendering-main.ts'))) onStart(child)
    })
  }
  subscribe('child_process', watch)
  t.teardown(() => unsubscribe('child_process', watch))
}

/** Requests a quote until it is rendered. A busy machine may need longer than a request waits. */
export const requestUntilReady = (app: FastifyInstance, url: string) =>
  eventually(
    () => app.inject(url),
    ({ body }) => !body.includes(textsByLanguage.es.quotes.errors.pending.title),
    120_000,
  )
