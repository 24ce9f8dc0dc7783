// Watches the processes that render, and waits for their renderings.

import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { textsByLanguage } from '../../../src/texts/languages.ts'
import { eventually } from '../eventually.ts'

/** Calls `onStart` with each process that renders PDFs when it starts, until the test ends. */
export function watchPdfProcesses(t: Test, onStart: (child: ChildProcess) => void): void {
  watchProcesses(t, 'pdf-process-main.ts', onStart)
}

/** The same for the processes of any program. */
export function watchProcesses(
  t: Test,
  program: string,
  onStart: (child: ChildProcess) => void,
): void {
  const watch = (message: unknown) => {
    const { process: child } = message as { process: ChildProcess }
    child.once('spawn', () => {
      if (child.spawnargs.some((word) => word.includes(program))) onStart(child)
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
