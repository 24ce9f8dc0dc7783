// The process that renders PDFs: its limits, its end and its replacement.
// Numbers such as S43 are those of the attacks in docs/security.md.
import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import t from 'tap'
import { defaultBrand as brand } from '../../../src/company/brand.ts'
import { createPdfProcess, PdfRenderer } from '../../../src/quotes/pdf/pdf-renderer.ts'
import { eventually } from '../../support/eventually.ts'
import { document, hammer, openLink, withDocument } from '../../support/quotes/linked-quote.ts'
import { renderDocument } from '../../support/quotes/render-pdf.ts'
import { watchPdfProcesses } from '../../support/quotes/rendering-processes.ts'
import { waitLongForRenderings } from '../../support/quotes/wait-for-renderings.ts'

waitLongForRenderings(t)

t.test('a PDF process that needs too much memory ends, and the next one works (S43)', async (t) => {
  const renderer = new PdfRenderer(brand, { process: { maxDataBytes: 1_000e6 } })
  t.teardown(() => renderer.close())
  const lines = Array.from({ length: 4_000 }, (_, index) => ({ ...hammer, position: index + 1 }))
  const large = {
    documentJson: JSON.stringify(withDocument({ lines }).document),
    contentHash: 'large',
    status: 'sent',
    language: null,
  } as const
  await t.rejects(renderDocument(renderer, large), {
    message: /The PDF process ended \((SIG|\d+)/,
  })
  const failedBefore = { message: /The rendering failed before/, reason: 'rendering_failed' }
  await t.rejects(renderDocument(renderer, large), failedBefore, 'the failure is remembered')
  const small = { ...large, documentJson: JSON.stringify(document), contentHash: 'small' }
  t.match((await renderDocument(renderer, small)).pdf.subarray(0, 5).toString(), '%PDF-')
})

/** The limits of a process that is replaced after it was idle for `idleMs`. */
const replaceIdleAfter = (idleMs: number) => ({
  replaceIdleAbove: { residentBytes: 1, idleMs },
})

t.test('a PDF process that needs much memory is used again, and replaced when idle', async (t) => {
  const children: ChildProcess[] = []
  watchPdfProcesses(t, (child) => children.push(child))
  const renderer = new PdfRenderer(brand, {
    process: replaceIdleAfter(2_000),
    cache: { cacheBytes: 0 },
  })
  t.teardown(() => renderer.close())
  const renderTwice = async () => {
    await renderDocument(renderer, oneLine)
    await renderDocument(renderer, oneLine)
  }
  await renderTwice()
  t.equal(children.length, 1)
  await eventually(async () => children[0]?.signalCode, Boolean)
  t.equal(children[0]?.signalCode, 'SIGKILL', 'its memory is freed')
  await renderTwice()
  t.equal(children.length, 2, 'the next PDF starts another process')
  const unsupported = { ...document, notes: 'ไทย ที่' }
  const refused = { ...oneLine, documentJson: JSON.stringify(unsupported), contentHash: 'thai' }
  await t.rejects(renderDocument(renderer, refused), { reason: 'pdf_unsupported', message: /U\+/ })
  t.equal(children.length, 2, 'that process is used')
  await eventually(async () => children[1]?.signalCode, Boolean)
  t.equal(children[1]?.signalCode, 'SIGKILL', 'also if its last quote has no PDF')
})

const oneLine = {
  documentJson: JSON.stringify(document),
  contentHash: 'small',
  status: 'sent',
  language: null,
} as const

t.test('a PDF succeeds although its process does not run for longer than its limit', async (t) => {
  const maxProcessorMs = 2_000
  const renderer = new PdfRenderer(brand, {
    process: { maxProcessorMs },
    cache: { maxWaitMs: 120_000 },
  })
  t.teardown(() => renderer.close())
  let startCount = 0
  watchPdfProcesses(t, (child) => {
    startCount += 1
    child.kill('SIGSTOP')
    setTimeout(() => child.kill('SIGCONT'), maxProcessorMs + 1_000)
  })
  t.match((await renderDocument(renderer, oneLine)).pdf.subarray(0, 5).toString(), '%PDF-')
  t.equal(startCount, 1)
})

t.test('a PDF process that does not run is replaced, and the quote is not blamed', async (t) => {
  const renderer = new PdfRenderer(brand, {
    process: { maxElapsedMs: 500 },
    cache: { maxWaitMs: 120_000 },
  })
  t.teardown(() => renderer.close())
  const children: ChildProcess[] = []
  watchPdfProcesses(t, (child) => {
    children.push(child)
    child.kill('SIGSTOP')
  })
  const logged: unknown[] = []
  const render = () =>
    renderer.getOrRender(openLink, 'es', {
      readVerifiedDocument: async () => JSON.stringify(document),
      logFailure: (error) => logged.push(error),
    })
  const starved = {
    message: 'The PDF process hardly ran within 500 ms.',
    reason: 'starved',
    retryAfterMs: 5_000,
  }
  await t.rejects(render(), starved)
  t.equal(renderer.isBlocked(openLink, 'es'), false)
  await t.rejects(render(), starved, 'the next request renders again')
  t.equal(children.length, 2)
  t.match(logged, [{ message: /hardly ran/ }, { message: /hardly ran/ }])
  for (const child of children) {
    child.ref()
    if (child.signalCode === null) await once(child, 'exit')
    t.equal(child.signalCode, 'SIGKILL')
  }
})

t.test('a rendering process performs its tasks one after the other', async (t) => {
  const pdfProcess = createPdfProcess()
  t.teardown(() => pdfProcess.stop())
  const prepared: string[] = []
  watchPdfProcesses(t, () => t.same(prepared, ['1'], 'the second one is not prepared yet'))
  const perform = (contentHash: string) =>
    pdfProcess.perform(async () => {
      prepared.push(contentHash)
      return { ...oneLine, contentHash, brand, timeZone: 'UTC' }
    })
  const first = perform('1')
  const second = perform('2')
  for (const { pdf } of [await first, await second])
    t.match(Buffer.from(pdf).toString('latin1'), /^%PDF-/)
  t.same(prepared, ['1', '2'])
})

t.test('a process that cannot be reached blocks no quote', async (t) => {
  const renderer = new PdfRenderer(brand)
  t.teardown(() => renderer.close())
  let isBroken = true
  watchPdfProcesses(t, (child) => {
    if (isBroken) setImmediate(() => child.emit('error', new Error('spawn EAGAIN')))
  })
  await t.rejects(renderDocument(renderer, oneLine), {
    message: /cannot be reached/,
    reason: 'process_unreachable',
    cause: { cause: { message: 'spawn EAGAIN' } },
  })
  isBroken = false
  // As Node leaves a process that it cannot start for lack of file descriptors.
  const removeChannel = (message: unknown) =>
    Object.defineProperty((message as { process: ChildProcess }).process, 'send', {
      get: () => undefined,
      set: () => undefined,
    })
  subscribe('child_process', removeChannel)
  t.teardown(() => unsubscribe('child_process', removeChannel))
  await t.rejects(renderDocument(renderer, oneLine), {
    message: /cannot be reached/,
    reason: 'process_unreachable',
  })
  unsubscribe('child_process', removeChannel)
  t.match((await renderDocument(renderer, oneLine)).pdf.subarray(0, 5).toString(), '%PDF-')
})

t.test('stopping ends a request whose process starts, even if it replaces another', async (t) => {
  const renderer = new PdfRenderer(brand, {
    process: replaceIdleAfter(0),
    cache: { cacheBytes: 0, maxWaitMs: 120_000 },
  })
  t.teardown(() => renderer.close())
  const children: ChildProcess[] = []
  watchPdfProcesses(t, (child) => {
    children.push(child)
    if (children.length === 2) renderer.close()
  })
  await renderDocument(renderer, oneLine)
  await eventually(async () => children[0]?.signalCode, Boolean)
  await t.rejects(renderDocument(renderer, oneLine), {
    message: 'The service is stopping.',
    reason: 'stopping',
  })
  t.equal(children.length, 2)
})
