// PDFs of quotes: kept while there is room, else set one at a time in a process of their own that is renewed before it grows large.
import { type ChildProcess, fork } from 'node:child_process'
import type { Language } from '../quote-texts.ts'
import { BoundedCache } from '../rendering-cache.ts'
import type { SharedQuote } from '../schema.ts'

/** What a PDF depends on. `document` is the canonical JSON as it was frozen; without a language it is set in its own. */
export type PdfOrder = {
  document: string
  contentHash: string
  status: SharedQuote['status']
  language: Language | null
}
export type Pdf = { pdf: Buffer; fileName: string }
export type PdfResult = (Pdf & { residentBytes: number }) | { failure: string }

/** No PDF now: too many are waited for, or this one takes too long. */
export class PdfUnavailable extends Error {}

export type PdfLimits = {
  /** How many may wait for the one that is being set. */
  waiting: number
  timeoutMs: number
  /** A process that has set so many, or holds so much memory, is replaced by a new one. */
  rendersPerProcess: number
  residentBytes: number
  /** Memory for finished PDFs. */
  cacheBytes: number
}
const usualLimits: PdfLimits = {
  waiting: 30,
  timeoutMs: 20_000,
  rendersPerProcess: 1_000,
  residentBytes: 400e6,
  cacheBytes: 32e6,
}

export type PdfPress = ReturnType<typeof pdfPress>

/** Sets up the making of PDFs. The process starts with the first order; `close` ends it. */
export function pdfPress(limits: Partial<PdfLimits> = {}) {
  const { waiting, timeoutMs, rendersPerProcess, residentBytes, cacheBytes } = {
    ...usualLimits,
    ...limits,
  }
  const finished = new BoundedCache<Pdf>(cacheBytes)
  const ordered = new Map<string, Promise<Pdf>>()
  let last: Promise<unknown> = Promise.resolve()
  let child: ChildProcess | undefined
  let renders = 0
  let closed = false

  function retire(): void {
    child?.kill('SIGKILL')
    child = undefined
    renders = 0
  }

  function print(order: PdfOrder): Promise<Pdf> {
    if (closed) return Promise.reject(new PdfUnavailable('The service is stopping.'))
    // Without our arguments and environment: it needs neither, and secrets are among them.
    if (!child?.connected)
      child = fork(new URL('pdf-worker.ts', import.meta.url), {
        execArgv: [],
        env: {},
        serialization: 'advanced',
      })
    const worker = child
    return new Promise<Pdf>((resolve, reject) => {
      const settle = (outcome: () => void) => {
        clearTimeout(timer)
        worker.removeAllListeners()
        worker.on('error', () => undefined)
        worker.unref()
        worker.channel?.unref()
        outcome()
      }
      const fail = (reason: Error) => {
        if (child === worker) retire()
        settle(() => reject(reason))
      }
      const timer = setTimeout(
        () => fail(new PdfUnavailable(`The PDF took longer than ${timeoutMs} ms.`)),
        timeoutMs,
      )
      worker.once('error', (cause) =>
        fail(new PdfUnavailable('The process that sets PDFs cannot be reached.', { cause })),
      )
      worker.once('exit', (code, signal) =>
        fail(new PdfUnavailable(`The process that sets PDFs ended (${code ?? signal}).`)),
      )
      worker.once('message', (result: PdfResult) => {
        if ('failure' in result) return fail(new Error(`The PDF cannot be set: ${result.failure}`))
        renders += 1
        settle(() => resolve({ pdf: Buffer.from(result.pdf), fileName: result.fileName }))
        if (renders >= rendersPerProcess || result.residentBytes > residentBytes) retire()
      })
      worker.ref()
      worker.channel?.ref()
      worker.send(order)
    })
  }

  return {
    /** The PDF that was made of this content, status and language before, if it is still kept. */
    kept: ({ contentHash, status, language }: Omit<PdfOrder, 'document'>) =>
      finished.get(`${contentHash} ${status} ${language}`),

    /** A PDF; several who want the same one wait for one. Throws PdfUnavailable. */
    async render(order: PdfOrder): Promise<Pdf> {
      const key = `${order.contentHash} ${order.status} ${order.language}`
      const there = finished.get(key) ?? ordered.get(key)
      if (there) return there
      if (ordered.size > waiting) throw new PdfUnavailable('Too many PDFs are waited for.')
      const turn = last.then(() => print(order))
      last = turn.catch(() => undefined)
      ordered.set(key, turn)
      try {
        const result = await turn
        finished.set(key, result, result.pdf.length)
        return result
      } finally {
        ordered.delete(key)
      }
    },

    close(): void {
      closed = true
      retire()
    },
  }
}
