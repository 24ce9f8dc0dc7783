// The steps in which the API process closes what is open.
import t from 'tap'
import { closeInOrder } from '../../src/server.ts'

/** Closes three things, of which those in `failing` cannot be closed. Returns what happened. */
async function closeThree(failing: string[]) {
  const events: string[] = []
  const createStep = (name: string) => async () => {
    events.push(`close ${name}`)
    if (failing.includes(name)) throw new Error(`${name} hangs`)
  }
  const steps = Object.fromEntries(['a', 'b', 'c'].map((name) => [name, createStep(name)]))
  const error = await closeInOrder(steps, (cause, name) =>
    events.push(`log ${name}: ${(cause as Error).message}`),
  ).then(
    () => null,
    (reason: Error) => reason.message,
  )
  return { events, error }
}

t.test('closes everything in order', async (t) => {
  t.same(await closeThree([]), { events: ['close a', 'close b', 'close c'], error: null })
})

t.test('closes the rest after a step that fails, logs it, and fails at the end', async (t) => {
  t.same(await closeThree(['a', 'b']), {
    events: ['close a', 'log a: a hangs', 'close b', 'log b: b hangs', 'close c'],
    error: 'Not closed: a, b. The log says why.',
  })
})
