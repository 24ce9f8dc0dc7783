// The service's own programs as children of the demo: the API and the indexer, as they run in production.
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { spawnChild } from '../servers/child-lifetime.ts'

export type Program = { stop(): Promise<void>; exited: Promise<string> }

const root = join(import.meta.dirname, '../..')

/** Starts a script with exactly this environment; its output goes to `logFile`. It ends with this process, however that ends. */
export function startProgram(
  name: string,
  words: string[],
  env: Record<string, string>,
  logFile: string,
): Program {
  const output = openSync(logFile, 'w', 0o600)
  const child = spawnChild(process.execPath, words, {
    cwd: root,
    env,
    stopSignal: 'SIGTERM',
    output,
  })
  closeSync(output)
  let isAsked = false
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (status, signal) =>
      resolve(signal ? `ended by ${signal}` : `exit status ${status}`),
    )
  })
  return {
    exited: new Promise((resolve) => {
      ended.then(
        (how) => isAsked || resolve(`The ${name} ended unasked (${how}). Its log is ${logFile}.`),
      )
    }),
    async stop() {
      isAsked = true
      const force = setTimeout(() => child.kill('SIGKILL'), 15_000)
      child.kill('SIGTERM')
      await ended
      clearTimeout(force)
    },
  }
}
