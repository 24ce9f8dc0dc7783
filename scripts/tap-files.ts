// Runs several test files in one process, one after another, and writes TAP. tap-runner.ts starts
// it, because loading the service costs more processor time than the tests of most files.
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Test, t } from 'tap'

const [timeoutSeconds, ...files] = process.argv.slice(2)
const root = resolve(import.meta.dirname, '..')

t.setTimeout(0)
// A file that ends the process leaves the plan unfulfilled, which is a failure.
t.plan(files.length)

/** The test to which the assertions of the running file belong. */
let current: Test
/** What `import t from 'tap'` gives to a file and to what it imports. */
const tapOfCurrentFile = new Proxy({} as Test, {
  get(_target, name) {
    const value: unknown = Reflect.get(current, name)
    return typeof value === 'function' ? value.bind(current) : value
  },
  set: (_target, name, value) => Reflect.set(current, name, value),
})
Object.assign(globalThis, { tapOfCurrentFile })
const url = 'data:text/javascript,export default globalThis.tapOfCurrentFile'
registerHooks({
  resolve: (name, context, next) =>
    name === 'tap' ? { url, format: 'module', shortCircuit: true } : next(name, context),
})

// An uncaught error is a failure of the running file, and the next files still run.
process.on('uncaughtException', (error) => current.threw(error))

for (const file of files)
  await t.test(file, { timeout: Number(timeoutSeconds) * 1_000 }, async (test) => {
    current = test
    await import(pathToFileURL(resolve(root, file)).href)
  })
