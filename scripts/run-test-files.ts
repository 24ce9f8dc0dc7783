// Runs the test files that scripts/test.ts names on standard input, one after another, and writes
// TAP. Loading the service costs a second of processor time, more than the tests of most files.
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { t as allFiles, type Test } from 'tap'

/** Much longer than any file takes. A file that hangs fails, and the next one runs. */
const fileTimeoutMs = 900_000

/** The test of the running file. Every `import t from 'tap'` of a test file gives this variable. */
let fileTest: Test = allFiles

export { fileTest as default }

registerHooks({
  resolve: (name, context, next) =>
    name === 'tap'
      ? { url: import.meta.url, format: 'module-typescript', shortCircuit: true }
      : next(name, context),
})

// An uncaught error is a failure of the running file, and the next files still run.
process.on('uncaughtException', (error) => fileTest.threw(error))

allFiles.setTimeout(0)
const input = createInterface({ input: process.stdin })
input.on('close', () => {
  allFiles.end()
  setTimeout(() => {
    console.error('Something that a test has left open keeps its process running.')
    process.exit(1)
  }, 20_000).unref()
})
input.on('line', (file) => {
  void allFiles.test(file, { timeout: fileTimeoutMs }, async (test) => {
    fileTest = test
    await import(pathToFileURL(resolve(file)).href)
  })
})
